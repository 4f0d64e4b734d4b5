"""One rollout's trajectory: its parts, their layout, highlighting, search, alignment."""
