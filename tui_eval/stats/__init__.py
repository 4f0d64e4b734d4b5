"""The numbers of an evaluation: pure functions and running sums, without any I/O."""
