"""The list of rollouts: rows, columns, order, filter."""
