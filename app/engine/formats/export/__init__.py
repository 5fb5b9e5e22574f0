"""A session as a file, and a file as a session, in the message language; other formats are plugins, built-in ones too.

Exporting folds the events and writes the blocks; importing reads blocks and produces their events, so an imported
session is like any other. It runs nothing and reads no other file.

Importing one of our notebooks restores the session, except for the files with the whole of a long output: their paths
are not trusted. The message language (`lmc/envelope.py`) carries one form of each result.
"""

from oi_tui.app.engine.formats.export.exporting import Writer, write_session
from oi_tui.app.engine.formats.export.importing import ImportedSession, Reader, read_session
from oi_tui.app.engine.text.plain import plain_transcript

__all__ = ["ImportedSession", "Reader", "Writer", "plain_transcript", "read_session", "write_session"]
