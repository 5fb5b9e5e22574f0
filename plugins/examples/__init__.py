"""Complete plugins to start from; none is loaded unless an entry point names it."""
