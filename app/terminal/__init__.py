"""The terminal itself: drivers, the order of keys, what it can show, its clipboard, questions without a screen."""
