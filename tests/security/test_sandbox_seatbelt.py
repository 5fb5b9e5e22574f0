"""Row S27: the profile for macOS. Its text is held against the promises by a reader of our own. NEVER RUN ON A MAC:
what a Mac makes of it is tried by the last test only, which is skipped everywhere else."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.sandbox import places, rungs
from oi_tui.app.engine.sandbox.availability import look
from oi_tui.app.engine.sandbox.mounts import Mount, MountKind, plan
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import LADDER, offered_rungs
from oi_tui.app.engine.sandbox.seatbelt import ALSO, PROGRAM, SeatbeltText, seatbelt_text
from support.enclosure import SECRET, make_home, make_project, profile
from support.promises import BREACHES
from support.sbpl import Policy, parsed_forms
from support.unprivileged import ROOT

SAID, NOT_KEPT, UNKNOWN = "said", "**not kept**", "cannot be said"


class Place:
    """A home with a project in it, as on a Mac, and the profile's text for it."""

    def __init__(self, base: Path, **options: Any) -> None:
        self.home, self.out = make_home(base / "Users" / "me"), base / "out"
        self.work = make_project(self.home / "work")
        (self.work / ".vscode").rmdir()
        self.scratch, self.pipes = base / "private" / "scratch", base / "private" / "pipes"
        for folder in (self.scratch, self.pipes, self.out):
            folder.mkdir(parents=True)
        self.profile = profile(self.work, self.home, **options)

    @property
    def text(self) -> SeatbeltText:
        return made_text(self.profile, self.scratch, self.pipes)

    @property
    def policy(self) -> Policy:
        return Policy(*self.text)


def made_text(chosen: Profile, scratch: Path, pipes: Path) -> SeatbeltText:
    found = plan(chosen, Mount(pipes, MountKind.READABLE))
    return seatbelt_text(chosen, found, scratch=scratch, pipes=pipes)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


# -- the table


Answer = Callable[[Place, Policy], bool]


def denied(operation: str, **facts: str) -> Answer:
    return lambda _, policy: not policy.allows(operation, **facts)


def denied_at(*operations: str, at: Callable[[Place], Path]) -> Answer:
    return lambda place, policy: not any(policy.allows(name, path=str(at(place))) for name in operations)


WRITES = ("file-write-create", "file-write-data", "file-write-unlink", "file-write-mode", "file-write-xattr")
READS = ("file-read-data", "file-read-xattr")

