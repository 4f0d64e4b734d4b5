"""Formats of other programs: recognised by content, never by name, and read as our rows."""
