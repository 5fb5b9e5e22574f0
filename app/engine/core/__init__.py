"""The values everything exchanges: events, blocks, outputs, verbs, replies, settings, errors."""
