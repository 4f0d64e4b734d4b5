"""Going on with a run, and running its rollouts again."""
