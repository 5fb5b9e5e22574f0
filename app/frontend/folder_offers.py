"""What a person reads and chooses before anything runs in a folder, as values: for a screen and for plain lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.modes import stricter_sandbox
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.trust.command_files import commands_in_words
from oi_tui.app.engine.trust.folder_check import FolderCheck, FolderContent, check_folder
from oi_tui.app.engine.trust.folder_instructions import files_in_words
from oi_tui.app.engine.trust.skill_files import skills_in_words
from oi_tui.app.frontend.workplace import LOCK, FolderChoice, Workplace


class Offer(NamedTuple):
    """One line of what can be chosen."""

    id: FolderChoice | None
    """None leaves everything as it is."""
    name: str
    meaning: str
    enabled: bool = True
    grave: bool = False


class FolderLine(NamedTuple):
    """A line of what was found."""

    text: str
    """Safe to show."""
    tone: Literal["plain", "dim", "ok", "warning", "error"] = "plain"
    label: str = ""
    """What kind of thing the text is, of a list of them."""


def look_into(place: Workplace) -> FolderCheck:
    """Facts about the folder for the question about trust; blocks, like `check_folder`."""
    return check_folder(place.folder, place.requested_settings.sandbox)


def folder_title(place: Workplace, *, again: bool) -> str:
    """The question that the folder screen puts."""
    where = _short(place.folder)
    return f"Sandbox and trust for {where}" if again else f"Trust {where}?"


def _short(folder: Path) -> str:
    home = Path.home()
    text = f"~/{folder.relative_to(home)}" if folder != home and folder.is_relative_to(home) else str(folder)
    return visible_text(text).text


def introduction_lines(place: Workplace, *, again: bool) -> list[str]:
    """What code could do, then warnings about the folder, then what else there is to know."""
    sandbox = place.settings.sandbox if again else place.requested_settings.sandbox
    lines = [_permissions_text(sandbox, said=place.mode_said and not again)]
    if again:
        lines[0] = f"{_decision_text(place)} {lines[0]}"
    if place.change:
        lines.append(f"{place.change} Look at what would apply before you trust it again.")
    if place.is_above_home:
        what = "This is your home folder" if place.is_home else "This folder contains your home folder"
        warning = f"{what}: code could change nearly all your files, and only well-known secrets are hidden."
        lines.append(f"{warning} A separate folder is safer.")
    if not place.is_remembered:
        lines.append("This choice is not remembered.")
    if again:
        lines.append("Another choice restarts the kernels: variables are lost, the conversation stays.")
    return lines


def _decision_text(place: Workplace) -> str:
    if place.decision is None:
        return "There is no decision about this folder."
    return "You trust this folder." if place.decision.trusted else "This folder is read-only."


def _permissions_text(sandbox: SandboxSection, *, said: bool) -> str:
    who = " Your settings say so." if said else ""
    if sandbox.mode == "danger-full-access":
        return f"Code here has no sandbox: it has your full permissions.{who}"
    where = f"with a weaker lock ({LOCK})" if sandbox.rung == "lock" else "in a sandbox"
    writes = "it writes nothing" if sandbox.mode == "read-only" else "it writes in this folder only"
    more = f" (and in {len(sandbox.writable)} more from your settings)" if sandbox.writable else ""
    reaches = {
        "none": "reaches no network",
        "hosts": f"reaches {len(sandbox.hosts)} hosts from your settings",
        "full": "reaches the network",
    }[sandbox.network]
    lost = "What it writes to /tmp or your home folder is gone when its kernel ends."
    return f"Code you approve runs {where}: {writes}{more}, and {reaches}. {lost}{who}"


def trial_lines(found: FolderCheck) -> Iterator[FolderLine]:
    """Whether the sandbox works."""
    if found.writing.rung == "lock":
        yield FolderLine("the lock works: its self-test passed just now; it is weaker than a sandbox", "ok")
    elif found.writing.works:
        yield FolderLine("the sandbox works: its self-test passed just now", "ok")
        yield from (FolderLine(f"gap: {gap}", "warning") for gap in found.writing.gaps)
    else:
        yield FolderLine(visible_text(found.writing.why).text, "error")
        if found.writing.fix:
            yield FolderLine(visible_text(found.writing.fix).text)
        if found.reading.works:
            yield FolderLine("a read-only sandbox works", "ok")


def finding_lines(brought: FolderContent) -> Iterator[FolderLine]:
    """What the folder would bring, the rules that allow first and word for word."""
    if brought.wrong:
        yield FolderLine(visible_text(brought.wrong).text, "error")
        yield FolderLine("  Until this is fixed, folder settings are ignored.", "dim")
    listed = list(_entries(brought))
    if listed:
        yield FolderLine("If you trust it, this applies here:")
        yield from listed
    elif not brought.wrong:
        yield FolderLine("This folder has no rules, settings, instructions, commands or skills.")
    if brought.environment and not brought.wrong:
        text = visible_text(brought.environment).text
        yield FolderLine(f"If you trust it, code runs in its {text}, unless you chose another one.", "warning")
    if brought.others:
        names = ", ".join(brought.others)
        yield FolderLine(f"Also here, but not read by oi-tui: {names}", "dim")


def _entries(brought: FolderContent) -> Iterator[FolderLine]:
    for rule in sorted(brought.rules, key=lambda rule: rule.verdict != "allow"):
        what = {"allow": "runs without asking", "deny": "denied"}.get(rule.verdict, "always asks")
        yield FolderLine(visible_text(rule.text).text, "warning" if rule.verdict == "allow" else "plain", what)
    yield from (_entry("set", f"{name} = {value}") for name, value in brought.wishes.items())
    yield from (_entry("the model reads", text) for text in files_in_words(brought.instructions))
    yield from (_entry("a command", text) for text in commands_in_words(brought.commands))
    yield from (_entry("a skill", text) for text in skills_in_words(brought.skills))


def _entry(label: str, text: str) -> FolderLine:
    return FolderLine(visible_text(text).text, label=label)


def _brings(brought: FolderContent) -> bool:
    listed = (brought.rules, brought.instructions, brought.commands, brought.skills)
    return any(listed) or any(True for _ in brought.wishes.items())


def folder_offers(place: Workplace, found: FolderCheck | None, *, again: bool) -> list[Offer]:
    """What can be chosen now; the way out is the last."""
    known = found is not None
    usable = found is not None and not found.brought.wrong
    works = found is not None and found.writing.works
    looks = found is None or found.reading.works
    counts = "; the list above applies" if found is not None and _brings(found.brought) else ""
    mode = place.requested_settings.sandbox.mode
    open_already = place.mode_said and mode == "danger-full-access"
    trusted = {
        "read-only": f"code can read, not write{counts}",
        "workspace-write": f"code can write here{counts}",
        "danger-full-access": f"code has your full permissions{counts}",
    }[mode if place.mode_said else stricter_sandbox(mode, "workspace-write")]
    if known and not usable:
        trusted = "its rules or settings are wrong"
    elif known and not works and not open_already:
        trusted = "needs the sandbox"
    made = [Offer("trust", "Trust this folder", trusted, usable and (works or open_already), open_already)]
    if not looks:
        made.append(Offer("look", "No code", "no code runs here; folder settings are ignored"))
    else:
        made.append(Offer("look", "Read-only", "code can read, not write; folder settings are ignored", known))
    if not place.mode_said:
        lasting = " (remembered)" if place.is_remembered else ""
        made.append(Offer("open", "No sandbox", f"code has your full permissions{lasting}", usable, True))
    made.append(Offer(None, "Back", "everything stays as it is") if again else Offer(None, "Quit", "nothing runs"))
    return made
