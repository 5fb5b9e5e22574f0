"""Reading an answer while it streams: prose, fenced code, native calls, and the habits of models."""
