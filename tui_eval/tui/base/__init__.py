"""Parts of every screen: app, terminal, keys, lines, dialogs, looks."""
