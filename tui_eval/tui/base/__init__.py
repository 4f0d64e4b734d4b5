"""What every screen is made of: app, terminal, keys, lines, dialogs, looks."""
