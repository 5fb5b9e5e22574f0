"""What must not reach a model, a log or a recording, and how it is recognised."""
