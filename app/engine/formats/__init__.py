"""Sessions as files, in and out: notebooks, pages, the message language."""
