"""Where code runs so that it can do little harm: what is promised, how bubblewrap keeps it, and the proof."""
