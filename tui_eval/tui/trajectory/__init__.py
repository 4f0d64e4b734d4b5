"""One rollout's trajectory: its parts, their layout, what is highlighted, searched and aligned."""
