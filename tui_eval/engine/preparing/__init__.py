"""What must hold before the first request, and what is known of a run before it begins."""
