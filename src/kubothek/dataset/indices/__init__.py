"""Secondary indices as files: built, merged when partitions come and go, and asked."""
