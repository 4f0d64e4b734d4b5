"""Settings, typed and from files, become one validated plan."""
