"""Answers that fit a JSON schema: the schema, what is asked for, and what is read from an answer."""
