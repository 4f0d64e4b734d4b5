"""Output of a run or a suite: its progress, then its results."""
