"""Works through a run: rollouts in slots, their retries, groups, rows and commands."""
