"""Where files are, and how they are written so that none is ever half there."""
