"""What code in a sandbox can reach of the machine, as places: for rules, which need not ask about what cannot be done.

The lists are too long rather than too short: what is in none of them is out of reach on every rung.
"""

from pathlib import Path

from oi_tui.app.engine.core.values import Language, Reach
from oi_tui.app.engine.sandbox import places
from oi_tui.app.engine.sandbox.profile import Profile

_OF_THE_SYSTEM = ("/proc", "/dev", "/sys", "/run/systemd/resolve", "/etc/resolv.conf")
_KNOWN: tuple[Language, ...] = ("python", "shell")
"""Of other kernels it is not known before the start where their programs are, which are shown to them."""


def reach_of(profile: Profile, language: Language) -> Reach:
    """The places that code of this language can reach in a sandbox."""
    work = (profile.workspace, *profile.writable)
    shown = [
        *(*work, *profile.readable, *places.python_places(profile), *places.fonts(profile.home)),
        *(Path(name) for name in (*places.SYSTEM_FOLDERS, *places.ROOT_LINKS)),
        *(Path("/etc", name) for name in places.ETC),
        *(place for name in ("python", "python3", "bash") for place in places.program_places(name)),
    ]
    real = {str(path.resolve()) for path in shown}
    return Reach(
        writes=tuple(map(str, profile.writes)),
        kept=()
        if profile.is_weaker
        else tuple(str(folder / name) for folder in profile.writes for name in places.GUARDED),
        reads=tuple(sorted({*map(str, shown), *real, *_OF_THE_SYSTEM})) if language in _KNOWN else ("/",),
    )
