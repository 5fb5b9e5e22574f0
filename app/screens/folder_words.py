"""What the screen about a folder says, as values: what code could do there, what was found, and what can be chosen."""

from pathlib import Path
from typing import NamedTuple

from textual.content import Content

from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.trust.folder_check import FolderCheck, FolderContent
from oi_tui.app.engine.trust.folder_settings import stricter_sandbox
from oi_tui.app.frontend.workplace import LOCK, FolderChoice, Workplace
from oi_tui.widgets.lettering import lettering

LABEL = 20
"""Columns of a choice's name."""

INDENT = "  "


class Offer(NamedTuple):
    """One line of what can be chosen."""

    id: FolderChoice | None
    """None leaves everything as it is."""
    name: str
    meaning: str
    enabled: bool = True
    grave: bool = False


def folder_title(place: Workplace, *, again: bool) -> str:
    """The question that the folder screen puts."""
    where = _short(place.folder)
    return f"What holds in {where}" if again else f"Work in {where}?"


def _short(folder: Path) -> str:
    home = Path.home()
    text = f"~/{folder.relative_to(home)}" if folder != home and folder.is_relative_to(home) else str(folder)
    return visible_text(text).text


def introduction(place: Workplace, *, again: bool) -> Content:
    """What code could do, in one paragraph, and what is unusual about the folder."""
    sandbox = place.settings.sandbox if again else place.requested_settings.sandbox
    lines = [_what_code_could_do(sandbox, said=place.mode_said and not again)]
    if again:
        lines[0] = f"{_decision_text(place)} {lines[0]}"
    if place.change:
        lines.append(f"{place.change} Look at what counts now before you trust it again.")
    if place.is_above_home:
        what = "This is your home folder" if place.is_home else "This folder holds your home folder"
        warning = f"{what}: code could change nearly everything of yours, and only well-known secrets are hidden."
        lines.append(f"{warning} A folder of its own is safer.")
    if not place.is_remembered:
        lines.append("What you choose here holds this time only.")
    if again:
        lines.append("Another choice starts the kernels anew: their variables are lost, the conversation stays.")
    return lettering(
        lines[0], *((f"\n{line}", "$warning" if index == 0 else "") for index, line in enumerate(lines[1:]))
    )


def _decision_text(place: Workplace) -> str:
    if place.decision is None:
        return "Nothing was decided about this folder."
    return "You trust this folder." if place.decision.trusted else "This folder is only looked at."


def _what_code_could_do(sandbox: SandboxSection, *, said: bool) -> str:
    who = " Your settings say so." if said else ""
    if sandbox.mode == "danger-full-access":
        return f"Code that runs here has no sandbox: it can do all that you can.{who}"
    where = f"locked in only ({LOCK})" if sandbox.rung == "lock" else "in a sandbox"
    writes = "it writes nothing" if sandbox.mode == "read-only" else "it writes in this folder only"
    more = f" (and in {len(sandbox.writable)} more that your settings name)" if sandbox.writable else ""
    reaches = {
        "none": "reaches no network",
        "hosts": f"reaches {len(sandbox.hosts)} hosts that your settings name",
        "full": "reaches the network",
    }[sandbox.network]
    lost = "What it writes to /tmp or your home folder is gone when its kernel ends."
    return f"Code you approve runs {where}: {writes}{more}, and {reaches}. {lost}{who}"


def sandbox_trial(place: Workplace, found: FolderCheck | None) -> Content:
    """Whether the sandbox works."""
    if found is None:
        return lettering(("… the sandbox is being tried", "$dim"))
    if found.writing.rung == "lock":
        return lettering(("✓ ", "$ok"), "the lock works: its self-test passed just now; it is weaker than a sandbox")
    if found.writing.works:
        lines = [lettering(("✓ ", "$ok"), "the sandbox works: its self-test passed just now")]
        lines += [lettering(("! ", "$warning"), f"left open: {gap}") for gap in found.writing.gaps]
        return Content("\n").join(lines)
    fix = f"\n{visible_text(found.writing.fix).text}" if found.writing.fix else ""
    lines = [lettering(("✗ ", "$error"), visible_text(found.writing.why).text, (fix, "$text"))]
    if found.reading.works:
        lines.append(lettering(("✓ ", "$ok"), "a sandbox in which nothing may be written works"))
    return Content("\n").join(lines)


