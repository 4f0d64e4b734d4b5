"""The numbers of a run and of a reward, as lines."""