ANSWERS: dict[str, str | list[Answer]] = {
    "S1 nothing is written outside": [denied_at(*WRITES, at=lambda place: place.out / "x")],
    "S1 nothing is written in the machine's /tmp": [
        *(denied("file-write-create", path=f"{folder}/x") for folder in ("/tmp", "/private/tmp", "/private/var/tmp")),
    ],
    "S1 the mode of what is outside cannot be changed": [denied_at("file-write-mode", at=lambda place: place.out)],
    "S2 secrets of the home folder cannot be read": [
        denied_at(*READS, at=lambda place: place.home / ".ssh" / "id_rsa")
    ],
    "S2 the home folder cannot be listed": [denied_at("file-read-data", at=lambda place: place.home)],
    "S2 that a secret is there cannot be seen": [
        denied_at("file-read-metadata", at=lambda place: place.home / ".ssh" / "id_rsa"),
    ],
    "S4 `.git` cannot be written": [denied_at(*WRITES, at=lambda place: place.work / ".git" / "config")],
    "S5 `.git` cannot be moved": [
        denied_at("file-write-unlink", at=lambda place: place.work / ".git"),
        denied_at("file-write-unlink", at=lambda place: place.work),
    ],
    "S6 what is guarded and missing cannot be made": [
        *(denied_at("file-write-create", at=lambda place, name=name: place.work / name) for name in places.GUARDED),  # type: ignore[misc]  # bound at once
    ],
    "S7 links lead nowhere": [denied_at(*READS, *WRITES, at=lambda place: place.home / ".ssh" / "id_rsa")],
    "S7 nothing outside can be linked to": [denied_at("file-link", at=lambda place: place.home / ".ssh" / "id_rsa")],
    "S9 `.env` of the folder cannot be read": [denied_at(*READS, *WRITES, at=lambda place: place.work / ".env")],
    "S10 scratch files have an end": NOT_KEPT,  # a profile has no sizes
    "S11 there are no capabilities": UNKNOWN,  # there is no such thing on a Mac
    "S12 no device can be made": UNKNOWN,  # which operation that is, is not documented
    "S12 the mode of a device cannot be changed": [
        *(denied("file-write-mode", path=path) for path in ("/dev/null", "/dev/tty", "/dev/ptmx", "/dev/ttys001")),
    ],
    "S12 nothing can be mounted": [denied("file-mount", path="/private/tmp"), denied("file-unmount", path="/")],
    "S13 the environment of other processes cannot be read": [
        denied("sysctl-read", **{"sysctl-name": "kern.procargs2"}),
        denied("process-info-pidinfo", target="others"),
    ],
    "S13 the command line of other processes cannot be read": [
        *(denied("sysctl-read", **{"sysctl-name": f"kern.{name}"}) for name in ("procargs", "procargs2", "proc.all")),
    ],
    "S14 no other process can be looked into": [
        *(denied(name, target=who) for name in ("mach-priv-task-port", "mach-task-name") for who in ("others", "self")),
    ],
    "S15 sockets with a path are out of reach": [
        denied("network-outbound", remote_socket="/private/var/run/docker.sock"),
        lambda place, policy: not policy.allows("network-outbound", remote_socket=str(place.work / "x.sock")),
    ],
    "S15 sockets without a path are out of reach": UNKNOWN,  # there are none on a Mac; Mach services, see below
    "S16 ports of the machine are out of reach": [denied("network-outbound", remote_ip="localhost:22")],
    "S16 nothing is sent by UDP": [denied("network-outbound", remote_ip="8.8.8.8:53")],
    "S16 packets cannot be made by hand": [denied("network-outbound", remote_ip="*:*"), denied("system-socket")],
    "S17 no other process can be traced": UNKNOWN,  # `ptrace` is no operation of its own
    "S17 no namespace can be made": UNKNOWN,  # there is no such thing on a Mac
    "S17 other processes cannot be signalled": [denied("signal", target="others"), denied("signal", target="pgrp")],
    "S18 what was detached ends with the kernel": NOT_KEPT,  # a profile ends nothing
    "S24 no setting of the system can be opened": [denied("sysctl-write", **{"sysctl-name": "kern.corefile"})],
    "S24 no pressure file can be opened": UNKNOWN,  # there is no such thing on a Mac
    "S27 the shell is held as well": [
        denied_at(*READS, at=lambda place: place.home / ".ssh" / "id_rsa"),
        denied_at(*WRITES, at=lambda place: place.out / "shell"),
    ],
}


def column() -> dict[str, str]:
    """Of the README's table: what the profile says about each promise."""
    text = (ROOT / "app" / "engine" / "sandbox" / "README.md").read_text(encoding="utf-8")
    assert "| seatbelt: **never run on a Mac** |" in text
    return dict(re.findall(r"^\| (S\d+ .+?) \| .+? \| .+? \| .+? \| (.+?) \|$", text, re.MULTILINE))


def test_S27_the_table_says_of_each_promise_what_the_profile_for_macos_says(place: Place) -> None:
    policy = place.policy
    found = {
        name: what if isinstance(what, str) else SAID if all(ask(place, policy) for ask in what) else NOT_KEPT
        for name, what in ANSWERS.items()
    }
    assert list(found) == list(BREACHES)
    assert found == column()


# -- what works in it


def test_code_works_as_usual_in_the_workspace_as_far_as_the_text_says(place: Place) -> None:
    policy = place.policy
    for path in (place.work / "made.txt", place.work / "sub" / "x", place.scratch / "x", place.scratch / "r" / ".git"):
        assert all(policy.allows(name, path=str(path)) for name in (*READS, *WRITES))
    for path in (place.work / ".git" / "config", place.work / ".env.example", place.work / ".venv" / "lib"):
        assert policy.allows("file-read-data", path=str(path))
    for needed in map(os.path.realpath, ("/usr/lib/x.dylib", sys.executable, os.__file__)):
        assert policy.allows("file-read-data", path=needed)
        assert policy.allows("process-exec", path=needed)
        assert not policy.allows("file-write-data", path=needed)
    assert policy.allows("file-read-metadata", path=str(place.home))  # on the way to the workspace
    assert policy.allows("network-bind", local_socket=str(place.pipes / "shell"))
    assert policy.allows("file-write-data", path=str(place.pipes / "fifo"))
    assert not policy.allows("file-write-create", path=str(place.pipes / "new"))
    assert policy.allows("signal", target="same-sandbox")


def test_S4_an_environment_of_python_in_the_workspace_stays_as_it_is(place: Place) -> None:
    for name in (".venv", ".venv/lib/x", ".venv/pyvenv.cfg"):
        assert not any(place.policy.allows(operation, path=str(place.work / name)) for operation in WRITES)


