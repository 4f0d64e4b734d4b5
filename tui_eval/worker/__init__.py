"""Rollouts: generated, scored and reported, in the engine's process or a worker."""
