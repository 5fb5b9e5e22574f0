"""Python environments: finds those of this machine, and the one that code runs in."""
