"""Descriptions of environments, for an engine that has not loaded them itself."""
