"""What the viewer shows: texts of any size, tables, trees of JSON."""
