"""The embedded model: choosing, fetching, serving and removing weights on this machine."""
