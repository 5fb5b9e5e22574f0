"""Folds over events, pure: events to blocks, blocks to events, where a session can be forked, what differs."""
