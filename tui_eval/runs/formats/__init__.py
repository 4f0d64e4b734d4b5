"""What other programs save, by content and never by name: recognised here, read as our rows."""
