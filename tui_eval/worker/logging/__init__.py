"""engine.log: what the engine and people's code print, by rollout and without secrets."""
