"""Kubothek beside what one would use without it, measured in turn on the same data, machine and session."""
