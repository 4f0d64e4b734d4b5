"""The list of rollouts: rows, columns, order, filter, what is followed."""
