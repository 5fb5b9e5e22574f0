"""The guide: Markdown pages for people, beside this file, shown by `oi-tui help` and by F1. README.md is the map."""
