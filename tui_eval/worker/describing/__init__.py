"""What an engine needs to know of an environment that it has not loaded itself."""
