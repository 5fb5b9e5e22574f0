"""The panel of past sessions: its rows, what they read, the preview."""
