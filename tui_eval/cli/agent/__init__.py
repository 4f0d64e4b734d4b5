"""`tui-eval agent`: the request of a run, and its scores."""
