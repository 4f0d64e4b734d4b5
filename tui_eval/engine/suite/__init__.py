"""Several evaluations in one engine: their checks, order, status and shared budget."""
