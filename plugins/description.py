"""What a person reads about a plugin before it is enabled, and when it is listed."""

from oi_tui.app.engine.text.words import one_line
from oi_tui.plugins.decisions_file import PluginDecision
from oi_tui.plugins.finding import FoundPlugin

FULL_RIGHTS = "A plugin has the full rights of oi-tui: your files, your keys, the network. It runs in no sandbox."
"""Said before each is enabled."""

IN_THE_SANDBOX = (
    "Its functions run in a kernel of their own, in the sandbox of your code. The sandbox enforces what it declares "
    "about writing and the network. Each call needs approval like code."
)
"""Said before a file of tools is enabled."""

MOST_OF_AUTHOR = 80
"""Characters: a long name must not push its place out of sight."""

LABEL = 11
"""Cells of the names before what is known of one."""

_KINDS = {
    "built-in": "built-in: part of oi-tui",
    "package": "installed package",
    "file": "single file",
    "tools": "file of tools",
}

NEXT_START = "From the next start of oi-tui on."
AT_ONCE = "This applies to the open session, too."


def rights_of(found: FoundPlugin) -> str:
    """What its code may do."""
    return IN_THE_SANDBOX if found.kind == "tools" else FULL_RIGHTS


def when_it_counts(found: FoundPlugin) -> str:
    """When a decision about it takes effect."""
    return AT_ONCE if found.kind == "tools" else NEXT_START


def describe_plugin(found: FoundPlugin, decision: PluginDecision | None) -> list[str]:
    """What is known of it, a line each; all of it comes from its author, except its place and its digest."""
    state = found.state(decision)
    told = {
        "name": " ".join(filter(None, (found.name, found.version))),
        "state": f"cannot be enabled: {found.fault}" if found.fault else state,
        "what": found.summary,
        "kind": _KINDS[found.kind],
        "tools": ", ".join(found.hooks) if found.kind == "tools" else "",
        "declares": "; ".join(found.declares),
        "made by": found.author or "it does not say",
        "lies in": found.place,
        "loaded by": _loaded_by(found),
        "imports": ", ".join(reference for references in found.loads.values() for reference in references),
        "hooks": "" if found.kind == "tools" else ", ".join(found.hooks),
        "digest": found.digest[:16],
    }
    lines = [f"{label:<{LABEL - 1}} {one_line(text[:1_000])}" for label, text in told.items() if text]
    if found.editable:
        lines.append(f"{'':{LABEL}}its code may change in its folder without another question")
    return lines


def consent_lines(found: FoundPlugin) -> list[str]:
    """What the person must see before enabling it: its author, its place, its entry points."""
    lines = [
        f"Made by: {one_line(found.author)[:MOST_OF_AUTHOR] or 'it does not say'}",
        f"Lies in: {found.place}",
        f"Tools: {', '.join(found.hooks)}" if found.kind == "tools" else f"Loaded by: {_loaded_by(found)}",
    ]
    if found.declares:
        lines.insert(0, f"Declares: {'; '.join(found.declares)}")
    return [one_line(line)[:300] for line in lines]


def _loaded_by(found: FoundPlugin) -> str:
    if found.kind == "tools":
        return "a kernel in the sandbox"
    return " and ".join(f"the {process}" for process in found.loads) or "nothing"


def plugin_line(found: FoundPlugin, decision: PluginDecision | None, width: int = 28) -> str:
    """One line of a list: state, name, version, what it is."""
    state = "fault" if found.fault else found.state(decision)
    name = one_line(" ".join(filter(None, (found.name[:60], found.version[:20]))))
    where = found.fault or found.summary or ("part of oi-tui" if found.kind == "built-in" else found.place)
    return f"{state:<12} {name:<{width}} {one_line(where[:200])}"
