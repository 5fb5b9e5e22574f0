"""The kernel for Python code: the kernels in groups, the facts about each, and what a switch costs.

People come here because a package is missing, because the version is wrong, or to use a larger machine. They look for
what is in use, try the arrows, type a part of a name, and press Enter or Escape. Letters therefore narrow the list, all
of them: no letter does anything else.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from msgspec import UNSET
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList

from oi_tui.app.engine.core.kernel_choice import ChoiceKind, KernelChoice
from oi_tui.app.engine.core.protocol import KernelsFound
from oi_tui.app.engine.core.verbs import AnyVerb, FindKernels, InstallKernel, UseKernel
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.open_screen import is_open
from oi_tui.app.screens.pick import PickScreen
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_hint, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

_GROUPS: dict[ChoiceKind, str] = {
    "environment": "Environments",
    "server": "Jupyter servers",
    "kernelspec": "Also here, by the label of a fence (beside Python)",
}
_COST = "A switch starts a new kernel: variables are lost, the conversation stays."
_GOES_ON = (
    "A switch attaches to that kernel and its variables; those of the kernel before are lost, the conversation stays."
)
_FAR = "On another machine: no sandbox of ours is there, and none of your files."


KernelWish = UseKernel | InstallKernel
"""What a person can ask for here."""


class KernelRow(NamedTuple):
    """One row of the list."""

    line: Content
    choice: KernelChoice | None = None
    """None for a heading and for a row that cannot be chosen."""


class KernelScreen(PickScreen[KernelWish | None]):
    """Dismissed with the choice, or None for no change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "choose", id="pick.take", priority=True),
        Hint("ctrl+s", "keep", "choose, also for new sessions", id="pick.keep", short="default", priority=True),
        Hint(
            "tab", "look_inside", "what is on this server", id="kernels.look_inside", short="look inside", priority=True
        ),
        Binding("right", "look_right", "What is on this server", id="kernels.look_right", priority=True),
        Hint("escape", "dismiss(None)", "keep", id="pick.back"),
    ]
    TITLE = "What should Python code run in?"

    def __init__(self, found: KernelsFound, send: Callable[[AnyVerb], None], *, busy: Callable[[], bool]) -> None:
        """`send` asks what is on a server, and the answer comes to `show`; `busy`: whether anything runs."""
        super().__init__()
        self._found = found
        self._send = send
        self._busy = busy
        self._servers: dict[str, KernelsFound | None] = {}
        """The kernels on each server; None until it answers."""
        self._rows: list[KernelRow] = []
        self._shown: str | None = None
        """The query for which these rows were made."""
        self.kept: dict[str, Any] = {}
        """What new sessions shall begin with, too: values by the key of the settings."""

    def show(self, found: KernelsFound) -> None:
        """Something new: what is here, or what is on a server."""
        if found.server:
            self._servers[found.server] = found
        else:
            self._found = found
        self.look_for(self.query_one(Input).value)

    def look_for(self, words: str) -> None:
        """Show the rows that have all of these words; highlight the first that begins with them, for Enter."""
        if words == self._shown:  # something new came: the highlight stays where it is
            before = self._current()
            wanted = before.name if before is not None else None
        else:
            wanted = next((choice.name for choice in self._choices() if words and choice.name.startswith(words)), None)
        self._shown = words
        options = self.query_one(Options)
        self._rows = list(self._list(words.casefold().split()))
        options.clear_options()
        options.add_options(row.line for row in self._rows)
        choices = {index: row.choice for index, row in enumerate(self._rows) if row.choice is not None}
        pickable = [index for index, choice in choices.items() if not choice.is_language]
        for index in range(len(self._rows)):
            if index not in choices:
                options.disable_option_at_index(index)
        same = [index for index in choices if choices[index].name == wanted]
        options.highlighted = next(iter((*same, *pickable, *choices)), None)
        self._describe()

    def take(self, number: int) -> None:
        choice = self._rows[number].choice
        if choice is not None and choice.remedy:
            self._ask_to_install(choice)
        elif choice is None or choice.is_language or choice.obstacle:
            self.app.bell()
        elif choice.in_use:
            self.dismiss(None)
        elif choice.costs:
            self._ask_to_attach(choice)
        elif self._busy():
            question = ConfirmScreen(
                "Code is running.",
                f"{choice.title} can be used when all that runs or waits has ended. Variables are gone then.",
                yes="switch then",
                no="keep",
            )
            self._ask(question, UseKernel(name=choice.name))
        else:
            self.dismiss(UseKernel(name=choice.name))

    def action_keep(self) -> None:
        """Choose it, and have it written into the settings. A kernel that runs now may be gone then."""
        choice, number = self._current(), self.query_one(Options).highlighted
        if choice is None or number is None or not _can_be_kept(choice):
            self.app.bell()
            return
        here = choice.kind == "environment"
        self.kept = {"kernel.server": UNSET if here else choice.name, "kernel.python": choice.name if here else UNSET}
        self.take(number)

    def action_look_inside(self) -> None:
        """Ask the highlighted server what it has."""
        choice = self._current()
        if choice is not None and choice.kind == "server" and choice.name:
            if self._servers.get(choice.name, KernelsFound(why="not asked")) is not None:
                self._servers[choice.name] = None
                self._send(FindKernels(server=choice.name))
            self.look_for(self.query_one(Input).value)

    def action_look_right(self) -> None:
        """The same, unless the cursor can go right in what is typed."""
        field = self.query_one(Input)
        if field.cursor_position < len(field.value):
            field.action_cursor_right()
        else:
            self.action_look_inside()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark and the details go along."""
        event.stop()
        self._describe()

    def _ask_to_install(self, choice: KernelChoice) -> None:
        wait = ["It begins when all that runs or waits has ended."] if self._busy() else []
        text = "\n".join((choice.remedy, choice.remedy_reach, *wait))
        question = ConfirmScreen("Install ipykernel there?", text, yes="install it", no="leave it", careful=True)
        self._ask(question, InstallKernel(name=choice.name, command=choice.remedy))

    def _ask_to_attach(self, choice: KernelChoice) -> None:
        wait = "\nIt begins when all that runs or waits has ended." if self._busy() else ""
        question = ConfirmScreen(
            "Somebody else started this kernel, or works in it. Attach to it?",
            f"{one_line(safe_text(choice.title))}\n{choice.costs}{wait}",
            yes="attach",
            no="leave it",
            careful=True,
        )
        self._ask(question, UseKernel(name=choice.name, agreed=True))

    def _ask(self, question: ConfirmScreen, verb: KernelWish) -> None:
        def finish(yes: bool | None) -> None:
            if yes:
                self.dismiss(verb)
            else:
                self.kept = {}

        self.app.push_screen(question, finish)

    # -- inside ------------------------------------------------------------------------------------------------

    def _choices(self) -> Iterator[KernelChoice]:
        """All that is known, also what is on servers."""
        yield from self._found.choices
        for found in self._servers.values():
            yield from found.choices if found is not None else ()

    def _current(self) -> KernelChoice | None:
        number = self.query_one(Options).highlighted
        return self._rows[number].choice if number is not None and number < len(self._rows) else None

    def _list(self, words: list[str]) -> Iterator[KernelRow]:
        """The rows: a heading for each kind, the one in use in the first place."""
        kinds = dict.fromkeys(choice.kind for choice in self._found.choices if not choice.is_language)
        for kind in (*kinds, "kernelspec"):
            rows = [
                row
                for choice in self._found.choices
                if choice.kind == kind
                for row in (KernelRow(_line(choice), choice), *self._beneath(choice))
                if row.choice is None or _fits(row.choice, words)
            ]
            if any(row.choice is not None for row in rows):
                yield KernelRow(lettering((_GROUPS.get(kind, ""), "bold $dim")))
                yield from rows

    def _beneath(self, choice: KernelChoice) -> Iterator[KernelRow]:
        """The kernels on a server, once known."""
        if choice.kind != "server" or choice.name not in self._servers:
            return
        found = self._servers[choice.name]
        if found is None:
            yield KernelRow(lettering(("      asking …", "$dim")))
        elif not found.choices:
            yield KernelRow(lettering((f"      {one_line(found.why) or 'nothing can be started there'}", "$warning")))
        else:
            yield from (KernelRow(_line(one, indent="  "), one) for one in found.choices)

    def _describe(self) -> None:
        """Mark the row that Enter takes, and say what is known of it."""
        options = self.query_one(Options)
        for index, row in enumerate(self._rows):
            if row.choice is not None:
                mark = ("▸ ", "bold $accent") if index == options.highlighted else ("  ", "")
                options.replace_option_prompt_at_index(index, lettering(mark, row.line))
        choice = self._current()
        self.query_one("#pick-text", Words).update(self._details(choice))
        server = choice is not None and choice.kind == "server"
        words = {"enter": ("install ipykernel …", "install …")} if choice is not None and choice.remedy else None
        self.query_one(KeyRow).labels = (
            joint_label(self, "move", "pick.up", "pick.down"),
            *key_labels(self, "enter", words=words),
            *(key_labels(self, "ctrl+s") if choice is not None and _can_be_kept(choice) else ()),
            *(key_labels(self, "tab") if server else ()),
            *key_labels(self, "esc"),
        )

    def _details(self, choice: KernelChoice | None) -> Content:
        if choice is None:
            return lettering(self._found.why or "Nothing has all of these words.")
        parts = [lettering(line) for line in choice.detail.split("\n")[:6]]
        if choice.server:
            parts.append(lettering((_FAR, "$warning")))
        if choice.obstacle:
            asks = key_hint(self, ("pick.take", "asks whether to install it.")) if choice.remedy else ""
            offer = f" {asks}" if asks else ""
            parts.append(lettering((choice.obstacle, "$warning"), offer))
        elif choice.in_use:
            parts.append(lettering("In use. /restart starts it afresh."))
        elif not choice.is_language:
            cost = _GOES_ON if choice.kind == "running" else _COST
            asks = "oi-tui asks before it does so. " if self._busy() or choice.costs else ""
            parts.append(lettering(asks + cost))
        return Content("\n").join(parts)


class KernelPicks:
    """Opens the screen when the engine has the choices, and sends the result."""

    def __init__(self, place: Widget, bridge: Bridge, keep: Callable[[Mapping[str, Any]], None]) -> None:
        """`place` is a widget of the screen from which it is asked for; `keep` writes settings."""
        self._place, self._keep = place, keep
        self._bridge = bridge
        self._screen: KernelScreen | None = None

    def show(self, found: KernelsFound) -> None:
        """What the engine found; of a server only where somebody still looks."""
        if self._screen is not None and is_open(self._screen):
            self._screen.show(found)
        elif not found.server:
            self._screen = KernelScreen(found, self._bridge.send, busy=lambda: self._bridge.busy)
            self._place.app.push_screen(self._screen, self._use)

    def _use(self, chosen: KernelWish | None) -> None:
        kept = self._screen.kept if self._screen is not None else {}
        if chosen is not None:
            self._bridge.send(chosen)
        if kept:
            self._keep(kept)


def _can_be_kept(choice: KernelChoice) -> bool:
    return not (choice.obstacle or choice.is_language or choice.kind == "running")


def _line(choice: KernelChoice, indent: str = "") -> Content:
    state = ("", "")
    if choice.in_use:
        state = (" · in use", "bold $accent")
    elif choice.obstacle:
        state = (" · needs ipykernel" if choice.remedy else " · cannot be used", "$warning")
    title = f"{choice.name} · {choice.title}" if choice.is_language else choice.title
    return lettering(indent, (one_line(safe_text(title))[:200], "$text"), state)


def _fits(choice: KernelChoice, words: list[str]) -> bool:
    text = f"{choice.name} {choice.title} {choice.server}".casefold()
    return all(word in text for word in words)
