"""The body of one read task and one write task, and what runs them: threads of this process, or Spark."""
