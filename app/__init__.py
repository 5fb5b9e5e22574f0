"""The program: command line, composition root, Textual front end and headless front end."""

if __name__ != "oi_tui.app":
    raise ImportError("import oi_tui.app, not " + __name__)
