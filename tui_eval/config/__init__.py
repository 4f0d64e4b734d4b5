"""From what was typed and what files say to one validated plan."""
