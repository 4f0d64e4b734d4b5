"""One run on the screen, live or saved."""
