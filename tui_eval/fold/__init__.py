"""Events folded into what everyone reads: the run's rows and sums, and one rollout's trajectory."""
