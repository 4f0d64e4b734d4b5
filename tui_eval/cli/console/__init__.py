"""What a run or a suite prints: while it runs, and what it came to."""
