"""The front end for screen readers and braille lines, `oi-tui --linear`: lines that are written once, and a prompt."""
