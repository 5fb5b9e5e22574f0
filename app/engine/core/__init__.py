"""The values that everything is said with: events, blocks, outputs, verbs, replies, settings, errors."""
