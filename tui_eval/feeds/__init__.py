"""Where a listener gets its events from: an engine, files on disk, what was recorded."""
