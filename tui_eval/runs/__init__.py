"""Runs on disk: where they are, how they are written, repaired, locked and read."""
