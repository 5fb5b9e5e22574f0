"""The terminal itself: drivers, the order of keys, what it can show, questions without a screen."""
