"""The person's files as a model's tools reach them: read, listed, searched, written and edited, and brought back.

Tools for files run in the engine's own process, without a sandbox. Two modules limit them: `path_rules.py` says what
may be read and written, and `beneath.py` opens nothing through a link. Imports core, files, policy, sandbox, text,
tools and trust. `file_tools.py` is the door.
"""
