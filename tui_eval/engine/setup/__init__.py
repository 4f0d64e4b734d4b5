"""From a request to a prepared run: environment, examples, checks, resume."""
