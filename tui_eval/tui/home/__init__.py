"""What home lists."""
