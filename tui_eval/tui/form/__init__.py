"""The form of an evaluation: what it asks of the rest, and what stands around it."""
