"""Measures tui-eval against its limits: `make bench`, or `python -m bench NAME...`."""
