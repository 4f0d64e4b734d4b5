"""The log of a run, as lines."""
