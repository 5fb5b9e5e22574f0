"""A session as a file, and a file as a session: notebook, message language, Markdown and one page of HTML.

Exporting folds the events and writes the blocks; importing reads blocks and gives the events that they come of, so
that an imported session is one like any other. Nothing is run and no other file is read by it.

What comes back from a notebook of ours is equal to what went in, but for the files with the whole of a long output:
their paths are not taken from a stranger. The message language (`lmc/envelope.py`) carries one form of each result.
"""

from oi_tui.app.engine.formats.export.exporting import export_session
from oi_tui.app.engine.formats.export.importing import ImportedSession, ImportFormat, import_session
from oi_tui.app.engine.text.plain import plain_transcript

__all__ = ["ImportFormat", "ImportedSession", "export_session", "import_session", "plain_transcript"]
