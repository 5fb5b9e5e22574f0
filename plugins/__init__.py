"""The door for third parties."""

if __name__ != "oi_tui.plugins":
    raise ImportError("import oi_tui.plugins, not " + __name__)
