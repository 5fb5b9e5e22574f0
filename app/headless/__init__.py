"""The second front end, `oi-tui run`: text or LMC on stdout, what happens on stderr."""
