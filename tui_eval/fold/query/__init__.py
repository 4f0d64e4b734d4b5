"""The languages of filters and of conditions: read, and applied to a run."""
