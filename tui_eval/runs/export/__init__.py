"""A run, or some of its rollouts, in forms that other programs and people read."""
