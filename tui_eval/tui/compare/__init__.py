"""Two or more runs beside each other, and two of their rollouts."""
