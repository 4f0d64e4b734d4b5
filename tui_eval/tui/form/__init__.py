"""The form of an evaluation: its backend, its screen, the texts around it."""
