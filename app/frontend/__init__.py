"""Between a screen and the engine: the client of its process, the router of its events, what the status line says."""
