"""Commands and their keys: registry, keymap, footer, palette, help."""
