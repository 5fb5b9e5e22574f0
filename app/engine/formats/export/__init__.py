"""A session as a file, and a file as a session: notebook, message language, Markdown and one page of HTML.

Exporting folds the events and writes the blocks; importing reads blocks and produces their events, so an imported
session is like any other. It runs nothing and reads no other file.

Importing one of our notebooks restores the session, except for the files with the whole of a long output: their paths
are not trusted. The message language (`lmc/envelope.py`) carries one form of each result.
"""

from oi_tui.app.engine.formats.export.exporting import export_session
from oi_tui.app.engine.formats.export.importing import ImportedSession, ImportFormat, import_session
from oi_tui.app.engine.text.plain import plain_transcript

__all__ = ["ImportFormat", "ImportedSession", "export_session", "import_session", "plain_transcript"]
