"""The line at the bottom: what answers, who decides, what runs and for how long, what it cost."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from oi_tui.app.engine.core.modes import OF_APPROVAL, strictest
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.core.values import ApprovalMode, PermissionMode
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.arming import Clock
from oi_tui.widgets.lettering import lettering

STARTING = "starting"
"""The activity until there is an engine."""

THINKING = "thinking"
"""The activity while the model has been asked and nothing of its answer has come."""

OPENING = "loading the model"
"""The activity from a prompt to the first question to the model, which may take no time."""

QUIET = 20.0
"""Seconds without an answer from which on the line says so."""


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """The current activity, and its start."""

    word: str = ""
    """In a word or two; "" at rest."""
    since: float | None = None
    """When it began, in seconds of the screen's clock; None where no time is shown."""
    due: float | None = None
    """When the model is asked again."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What the line shows."""

    model: str = ""
    approval: ApprovalMode = "ask"
    floor: PermissionMode = "unlessDestructive"
    """The mode that holds where it is stricter than `approval`."""
    sandbox: str = ""
    """The sandbox, in two words."""
    exposed: bool = False
    """Nothing holds it back."""
    recorded: bool = False
    """A recording is played: nobody decides anything, nothing runs."""
    activity: Activity = Activity()
    patience: float = 0.0
    """Seconds without an answer after which the model's server is given up; 0 is not known."""
    extraction: str = ""
    """How far one is that runs beside all else."""
    kernels: tuple[tuple[str, KernelState], ...] = ()
    usage: Usage = Usage()
    context_window: int | None = None
    max_cost: float = 0.0
    """US dollars that the session may cost, 0 is no limit."""
    max_tokens: int = 0
    """Tokens that it may use, 0 is no limit."""


_SYMBOLS: dict[KernelState, str] = {
    "cold": "○",
    "starting": "◌",
    "idle": "✓",
    "busy": "●",
    "interrupting": "◍",
    "restarting": "◌",
    "dead": "✗",
}
_MODES: dict[PermissionMode, str] = {
    "plan": "approval: plan",
    "dontAsk": "approval: rules only",
    "default": "approval: ask",
    "acceptEdits": "approval: ask",
    "auto": "approval: auto in sandbox",
    "unlessDestructive": "approval: auto",
    "bypassPermissions": "approval: none, destructive too",
}
_SEPARATOR = " · "
_USUAL_SANDBOX = ("sandbox, no network", "sandbox")
"""The usual sandbox has a short name; a weaker one is shown in full."""
_DATE = r"[-@](20\d{6}|20\d\d-\d\d-\d\d)$"

_NAME = 1
"""Rank of the model's name, the one part that can be cut."""
_ITEMS = 8
"""Words of plugins."""
_TOKENS = 4
"""Parts above this rank go before any part is shortened."""
_READABLE = 14
"""Cells of a model's name by which it is known; it is cut further only when all else has gone."""


class StatusPart(NamedTuple):
    """A piece of the line; the smaller its `rank`, the longer it stays on a narrow terminal. Rank 0 always stays:
    approval mode, sandbox, activity."""

    text: str
    rank: int
    right: bool = False
    style: str = "$dim"
    short: str = ""
    """The same in fewer cells."""


