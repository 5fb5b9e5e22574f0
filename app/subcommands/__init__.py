"""Commands of `oi-tui` that need no screen and no model; each imports its own world inside."""
