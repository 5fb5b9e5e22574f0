"""`oi-tui extract` on a console."""