class StatusBar(Widget, can_focus=False):
    """One line that loses its least important parts where there is no room. It counts seconds while something runs."""

    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; background: $background; color: $dim; }
    """

    status: reactive[Status] = reactive(Status())
    items: reactive[tuple[str, ...]] = reactive(())
    """Words of plugins."""

    keys: reactive[str] = reactive("")
    """The mode of the prompt, and keys that wait for the next one."""

    def __init__(self, *, clock: Clock = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._tick: asyncio.TimerHandle | None = None

    def watch_status(self, status: Status) -> None:
        """The clock ticks by itself while something runs, and costs nothing when idle."""
        activity = status.activity
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        if self.is_attached and (since := activity.due or activity.since) is not None:
            pause = next_change(abs(self._clock() - since), down=activity.due is not None and self._clock() < since)
            # Not a timer of Textual's: one that is started at the wrong moment never fires.
            self._tick = asyncio.get_running_loop().call_later(pause, self._count)

    def on_unmount(self) -> None:
        """Stop calling back those who watch the status."""
        if self._tick is not None:
            self._tick.cancel()

    def render(self) -> Content:
        """The parts that fit, some left, some right."""
        parts = [StatusPart(self.keys, 0, style="$accent")] if self.keys else []
        parts += status_parts(self.status, self._clock())
        parts += [StatusPart(item, _ITEMS, right=True) for item in self.items]
        return fit_parts(parts, self.content_size.width)

    def _count(self) -> None:
        self.refresh()
        self.watch_status(self.status)


def next_change(seconds: float, *, down: bool = False) -> float:
    """Seconds until a duration is spelled differently: a second, or a minute after an hour."""
    step = 60.0 if seconds >= 3600 else 1.0
    rest = seconds % step if down else step - seconds % step
    return max(0.05, rest)


def status_parts(status: Status, now: float = 0.0) -> list[StatusPart]:
    """Everything that could be shown at this time of the clock, in reading order."""
    found = []
    activity = status.activity
    if status.model or activity.word != STARTING:  # whether there is one is not known yet
        found.append(StatusPart(name_in_short(safe_text(status.model)) or "no model", _NAME, style="$text"))
    if status.recorded:
        found.append(StatusPart("read-only, nothing runs", 0, style="$accent"))
    else:
        found.append(_approval_part(status))
    if status.sandbox and not status.recorded:
        sandbox = safe_text(status.sandbox)
        short = _USUAL_SANDBOX[1] if sandbox == _USUAL_SANDBOX[0] else ""
        found.append(StatusPart(sandbox, 0, style="$warning" if status.exposed else "$dim", short=short))
    if activity.word:
        found.append(_activity_part(status, now))
    if status.extraction:
        found.append(StatusPart(status.extraction, 2, style="$accent", short=status.extraction.rpartition(" ")[2]))
    found += _usage_parts(status)
    found += _kernel_parts(status)
    return found


def runs_unasked(status: Status) -> bool:
    """Whether code runs that nobody approved, and not only in a sandbox that is verified."""
    return strictest(status.floor, OF_APPROVAL[status.approval]) in ("unlessDestructive", "bypassPermissions")


def _approval_part(status: Status) -> StatusPart:
    mode = strictest(status.floor, OF_APPROVAL[status.approval])
    words = "approval: never" if status.approval == "never" else _MODES[mode]
    style = "$warning" if runs_unasked(status) else "$accent" if mode == "plan" else "$dim"
    return StatusPart(words, 0, style=style, short=words.partition(": ")[2])


def _activity_part(status: Status, now: float) -> StatusPart:
    text = safe_text(spell_activity(status.activity, now, status.patience))
    short = text.partition(", ")[2] or text.partition(" (")[0].removesuffix(" for approval")
    return StatusPart(text, 0, style="$accent", short=short)


def _usage_parts(status: Status) -> list[StatusPart]:
    """How full the context is, tokens, money; of a budget, what is left of it."""
    usage, found = status.usage, []
    if status.context_window and usage.last_input_tokens:
        share = min(100, round(100 * usage.last_input_tokens / status.context_window))
        about = "~" if usage.last_estimated else ""
        found.append(StatusPart(f"ctx {about}{share}%", 6, right=True))
    used = usage.input_tokens + usage.output_tokens
    if used:
        about = "~" if usage.estimated else ""
        tokens = f"{about}↑{_count(usage.input_tokens)} ↓{_count(usage.output_tokens)}"
        found.append(StatusPart(tokens, _TOKENS, right=True))
    if status.max_tokens:
        left = max(0, status.max_tokens - used)
        found.append(StatusPart(f"{_count(left)} tokens left", 3, right=True, short=f"{_count(left)} left"))
    if status.max_cost:
        left_money = _money(max(0.0, status.max_cost - usage.priced))
        found.append(
            StatusPart(f"{left_money} of {_money(status.max_cost)} left", 3, right=True, short=f"{left_money} left")
        )
    elif used:
        found.append(StatusPart(_money(usage.cost), 3, right=True))
    return found


def _kernel_parts(status: Status) -> list[StatusPart]:
    """Kernels that are not simply idle, and those with a named place. A busy one is shown as the activity."""
    found = []
    for language, state in status.kernels:
        rest = state in ("idle", "cold") or (bool(status.activity.word) and state in ("busy", "starting"))
        placed = " " in language
        if rest and placed:
            found.append(StatusPart(safe_text(language), 7, right=True))
        elif not rest:
            style = "$error" if state == "dead" else "$accent" if state == "busy" else "$dim"
            text = f"{safe_text(language)} {_SYMBOLS[state]} {state}"
            found.append(StatusPart(text, 2 if state == "dead" else 5, right=True, style=style))
    return found


def name_in_short(model: str) -> str:
    """A model's name as one says it: without the provider, a date, and what all of them end in."""
    name = model.rpartition("/")[2].removesuffix(":latest")
    return re.sub(_DATE, "", name) or model


