"""Everything on the screen. Widgets see engine values, never services."""

if __name__ != "oi_tui.widgets":
    raise ImportError("import oi_tui.widgets, not " + __name__)
