"""What verifiers has in its inner modules and we have nowhere else."""
