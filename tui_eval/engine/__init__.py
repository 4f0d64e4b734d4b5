"""The engine: from a plan to rollouts to events, in a process of its own."""
