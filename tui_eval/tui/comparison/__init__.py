"""Runs that are compared: read, laid out, exported."""
