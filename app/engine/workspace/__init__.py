"""The person's files as a model's tools reach them: read, listed, searched, written and edited, and brought back.

Tools for files run in the engine's own process, where no sandbox is around them: what holds them is `path_rules.py`,
which says what may be read and written, and `beneath.py`, which opens nothing that lies behind a link. Imports core,
files, policy, sandbox, text, tools and trust. `file_tools.py` is the door.
"""
