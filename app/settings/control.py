"""The person's settings while the program runs: their files are looked at, and what changed applies to the open session
as far as it can. The rest waits for the next start; nothing milder about code ever applies by itself."""

from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import STRICTER
from oi_tui.app.engine.core.settings import AT_ONCE, Settings
from oi_tui.app.engine.core.settings_section import SettingsSection
from oi_tui.app.engine.core.verbs import SetApproval, SetBudget, SetComplete
from oi_tui.app.engine.files.given_file import file_stamp
from oi_tui.app.engine.files.settings_file import SettingsLayer
from oi_tui.app.flags import Flags
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.settings.own_file import KeyFaults

LOOK_INTERVAL = 1.0
"""Seconds between two looks at the files. A change counts when it is there at two of them: an editor may be writing."""

_IN_FILES = ("administrator", "person", "profile")
"""Layers that are files."""

_NAMED = 3
"""Keys named in a message of one line."""


class SettingsChange(NamedTuple):
    """What came of a change of the files."""

    now: tuple[str, ...] = ()
    """The keys that apply in the open session."""
    later: tuple[str, ...] = ()
    """Those that apply from the next start."""

    @property
    def words(self) -> str:
        """For the person; "" if nothing changed."""
        now = f"{_in_short(self.now)} now" if self.now else ""
        later = f"{_in_short(self.later)} from the next start" if self.later else ""
        return ", ".join(part for part in (now, later) if part)


class SettingsControl:
    """Knows the settings that were read last. `use_screen` applies those of the screen that changed."""

    def __init__(
        self,
        flags: Flags,
        bridge: Bridge,
        use_screen: Callable[[Settings, Set[str]], None],
        settings: Settings,
        key_faults: KeyFaults,
    ) -> None:
        """`settings` are those that the program was started with, before any decision about the folder."""
        self.flags = flags
        self.key_faults = key_faults
        self.settings = settings
        """As flags, environment and files ask for them now."""
        self._bridge = bridge
        self._use_screen = use_screen
        self._applied: tuple[tuple[int, ...], ...] | None = None
        self._seen: tuple[tuple[int, ...], ...] = ()
        self._broken = False
        self._origins: Mapping[str, SettingsLayer] = {}
        self._files: tuple[Path, ...] = ()
        """Those that the settings were read from last, whether they were there or not."""

    def look(self) -> tuple[str, bool]:
        """Read the files again if they changed: what to tell, and whether that is a mistake; "" for nothing new."""
        stamps = self._stamps()
        if stamps == self._applied or stamps != self._seen:
            self._seen = stamps
            return "", False
        was_broken = self._broken
        try:
            change = self.refresh()
        except SettingsError as error:
            self._applied, self._broken = stamps, True
            return f"{error.title} {error.hint} The settings stay as they were.".replace("  ", " "), True
        if change.words:
            return f"Settings changed: {change.words}.", False
        return ("The settings file has no mistake any more." if was_broken else ""), False

    def refresh(self) -> SettingsChange:
        """Read all layers and apply what differs; SettingsError, and nothing changes, if one of them is wrong."""
        before = self._stamps()
        loaded = self.flags.settings()
        files = tuple(Path(layer.origin) for layer in loaded.layers if layer.kind in _IN_FILES)
        settings, changed = loaded.settings, changed_keys(self.settings, loaded.settings)
        stamps = before if files == self._files else tuple(map(file_stamp, files))
        self.settings, self._files, self._broken, self._origins = settings, files, False, loaded.origins
        self._applied = self._seen = stamps
        now = {key for key in changed if key in AT_ONCE}
        self._use_screen(settings, {key for key in now if key.startswith("screen.") or key == "keys"})
        now |= self._tell_engine(settings, frozenset(changed))
        return SettingsChange(
            tuple(key for key in changed if key in now), tuple(key for key in changed if key not in now)
        )

    def overridden_by(self, key: str) -> str:
        """What overrides the person's file for this `section.key`, in a word or two; "" if nothing does. The caller
        checks variables of the environment."""
        layer = self._origins.get(key)
        if layer is None or layer.kind not in ("profile", "flags"):
            return ""
        return f"the profile {Path(layer.origin).stem}" if layer.kind == "profile" else layer.origin

    def _tell_engine(self, settings: Settings, changed: Set[str]) -> Set[str]:
        """Its budget, whether it insists, and an approval mode that is stricter; that key, if so."""
        loop, transcript = settings.loop, self._bridge.transcript
        if "loop.complete" in changed:
            self._bridge.send(SetComplete(on=loop.complete))
        if changed & {"loop.max_cost", "loop.max_tokens"}:  # the other one may have been set for this session
            cost = loop.max_cost if "loop.max_cost" in changed else None
            tokens = loop.max_tokens if "loop.max_tokens" in changed else None
            self._bridge.send(SetBudget(max_cost=cost, max_tokens=tokens))
        if (
            "loop.approve" in changed
            and STRICTER["loop.approve"](transcript.approval, loop.approve) != transcript.approval
        ):
            self._bridge.send(SetApproval(mode=loop.approve))
            return {"loop.approve"}
        return set()

    def _stamps(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(file_stamp, self._files))


def changed_keys(before: Settings, after: Settings) -> list[str]:
    """Each `section.key` that differs, in the order of the declaration."""
    changed: list[str] = []
    for section in Settings.__struct_fields__:
        old, new = getattr(before, section), getattr(after, section)
        if isinstance(old, SettingsSection):
            fields = old.__struct_fields__
            changed += [f"{section}.{name}" for name in fields if getattr(old, name) != getattr(new, name)]
        elif old != new:
            changed.append(section)
    return changed


def _in_short(keys: tuple[str, ...]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return f"{', '.join(keys[:_NAMED])}{more}"
