"""Row S20: what is said where there can be no sandbox, and what a person can do about it."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.sandbox import gaps, inside, rungs
from oi_tui.app.engine.sandbox.availability import SWITCHES, forbidden, look
from oi_tui.app.engine.sandbox.gaps import OPEN_SOCKETS, landlock_version, sandbox_gaps
from oi_tui.app.engine.trust.folder_check import check_folder
from support.enclosure import attempt, make_home, profile


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole search path."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("installer", "fix"), [("apt", "apt install bubblewrap"), ("dnf", "dnf install bubblewrap"), ("", "package")]
)
@pytest.mark.parametrize(("user", "sudo"), [(0, True), (1000, True), (1000, False)])
async def test_S20_where_bubblewrap_is_asked_for_the_command_that_installs_it_is_told(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, installer: str, fix: str, user: int, sudo: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    for name in (installer, "sudo" if sudo else ""):
        if name:
            put(programs / name)
    (tmp_path / "work").mkdir()
    found = await look(profile(tmp_path / "work", make_home(tmp_path / "home"), rung="bubblewrap"))
    assert not found.works
    assert "not installed" in found.why
    assert fix in found.fix
    assert ("sudo" in found.fix) == (user != 0 and sudo and bool(installer))


async def test_S20_a_bubblewrap_that_may_not_enclose_is_told_as_what_it_is(tmp_path: Path, programs: Path) -> None:
    put(programs / "bwrap", "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    (tmp_path / "work").mkdir()
    found = await look(profile(tmp_path / "work", make_home(tmp_path / "home"), rung="bubblewrap"))
    assert not found.works
    assert "setting up uid map" in found.why
    assert found.fix


@pytest.mark.parametrize(("name", "value", "words"), SWITCHES)
def test_S20_the_switch_of_the_system_that_forbids_it_is_named(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("7\n")
    assert "container" in forbidden(tmp_path)
    path.write_text(f"{value}\n")
    assert forbidden(tmp_path) == words


def test_S20_a_workspace_that_no_sandbox_can_have_is_told_and_nothing_is_raised() -> None:
    found = check_folder(Path("/"), SandboxSection())
    assert not found.writing.works
    assert not found.reading.works


@pytest.mark.sandbox
def test_S20_the_survey_of_a_folder_proves_its_sandbox(tmp_path: Path) -> None:
    found = check_folder(tmp_path, SandboxSection())
    assert found.writing == found.reading
    assert found.writing.works, found.writing.why
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sandbox
def test_where_a_guarded_name_is_a_link_only_looking_is_possible(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").symlink_to(tmp_path / "elsewhere")
    found = check_folder(work, SandboxSection())
    assert "symbolic link" in found.writing.why
    assert found.reading.works, found.reading.why


# -- what it leaves open: the version of Landlock is forced, it is not such a kernel that runs


@pytest.mark.parametrize("version", range(8))
def test_S15_what_the_sandbox_leaves_open_on_an_older_system_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(rungs, "NEWEST", version)
    if landlock_version() != version:
        pytest.skip(f"This system's Landlock is older than {version}, NOT TESTED")

    def gaps_of(**options: object) -> tuple[str, ...]:
        return sandbox_gaps(profile(tmp_path, tmp_path / "home", **options))

    assert gaps_of(network="full") == ((OPEN_SOCKETS,) if version < 6 else ())
    assert gaps_of() == gaps_of(network="hosts") == gaps_of(network="full", rung="lock") == ()
    assert gaps_of(network="full", mode="danger-full-access") == ()


@pytest.mark.sandbox
@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("version", [5, 6])
async def test_S15_a_socket_without_a_path_is_open_to_code_exactly_where_that_is_said(
    enclosed: Callable[..., Kernel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(rungs, "NEWEST", version)
    if landlock_version() != version:
        pytest.skip(f"This system's Landlock is older than {version}, NOT TESTED")
    (tmp_path / "work").mkdir()
    shared = profile(tmp_path / "work", make_home(tmp_path / "home"), network="full")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"\0{tmp_path}")
        other.listen()
        reached = await attempt(enclosed(shared), f"socket.socket(socket.AF_UNIX).connect('\\0{tmp_path}')")
    found = await look(shared)
    assert found.works, found.why
    assert (reached == "done") == (found.gaps == (OPEN_SOCKETS,)) == (version == 5)


def test_S15_the_version_is_asked_for_as_the_first_program_inside_does() -> None:
    assert gaps.VERSION_CALL == (inside.CREATE_RULESET, None, 0, 1)
    assert gaps.SCOPES == inside.SCOPES