def test_S1_in_the_read_only_sandbox_nothing_but_scratch_files_can_be_written(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), mode="read-only")
    assert not any(place.policy.allows(name, path=str(place.work / "x")) for name in WRITES)
    assert place.policy.allows("file-read-data", path=str(place.work / "x"))
    assert place.policy.allows("file-write-create", path=str(place.scratch / "x"))


def test_S2_where_the_home_folder_is_worked_in_secrets_stay_hidden_and_cannot_be_moved_into_sight(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path.resolve())
    place.profile = profile(place.home, place.home)
    for name in (".ssh/id_rsa", ".config/gh/hosts.yml", ".mozilla/firefox"):
        assert not any(place.policy.allows(operation, path=str(place.home / name)) for operation in (*READS, *WRITES))
    for name in (".ssh", ".config", ".config/gh", "."):
        assert not place.policy.allows("file-write-unlink", path=os.path.normpath(place.home / name))


def test_S2_a_home_folder_stays_out_of_sight_in_a_folder_that_may_be_read(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), readable=(tmp_path.resolve(),))
    assert place.policy.allows("file-read-data", path=str(place.out))
    for path in (place.home, place.home / "notes", place.home / ".ssh" / "id_rsa"):
        assert not place.policy.allows("file-read-data", path=str(path))


@pytest.mark.parametrize("network", ["none", "hosts", "full"])
def test_S16_the_network_is_none_or_the_door_to_the_proxy_or_all(tmp_path: Path, network: str) -> None:
    policy = Place(tmp_path.resolve(), network=network).policy
    assert policy.allows("network-outbound", remote_ip="localhost:3128") == (network != "none")
    assert policy.allows("network-outbound", remote_ip="localhost:22") == (network == "full")
    assert policy.allows("network-outbound", remote_ip="example.org:443") == (network == "full")
    assert policy.allows("network-bind", local_ip="*:8000") == (network == "full")
    assert not policy.allows("network-outbound", remote_socket="/private/var/run/docker.sock")


def test_S15_no_service_of_the_system_but_names_of_users_and_nothing_of_apple_events_devices_or_preferences(
    place: Place,
) -> None:
    spoken_of = {name.rstrip("*").split("-")[0] for name in place.policy.operations()}
    assert spoken_of <= {"default", "file", "process", "signal", "sysctl", "mach", "ipc", "pseudo", "network"}
    for name in ("com.apple.pasteboard.1", "com.apple.coreservices.launchservicesd", "com.apple.SecurityServer"):
        assert not place.policy.allows("mach-lookup", **{"global-name": name})
    for operation in ("appleevent-send", "iokit-open", "lsopen", "mach-register", "job-creation", "sysctl-write"):
        assert not place.policy.allows(operation)
    assert not place.policy.allows("file-write-data", path="/dev/ttys001")  # another terminal


# -- hostile names


def test_every_spelling_that_a_mac_takes_for_a_letter_is_known() -> None:
    same = {char: char.casefold() for char in map(chr, range(128, sys.maxunicode + 1))}
    found = {char: letter for char, letter in same.items() if len(letter) == 1 and "a" <= letter <= "z"}
    assert found == {char: letter for letter, char in ALSO.items()}


CASES = {letter: sorted({letter, letter.upper(), *ALSO.get(letter, "")}) for letter in "abcdefghijklmnopqrstuvwxyz"}


@st.composite
def spelt(draw: st.DrawFn, name: str) -> str:
    """A name in some mixture of upper and lower case."""
    return "".join(draw(st.sampled_from(CASES.get(letter, [letter]))) for letter in name)


NAME = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="/\0"), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..")
)
"""Quotes, backslashes, parentheses, line ends: what a name on a Mac may have in it."""


