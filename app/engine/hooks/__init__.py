"""What plugins of the engine's process can take part in: every hook, the values they give, and how they are called.

Nothing here finds or imports a plugin: `app/build.py` hands the engine what was found.
"""
