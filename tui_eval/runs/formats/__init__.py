"""Formats of other programs: detected by content, never by name, and read as our rows."""
