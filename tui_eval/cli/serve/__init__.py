"""`tui-eval serve`: the server, and the screen behind each tab."""
