"""Installing Python packages from code: what would be installed where, and whether that can work at all."""

import re
import shlex
from typing import NamedTuple

from oi_tui.app.engine.core.values import Confinement, PackageHome
from oi_tui.app.engine.policy.programs import is_python
from oi_tui.app.engine.policy.reading import ShellCommand, SourceFacts

_PIP = re.compile(r"pip[0-9.]*")
_CONDA = frozenset({"conda", "mamba", "micromamba"})
_CHANGES = frozenset({"install", "uninstall", "remove", "update", "upgrade"})
_ELSEWHERE = re.compile(r"(--target|--prefix|--root|--user|--name|--python|-t|-p|-n|--system)(=.*)?")
"""Words that name another place than the environment that is active."""

INSTALLS = "installs packages"
NO_PIP = "the environment has no pip of its own"


class Installation(NamedTuple):
    """A command that changes what is installed."""

    manager: str
    """`pip`, `uv` or `conda`."""
    arguments: tuple[str, ...]
    """Everything behind `pip install`."""
    verb: str
    line: int
    sure: bool
    """Whether all of its words are known before it runs."""
    elsewhere: bool
    """Whether it names a place of its own."""


def find_installs(reading: SourceFacts) -> tuple[Installation, ...]:
    """Commands that install Python packages, as far as the source shows."""
    found = (_installation(command) for command in reading.commands)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _installation(command: ShellCommand) -> Installation | None:
    """`pip install x`, `uv pip install x`, `python -m pip install x`, also behind `sudo` and `env`."""
    words = [word.text for word in command.words]
    for place, word in enumerate(words):
        program = word.rpartition("/")[2]
        manager = "pip" if _PIP.fullmatch(program) else "conda" if program in _CONDA else ""
        rest = words[place + 1 :]
        verb = next((number for number, other in enumerate(rest) if not other.startswith("-")), None)
        if not manager or verb is None or rest[verb] not in _CHANGES:
            continue
        behind_uv = place > 0 and words[place - 1].rpartition("/")[2] == "uv"
        arguments = tuple(rest[verb + 1 :])
        elsewhere = any(_ELSEWHERE.fullmatch(one) for one in arguments) or _runs_another(words[:place])
        sure = all(word.sure for word in command.words[place:])
        return Installation("uv" if behind_uv else manager, arguments, rest[verb], command.line, sure, elsewhere)
    return None


def _runs_another(before: list[str]) -> bool:
    """Whether a Python with a folder of its own is named: `/usr/bin/python3 -m pip`."""
    return any("/" in word and is_python(word.rpartition("/")[2]) for word in before)


def obstacles(installation: Installation, confinement: Confinement) -> tuple[str, ...]:
    """Why it will fail, as far as that is known; nothing if it can work."""
    home = confinement.packages
    found = []
    if confinement.offline and not _is_local(installation):
        found.append("the sandbox has no network")
    if home is not None and not installation.elsewhere:
        if not home.writable:
            found.append(f"the environment is read-only in {'it' if found else 'the sandbox'}")
        if installation.manager == "pip" and not home.has_pip:
            found.append(NO_PIP)
    return tuple(found)


def install_labels(
    reading: SourceFacts, confinement: Confinement, said: tuple[str, ...], *, offered: bool = False
) -> tuple[str, ...]:
    """The labels `said` of a source, with what an installation changes and why it will fail put first; and the way to
    make it work, unless that is `offered`."""
    installs = find_installs(reading)
    home = confinement.packages
    if not installs:
        return said
    why = dict.fromkeys(reason for one in installs for reason in obstacles(one, confinement))
    first = []
    if home is not None and not all(one.elsewhere for one in installs):
        first.append(f"installs into {home.place}")
        said = tuple(label for label in said if not label.startswith(INSTALLS))
    if why:
        first.append(f"{'will fail' if set(why) - {NO_PIP} else 'will not go there'}: {', '.join(why)}")
        first += [] if offered else [installation_advice(home, NO_PIP in why)]
    return (*first, *said)


def installation_advice(home: PackageHome | None, lacks_pip: bool) -> str:
    """Words for the person: how an installation does work."""
    if home is None or not home.python:
        return "install it where that is allowed"
    python = shlex.quote(home.python)
    if home.is_ours:  # what is installed there can break oi-tui
        return f"in an environment of this folder: in a terminal {python} -m venv .venv, then /kernel .venv"
    command = f"uv pip install --python {python}" if lacks_pip else f"{python} -m pip install"
    return f"in a terminal of your own: {command} …"


_ONLY = re.compile(r"\s*[%!]?[ \t]*(?:python3?[ \t]+-m[ \t]+)?pip3?[ \t]+install[ \t]+(?P<rest>[^\n\r]+?)\s*")
_PACKAGE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?([=<>!~]{1,3}[A-Za-z0-9.*+!-]+(,[=<>!~]{1,3}[A-Za-z0-9.*+!-]+)*)?"
)
_FILE = re.compile(r"\.(?:whl|zip|egg|tar|t?gz|tbz|bz2|xz|lz|lzma|txz|tlz)(?:\[.*)?$", re.IGNORECASE)
"""Words that pip reads as a file in any folder, also with extras after them."""
_OPTIONS = frozenset({"-q", "-qq", "--quiet", "-U", "--upgrade", "--pre", "--no-deps", "-v", "--no-cache-dir"})
LONGEST_LIST = 50
"""Packages of one installation."""


def offered_install(source: str, confinement: Confinement) -> tuple[str, ...]:
    """The arguments of `pip install`, if that is all the source is, names packages of an index by their names alone,
    and only the sandbox is in its way; else nothing."""
    home, found = confinement.packages, _ONLY.fullmatch(source)
    if home is None or found is None or not home.offered or not confinement.sandboxed:
        return ()
    try:
        words = tuple(shlex.split(found["rest"]))
    except ValueError:
        return ()
    named = [word for word in words if word not in _OPTIONS]
    if not 0 < len(named) <= LONGEST_LIST or not all(
        _PACKAGE.fullmatch(one) and not _FILE.search(one) for one in named
    ):
        return ()
    return words if confinement.offline or not home.writable else ()


def failed_install(reading: SourceFacts, confinement: Confinement, output: str) -> str:
    """Why a run could not install what it wanted, given what it put out; "" if nothing is known to have been in its
    way."""
    if not _FAILED.search(output):
        return ""
    why = dict.fromkeys(reason for one in find_installs(reading) for reason in obstacles(one, confinement))
    if not why:
        return ""
    return (
        f"Nothing was installed: {', '.join(why)}. To try again does not help; the person can install it "
        f"{installation_advice(confinement.packages, NO_PIP in why)}"
    )


_FAILED = re.compile(
    r"No matching distribution found|Temporary failure in name resolution|Could not find a version|No module named pip"
    r"|Read-only file system|network (?:was|is) disabled|OFFLINE|Could not resolve host|Permission denied",
)


def _is_local(installation: Installation) -> bool:
    """Whether everything it names is a file on this machine, or nothing has to be downloaded."""
    named = [one for one in installation.arguments if not one.startswith("-")]
    local = bool(named) and all(one.startswith((".", "/", "~")) or one.endswith(".whl") for one in named)
    return local or installation.verb in ("uninstall", "remove") or "--no-index" in installation.arguments
