"""Python environments: what there is on this machine, and which one code runs in."""
