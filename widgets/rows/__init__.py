"""Rows of any number on one widget: the window over them, their painting, the scroll bar, the pace of frames.

The timeline and the viewer stand on it. It knows neither blocks nor lines: to it both are items of some rows each.
"""
