"""Open sessions: verbs in, replies out, models switched, sessions found, the wire to a front end."""
