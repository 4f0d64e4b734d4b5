"""How things look anywhere: lines, inks, themes, figures, bars, wrapped text."""
