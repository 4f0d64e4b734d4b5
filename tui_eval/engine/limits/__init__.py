"""Limits on rollouts in flight, and on what model calls may cost."""
