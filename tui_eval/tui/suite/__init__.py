"""Several evaluations of one file: how they stand, which are open."""
