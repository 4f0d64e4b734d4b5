"""engine.log: output of the engine and of people's code, by rollout and without secrets."""
