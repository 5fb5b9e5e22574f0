"""The virtual timeline: one line-API widget over block values."""
