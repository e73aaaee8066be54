"""What looks after a dataset: copies, deletion, the collection of garbage, and verification."""
