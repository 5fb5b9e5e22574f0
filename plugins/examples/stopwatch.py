"""A hook: one JSON line for each run (language, seconds, how it ended) in the file that `OI_TUI_STOPWATCH` names.

To install it, copy it to ~/.config/oi-tui/plugins and enable it: oi-tui plugins enable stopwatch.py

then start `OI_TUI_STOPWATCH=runs.jsonl oi-tui`.
"""

import json
import os

from oi_tui.plugins.api import CodeBlock, hookimpl


@hookimpl
def after_action(block: CodeBlock) -> None:
    """A run has ended; one that is repeated after a resume has no duration of its own."""
    if path := os.environ.get("OI_TUI_STOPWATCH"):
        run = {"language": block.language, "duration": block.duration, "state": block.rerun or block.state}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
