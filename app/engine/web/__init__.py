"""What the model reads of the web: pages by their address, and what a search engine finds.

Imports core, files (PDFs and pictures), sandbox (rules for hosts), text and tools. Everything that comes from there was
written by others: it is bounded, made safe and marked as theirs (`quoting.py`).
"""
