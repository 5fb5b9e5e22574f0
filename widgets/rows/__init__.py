"""Any number of rows on one widget: the window over them, their painting, the scroll bar, the pace of frames.

The timeline and the viewer build on it. It knows neither blocks nor lines: both are items of some rows each.
"""
