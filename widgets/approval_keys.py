"""The keys of the question before code runs: what they are called in each of its stages."""

from collections.abc import Mapping, Sequence

from textual.binding import Binding, BindingType
from textual.keys import key_to_character
from textual.widget import Widget

from oi_tui.app.engine.core.values import ScopeKind
from oi_tui.widgets.approval_view import ApprovalView
from oi_tui.widgets.keyrow import Hint, KeyLabel, back_label, key_labels, keymap_of, keys_of, shown_key

ANSWER_KEYS: list[BindingType] = [
    Hint("y", "decide('run')", "Run it once", id="approval.run", label="run"),
    Hint("e", "enter('editing')", "Edit it before it runs", id="approval.edit", label="edit"),
    Hint(
        "a",
        "enter('scope')",
        "Choose what runs without asking from now on",
        id="approval.always",
        label="always…",
        short="always",
    ),
    Hint(
        "i",
        "decide('install')",
        "Let an installation write and ask its index, once",
        id="approval.install",
        label="install once",
        short="install",
    ),
    Hint("n", "enter('reason')", "Refuse, and say why", id="approval.refuse", label="refuse"),
    Hint("s", "decide('stop')", "Stop the turn", id="approval.stop", label="stop turn", short="stop"),
    Hint("v", "change('full')", "Full screen and back", id="approval.full", label="full screen", short="full"),
    Hint("question_mark", "change('why')", "Why am I asked?", id="approval.why", key_display="?", label="why"),
    Binding("ctrl+t", "change('limit')", "Give this run another time limit", id="approval.limit", show=False),
    Binding("1", "grant(0)", "Always: this exact code", id="approval.scope_1", show=False),
    Binding("2", "grant(1)", "Always: the second choice", id="approval.scope_2", show=False),
    Binding("3", "grant(2)", "Always: the third choice", id="approval.scope_3", show=False),
    Binding("up,k", "scroll_source(-1)", "Scroll the source up", id="approval.up"),
    Binding("down,j", "scroll_source(1)", "Scroll the source down", id="approval.down"),
    Binding("pageup", "scroll_source(0, -1)", "A page up", id="approval.page_up"),
    Binding("pagedown,space", "scroll_source(0, 1)", "A page down", id="approval.page_down"),
    Binding("home", "scroll_source(-1000000)", "The beginning", id="approval.home"),
    Binding("end", "scroll_source(1000000)", "The end", id="approval.end"),
]
"""Of the panel; none of them is Enter, and Space only scrolls."""

LETTERS = frozenset("yeainsvjk? ")
"""What means something at the question; any other letter is a part of something else."""

_ALL = frozenset("yeainsv?")
_FOCUS = Hint("tab", "screen.switch_focus", "Back to the question", id="focus")
"""The command of this id."""
_SCOPES: dict[ScopeKind, str] = {
    "source": "this exact one",
    "commands": "these commands",
    "hosts": "this host",
    "turn": "this turn",
}


def stage_labels(panel: Widget, face: ApprovalView, editor: Sequence[KeyLabel]) -> tuple[KeyLabel, ...]:
    """The keys that work now; `editor` are those of the editor."""
    if face.away:
        does = "back to the question"
        here = KeyLabel(shown_key(_FOCUS, keymap_of(panel)), does, does, hint=_FOCUS)
        return (here, *_answers(panel, face, _ALL)) if face.stage == "question" else (here,)
    back = back_label(panel)
    match face.stage:
        case "editing":
            return tuple(editor)
        case "reason":  # Enter is pressed, not clicked
            return KeyLabel("enter", "refuse; with a reason the model continues", "refuse"), back
        case "scope":
            words = enumerate(map(_SCOPES.__getitem__, face.scopes))
            return (*(KeyLabel(f"{n + 1}", word, word, True, panel, f"grant({n})") for n, word in words), back)
        case "question":
            return _answers(panel, face, face.off())


def _answers(panel: Widget, face: ApprovalView, off: frozenset[str]) -> tuple[KeyLabel, ...]:
    words = {"v": ("smaller", "small")} if face.full else {}
    keys = (key for key in "yeainsv?" if key != "i" or face.is_offered)
    return key_labels(panel, *keys, words=words, off=off)


def answer_keys(keymap: Mapping[str, str]) -> dict[str, str]:
    """The key of each answer as it is shown, by the id of its binding."""
    named = (one for one in ANSWER_KEYS if isinstance(one, Binding) and one.id)
    return {one.id or "": shown_key(one, keymap) for one in named}


def answer_letters(keymap: Mapping[str, str]) -> frozenset[str]:
    """What means something at the question, with the person's own keys."""
    if not any(name.startswith("approval.") for name in keymap):
        return LETTERS
    bindings = (one for one in ANSWER_KEYS if isinstance(one, Binding) and not one.key.isdigit())
    keys = (key for one in bindings for key in keys_of(one, keymap).split(","))
    return frozenset(character for key in keys if key and (character := key_to_character(key)) is not None)
