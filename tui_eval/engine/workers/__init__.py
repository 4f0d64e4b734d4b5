"""Rollouts in workers: processes that are started, watched, and replaced where they end."""
