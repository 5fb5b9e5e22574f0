"""Names of the kernel that complete what is typed in Python code: asked for by Tab, offered when the answer comes."""

from typing import NamedTuple

from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.kernel_looks import CompleteCode, NamesFound
from oi_tui.app.engine.core.variable import Telling
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.widgets.completion import CompletionChoice, CompletionOffer
from oi_tui.widgets.text_box import TextBox

_WHY: dict[Telling, str] = {
    "cold": "No names yet: the Python kernel has not started.",
    "dead": "No names: the Python kernel died.",
    "busy": "No names while the Python kernel runs something.",
    "silent": "The Python kernel did not answer.",
}


class _Asked(NamedTuple):
    """A question under way."""

    request_id: str
    box: TextBox
    text: str
    """Of the box."""
    cursor: tuple[int, int]
    skipped: int
    """Characters of the box before the completed code."""


class KernelNames:
    """The completer of code. An answer to what has changed since is dropped."""

    def __init__(self, bridge: Bridge, desk: PromptDesk) -> None:
        self._bridge = bridge
        self._desk = desk
        self._asked: _Asked | None = None

    def follow(self, box: TextBox) -> None:
        """Filter the candidates while the name is typed."""
        shown = box.completion.open_list
        if shown is None:
            return
        word = box.completion.word
        left = tuple(choice for choice in shown.offer.choices if choice.text.startswith(word)) if word else ()
        box.completion.offer(CompletionOffer(shown.offer.start, left))

    def complete(self, box: TextBox) -> bool:
        """Whether a name, a dot or the key of a dictionary is before the cursor; else Tab is Tab."""
        row, column = box.cursor_location
        before = box.document.get_line(row)[:column]
        if not before or not (before[-1].isidentifier() or before[-1].isdigit() or before[-1] in "._'\""):
            return False
        self.ask(box, 0)
        return True

    def ask(self, box: TextBox, skipped: int) -> None:
        """Ask for the candidates at the cursor; the code begins after this many characters of the text."""
        row, column = box.cursor_location
        place = sum(len(line) + 1 for line in box.text.split("\n")[:row]) + column
        self._asked = _Asked(new_id(), box, box.text, box.cursor_location, skipped)
        code, before = box.text[skipped:], max(0, place - skipped)
        self._bridge.send(CompleteCode(request_id=self._asked.request_id, source=code, place=before))

    def show(self, reply: NamesFound) -> None:
        """Show the list; if there is only one name, type it at once."""
        asked = self._asked
        if asked is None or asked.request_id != reply.request_id:
            return
        self._asked = None
        box = asked.box
        if not box.has_focus or (box.text, box.cursor_location) != (asked.text, asked.cursor):
            return
        if reply.telling != "told":
            self._desk.tell(_WHY[reply.telling])
            return
        above = box.text[: asked.skipped + reply.start]
        start = (above.count("\n"), len(above) - above.rfind("\n") - 1)
        names = tuple(CompletionChoice(one.name, one.name, one.kind) for one in reply.names)
        box.completion.allow()
        if len(names) == 1:
            box.completion.insert(names[0].text, start)
        elif names:
            box.completion.offer(CompletionOffer(start, names))
        else:
            self._desk.tell("No names begin like that.")
