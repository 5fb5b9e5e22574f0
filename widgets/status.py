"""The line at the bottom: what answers, who decides, what runs, what it cost."""

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
from oi_tui.widgets.lettering import lettering

STARTING = "starting"
"""The activity until there is an engine."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What the line shows."""

    model: str = ""
    approval: ApprovalMode = "ask"
    floor: PermissionMode = "unlessDestructive"
    """The mode that holds where it is stricter than `approval`."""
    sandbox: str = ""
    """What holds code back, in two words."""
    exposed: bool = False
    """Nothing holds it back."""
    recorded: bool = False
    """A recording is played: nobody decides anything, nothing runs."""
    activity: str = ""
    """What goes on now, in a word or two; "" at rest."""
    kernels: tuple[tuple[str, KernelState], ...] = ()
    usage: Usage = Usage()
    context_window: int | None = None
    max_cost: float = 0.0
    """US dollars that the session may cost, 0 is no limit."""


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
    "plan": "never runs",
    "dontAsk": "runs by rules only",
    "default": "asks first",
    "acceptEdits": "asks first",
    "auto": "runs unasked in the sandbox",
    "unlessDestructive": "runs unasked",
    "bypassPermissions": "runs unasked, destructive too",
}
_SEPARATOR = " · "

_NAME = 1
"""Rank of the model's name, the one part that can be cut. What is below it always stays: who decides, and what holds
code back."""


class StatusPart(NamedTuple):
    """A piece of the line; the smaller its `rank`, the longer it stays on a narrow terminal."""

    text: str
    rank: int
    right: bool = False
    style: str = "$dim"


class StatusBar(Widget, can_focus=False):
    """One line that loses its least important parts where there is no room."""

    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; background: $background; color: $dim; }
    """

    status: reactive[Status] = reactive(Status())

    def render(self) -> Content:
        """The parts that fit, some left, some right."""
        return fit_parts(status_parts(self.status), self.content_size.width)


def status_parts(status: Status) -> list[StatusPart]:
    """Everything that could be shown, in reading order."""
    mode = strictest(status.floor, OF_APPROVAL[status.approval])
    unasked = mode in ("unlessDestructive", "bypassPermissions")
    found = []
    if status.model or status.activity != STARTING:  # whether there is one is not known yet
        found.append(StatusPart(safe_text(status.model) or "no model", _NAME, style="$text"))
    if status.recorded:
        found.append(StatusPart("recording, nothing runs", 0, style="$accent"))
    else:
        found.append(StatusPart(_MODES[mode], 0, style="$warning" if unasked else "$dim"))
    if status.sandbox and not status.recorded:
        found.append(StatusPart(safe_text(status.sandbox), 0, style="$warning" if status.exposed else "$dim"))
    if status.activity:
        found.append(StatusPart(safe_text(status.activity), 0, style="$accent"))
    usage = status.usage
    if status.context_window and usage.last_input_tokens:
        share = min(100, round(100 * usage.last_input_tokens / status.context_window))
        found.append(StatusPart(f"ctx {share}%", 4, right=True))
    if usage.input_tokens or usage.output_tokens:
        about = "~" if usage.estimated else ""
        found.append(StatusPart(f"{about}↑{_count(usage.input_tokens)} ↓{_count(usage.output_tokens)}", 5, right=True))
        if status.max_cost:
            spent = f"{_money(usage.priced)} of {_money(status.max_cost)}"
            found.append(StatusPart(spent, 3, right=True))
        else:
            found.append(StatusPart(_money(usage.cost), 6, right=True))
    for language, state in status.kernels:
        style = "$error" if state == "dead" else "$accent" if state == "busy" else "$dim"
        placed = " " in language  # where code runs stays longer than that another kernel is at rest
        rank = (3 if placed else 4) if state in ("idle", "cold") else 2
        found.append(StatusPart(f"{safe_text(language)} {_SYMBOLS[state]} {state}", rank, right=True, style=style))
    return found


def fit_parts(found: list[StatusPart], width: int) -> Content:
    """The most important parts that fit into `width`; the model's name is cut before it is left out."""
    shown = list(found)
    while _width(shown) > width and (least := max(reversed(shown), key=lambda part: part.rank)).rank > _NAME:
        shown.remove(least)
    if (over := _width(shown) - width) > 0:
        shown = [_cut(part, over) if part.rank == _NAME else part for part in shown]
    left = _join([part for part in shown if not part.right])
    right = _join([part for part in shown if part.right])
    if left.cell_length + right.cell_length + bool(right) > width:
        return Content(" ").join([left, right]).truncate(width, ellipsis=True)
    return lettering(left, " " * (width - left.cell_length - right.cell_length), right)


def _cut(part: StatusPart, cells: int) -> StatusPart:
    """The part, shorter by about so many cells."""
    return part._replace(text=part.text[: max(4, len(part.text) - cells - 1)] + "…")


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
