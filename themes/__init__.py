"""Colour themes, one TOML file each, and the loader. The only home of colour literals."""

if __name__ != "oi_tui.themes":
    raise ImportError("import oi_tui.themes, not " + __name__)
