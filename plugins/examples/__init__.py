"""Whole plugins to start from; nothing loads them that was not told to by an entry point."""
