"""Inner modules of verifiers that we have nowhere else."""
