"""What is written down of a session: the store, the audit log, recordings."""