@given(st.data())
def test_S6_no_spelling_of_a_guarded_name_can_be_written_at_any_depth(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = shared_place(tmp_path_factory)
    name = data.draw(st.sampled_from(places.GUARDED).flatmap(spelt))
    above, below = data.draw(st.lists(NAME, max_size=3)), data.draw(st.lists(NAME, max_size=3))
    path = "/".join([str(place.work), *above, name, *below])
    assert not any(shared_policy(place).allows(operation, path=path) for operation in WRITES)


@given(st.data())
def test_S9_no_spelling_of_an_environment_file_can_be_read_or_moved_at_any_depth(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = shared_place(tmp_path_factory)
    ending = data.draw(st.sampled_from(["", ".local", ".production", ".d.x"]) | NAME.map(lambda name: f".{name}"))
    name = data.draw(spelt(".env")) + ending
    path = "/".join([str(place.work), *data.draw(st.lists(NAME, max_size=3)), name])
    harmless = name.casefold().endswith(places.HARMLESS_ENDINGS)
    assert shared_policy(place).allows("file-read-data", path=path) == harmless
    assert shared_policy(place).allows("file-write-unlink", path=path) == harmless


@given(names=st.lists(NAME, min_size=1, max_size=3))
def test_no_name_of_a_folder_changes_the_text(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    place = shared_place(tmp_path_factory)
    plain, hostile = (Path("/Users/you", *parts) for parts in (["x"] * len(names), names))
    texts = [
        made_text(
            Profile(mode="workspace-write", workspace=folder, home=Path("/Users/you")), place.scratch, place.pipes
        )
        for folder in (plain, hostile)
    ]
    assert re.sub(r"P\d+", "P", texts[0].text) == re.sub(r"P\d+", "P", texts[1].text)
    assert parsed_forms(texts[1].text)
    policy = Policy(*texts[1])
    guarded = any(part.casefold() in places.GUARDED for part in names)
    assert policy.allows("file-write-create", path=f"{hostile}/made") == (not guarded)
    assert not policy.allows("file-write-create", path=f"{hostile}-beside/made")
    arguments = texts[1].arguments()
    assert arguments[:2] == [PROGRAM, "-p"]
    assert [part.partition("=")[2] for part in arguments[4::2]] == list(texts[1].parameters.values())


_shared: list[tuple[Place, Policy]] = []


def shared_place(factory: pytest.TempPathFactory) -> Place:
    """One place for all examples."""
    if not _shared:
        place = Place(factory.mktemp("mac").resolve())
        _shared.append((place, place.policy))
    return _shared[0][0]


def shared_policy(_: Place) -> Policy:
    return _shared[0][1]


# -- never taken for a sandbox


async def test_S20_it_is_offered_nowhere_and_nothing_starts_with_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung = next(rung for rung in LADDER if rung.name == "seatbelt")
    assert rung not in (*offered_rungs(place.profile), *offered_rungs(profile(place.work, place.home, rung="lock")))
    assert rung.obstacle(place.profile) == "Seatbelt is there on macOS only"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert rung.obstacle(place.profile) == rungs.UNPROVEN
    found = await look(place.profile)
    assert not found.works
    assert rungs.UNPROVEN in found.why


def test_it_has_the_interface_of_the_other_rungs(place: Place) -> None:
    rung = next(rung for rung in LADDER if rung.name == "seatbelt")
    laid = plan(place.profile, Mount(place.pipes, MountKind.READABLE))
    started = rung.argv(place.profile, laid, lambda _: -1, -1, scratch=place.scratch, pipes=place.pipes)
    assert started == [*place.text.arguments(), sys.executable, "-I", "-S", str(rungs.INSIDE_PROGRAM)]


@pytest.mark.skipif(sys.platform != "darwin", reason="This is no Mac: what a Mac makes of the profile is NOT TESTED")
def test_S27_a_mac_keeps_what_the_text_says(place: Place) -> None:
    program = (
        "import os, sys\n"
        f"work, home, out = {str(place.work)!r}, {str(place.home)!r}, {str(place.out)!r}\n"
        "open(work + '/made', 'w').write('x')\n"
        "for kind, path in (('r', home + '/.ssh/id_rsa'), ('r', work + '/.env'), ('a', work + '/.GIT/config'),\n"
        "                   ('w', out + '/x'), ('w', '/tmp/oi-tui-x'), ('w', work + '/.mcp.json')):\n"
        "    try: open(path, kind); print('BROKEN', path)\n"
        "    except OSError: pass\n"
        "for broken in (lambda: os.mkdir(work + '/.VSCODE'), lambda: os.rename(work + '/.git', work + '/g'),\n"
        "               lambda: os.listdir(home), lambda: os.kill(os.getppid(), 0),\n"
        "               lambda: os.link(home + '/.ssh/id_rsa', work + '/l')):\n"
        "    try: broken(); print('BROKEN', broken.__code__.co_names)\n"
        "    except OSError: pass\n"
        "print('tried')\n"
    )
    command = [*place.text.arguments(), sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=place.work)
    assert (done.stdout, done.returncode) == ("tried\n", 0), done.stderr
    assert SECRET not in done.stdout + done.stderr
