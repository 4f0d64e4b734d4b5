"""Runs beside each other: their numbers, their examples, their trajectories."""
