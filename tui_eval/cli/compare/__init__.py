"""`tui-eval compare` and `tui-eval gate`: runs beside each other."""
