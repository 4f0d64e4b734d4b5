"""Several evaluations in one engine."""
