"""Feeds: events for a listener from an engine, from files on disk, or recorded ones."""
