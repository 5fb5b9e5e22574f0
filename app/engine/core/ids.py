"""Ids of blocks and requests."""

import uuid


def new_id() -> str:
    """A short random id, unique enough within a session."""
    return uuid.uuid4().hex[:12]