def findings(brought: FolderContent | None) -> Content:
    """What the folder would bring, the rules that allow first and word for word."""
    if brought is None:
        return lettering(("… looking at what the folder brings along", "$dim"))
    lines: list[Content] = []
    if brought.wrong:
        lines.append(lettering(("✗ ", "$error"), visible_text(brought.wrong).text))
        lines.append(lettering((f"{INDENT}Nothing of the folder can count as long as that is so.", "$dim")))
    allowed = [rule for rule in brought.rules if rule.verdict == "allow"]
    stricter = [rule for rule in brought.rules if rule.verdict != "allow"]
    wishes = list(brought.wishes.items())
    if allowed or stricter or wishes:
        lines.append(lettering("If you trust it, this counts here:"))
    lines += [_line("runs without a question", rule.text, style="$warning") for rule in allowed]
    lines += [_line("denied" if rule.verdict == "deny" else "always asked about", rule.text) for rule in stricter]
    lines += [_line("set", f"{name} = {value}") for name, value in wishes]
    if not lines:
        lines.append(lettering("It brings no rules or settings for this program along."))
    if brought.environment and not brought.wrong:
        text = visible_text(brought.environment).text
        lines.append(
            lettering((f"If you trust it, code would run in its {text}, unless you chose another one.", "$warning"))
        )
    if brought.others:
        names = ", ".join(brought.others)
        lines.append(lettering((f"Also there, and not read by this program: {names}", "$dim")))
    return Content("\n").join(lines)


def _brings(brought: FolderContent) -> bool:
    return bool(brought.rules) or any(True for _ in brought.wishes.items())


def _line(what: str, text: str, style: str = "$text") -> Content:
    return lettering((f"{INDENT}{what:25}", "$dim"), (visible_text(text).text, style))


def folder_offers(place: Workplace, found: FolderCheck | None, *, again: bool) -> list[Offer]:
    """What can be chosen now; the way out is the last."""
    known = found is not None
    usable = found is not None and not found.brought.wrong
    works = found is not None and found.writing.works
    looks = found is None or found.reading.works
    counts = "; its own rules count" if found is not None and _brings(found.brought) else ""
    mode = place.requested_settings.sandbox.mode
    open_already = place.mode_said and mode == "danger-full-access"
    trusted = {
        "read-only": f"code writes nothing{counts}",
        "workspace-write": f"code may write in it{counts}",
        "danger-full-access": f"code can do all that you can{counts}",
    }[mode if place.mode_said else stricter_sandbox(mode, "workspace-write")]
    if known and not usable:
        trusted = "what it brings along is wrong"
    elif known and not works and not open_already:
        trusted = "needs the sandbox"
    made = [Offer("trust", "Trust this folder", trusted, usable and (works or open_already), open_already)]
    if not looks:
        made.append(Offer("look", "Only talk", "no code runs here; nothing of the folder counts"))
    else:
        made.append(Offer("look", "Only look", "code may read; nothing of the folder counts", known))
    if not place.mode_said:
        lasting = "; remembered" if place.is_remembered else ""
        made.append(Offer("open", "Without a sandbox", f"code can do all that you can{lasting}", usable, True))
    made.append(Offer(None, "Back", "everything stays as it is") if again else Offer(None, "Quit", "nothing is run"))
    return made


def offer_line(offer: Offer, *, marked: bool) -> Content:
    """One choice as it stands in the list."""
    if not offer.enabled:
        return lettering((f"✗ {offer.name:{LABEL}}{offer.meaning}", "$dim"))
    mark = ("▸ ", "bold $accent") if marked else ("! ", "$warning") if offer.grave else ("  ", "")
    name = "$accent" if marked else "$warning" if offer.grave else "$text"
    return lettering(mark, (f"{offer.name:{LABEL}}", name), (offer.meaning, "$warning" if offer.grave else "$dim"))