def spell_activity(activity: Activity, now: float, patience: float = 0.0) -> str:
    """The activity with its time: `running 1:04`, `rate limit, retry 2 of 3 in 4 s`."""
    if activity.due is not None and activity.due > now:
        return f"{activity.word} in {spell_time(activity.due - now + 0.999)} (enter: now)"
    begun = activity.due if activity.due is not None else activity.since
    passed = 0.0 if begun is None else now - begun
    if passed < 1:
        return THINKING if activity.word == OPENING else activity.word
    if activity.word == THINKING and QUIET <= passed < patience:
        return f"no answer for {spell_time(passed)} (limit {patience:.0f})"
    return f"{activity.word} {spell_time(passed)}"


def spell_time(seconds: float) -> str:
    """`12 s`, `1:04`, `1 h 04 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def fit_parts(found: list[StatusPart], width: int) -> Content:
    """The most important parts that fit into `width`. What is least important goes first, then words are shortened."""
    shown = list(found)
    for step in (_drop(_TOKENS), _shorten_words, _cut_name(_READABLE), _shorten_all, _drop(_NAME), _cut_name(5)):
        shown = step(shown, width)
    left = _join([part for part in shown if not part.right])
    right = _join([part for part in shown if part.right])
    if left.cell_length + right.cell_length + bool(right) > width:
        return Content(" ").join([left, right]).truncate(width, ellipsis=True)
    return lettering(left, " " * (width - left.cell_length - right.cell_length), right)


Step = Callable[[list[StatusPart], int], list[StatusPart]]


def _drop(rank: int) -> Step:
    """Leave parts above this rank out, the least important first."""

    def step(shown: list[StatusPart], width: int) -> list[StatusPart]:
        while _width(shown) > width and (least := max(reversed(shown), key=lambda part: part.rank)).rank > rank:
            shown.remove(least)
        return shown

    return step


def _shorten_words(shown: list[StatusPart], width: int) -> list[StatusPart]:
    """Say in fewer words what the sandbox is, what is left and that something waits; the approval mode stays."""

    def can(part: StatusPart) -> bool:
        return part.text.startswith("waiting") or not (part.text.startswith("approval") or part.style == "$accent")

    return _shorten(shown, width, can)


def _shorten_all(shown: list[StatusPart], width: int) -> list[StatusPart]:
    return _shorten(shown, width, lambda part: True)


def _shorten(shown: list[StatusPart], width: int, can: Callable[[StatusPart], bool]) -> list[StatusPart]:
    for index, part in enumerate(shown):
        if _width(shown) > width and part.short and can(part):
            shown[index] = part._replace(text=part.short)
    return shown


def _cut_name(least: int) -> Step:
    def step(shown: list[StatusPart], width: int) -> list[StatusPart]:
        over = _width(shown) - width
        return [_cut(part, over, least) if over > 0 and part.rank == _NAME else part for part in shown]

    return step


def _cut(part: StatusPart, cells: int, least: int) -> StatusPart:
    """The part, shorter by about this many cells, but not below `least`."""
    keep = max(least, len(part.text) - cells) - 1
    return part if keep + 1 >= len(part.text) else part._replace(text=part.text[:keep] + "…")


def _join(shown: list[StatusPart]) -> Content:
    return lettering(
        *(item for part in shown for item in ((_SEPARATOR, "$faint"), lettering((part.text, part.style))))
    )[len(_SEPARATOR) :]


def _width(shown: list[StatusPart]) -> int:
    texts = [cell_len(part.text) for part in shown]
    return sum(texts) + len(_SEPARATOR) * (len(texts) - 1)


def _count(tokens: int) -> str:
    return str(tokens) if tokens < 1000 else f"{tokens / 1000:.1f}k" if tokens < 100_000 else f"{tokens // 1000}k"


def _money(cost: float | None) -> str:
    if cost is None:
        return "$?"
    return "$0" if cost == 0 else f"${cost:.4f}" if cost < 0.1 else f"${cost:.2f}"
