"""Rollouts: generated, scored and reported, in the engine's process or in one of their own."""
