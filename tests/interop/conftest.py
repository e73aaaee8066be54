"""What the tests with other software share."""

# It runs in the environment of the other software, which ours cannot import.
collect_ignore = ["with_other.py"]
