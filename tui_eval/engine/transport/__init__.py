"""Between an engine and its listeners: hub, socket, listener, launcher."""
