"""What only concerns Spark: sessions."""
