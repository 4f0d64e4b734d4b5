"""One rollout's story: its parts, their layout, what is highlighted, searched and aligned."""
