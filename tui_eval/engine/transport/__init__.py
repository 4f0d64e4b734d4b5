"""Between an engine and its listeners: the socket, what is told, how it is joined."""
