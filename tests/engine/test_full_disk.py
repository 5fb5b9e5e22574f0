"""What the person decided and what is kept for them, on a disk that is full and under a kill at any moment."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.owned_file import LARGEST, file_lock, read_owned_file, replace_owned_file

WRITER = '''
import asyncio, resource, sys
from pathlib import Path

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.mcp.agreements import Agreements
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry, read_servers, write_entry
from oi_tui.app.engine.skills.kept_functions import find_function, keep_function
from oi_tui.app.engine.workspace.checkpoints import Checkpoints, KeptChange
from oi_tui.plugins.decisions_file import PluginDecisions

folder, job, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
names = [f"n{number}" for number in range(300)]
tokens = CredentialStore(folder / "credentials", Keyring({}), owner=__import__("os").getuid())
decided = PluginDecisions(folder / "plugins.toml", owner=__import__("os").getuid(), about="tools")
agreements = Agreements(folder / "agreements.json")
checkpoints = Checkpoints(folder / "checkpoints")
large = "x" * 9_000


def write(round: int) -> None:
    name = names[round]
    match what:
        case "tokens":
            tokens.keep_in_file(name, name + large)
        case "tool files":
            decided.decide(name, "enabled", name + large)
        case "agreements":
            agreements.pin(NamedServer(name=name, entry=ServerEntry(command=name)), {"tool": {"description": large}})
        case "mcp.json":
            write_entry(folder / "mcp.json", name, ServerEntry(command=name, args=(large,)))
        case "kept functions":
            source = f"def kept():\\n    return {round}\\n# {large * (round + 1)}"
            keep_function("kept", source[:99_900], folder / "functions")
        case "checkpoints":
            digest = checkpoints.keep_content(name.encode() * 2_000)
            checkpoints.add(KeptChange(0, "s", "t", "b", "/w", name + large, digest, None, 0o644, "tool", 0.0))


def read() -> int:
    """How many rounds are there, each whole."""
    match what:
        case "tokens":
            return len(tokens.places())
        case "tool files":
            return len(decided.all())
        case "agreements":
            found = [agreements.tools_agreed_to(NamedServer(name=one, entry=ServerEntry(command=one))) for one in names]
            return sum(one is not None for one in found)
        case "mcp.json":
            return len(read_servers(folder / "mcp.json", owner=None))
        case "kept functions":
            function = find_function("kept", folder / "functions")
            assert not function.wrong, function.wrong
            return int(function.code.split("return ")[1].split("\\n")[0]) + 1
        case "checkpoints":
            found = checkpoints.changes("s")
            assert all(checkpoints.content(one.before or "") for one in found)
            return len(found)
    raise AssertionError(what)


match job:
    case "full":
        write(0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, resource.RLIM_INFINITY))
        done = 1
        try:
            for round in range(1, 300):
                write(round)
                done += 1
        except OiTuiError as error:
            print(error)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert read() == done, (read(), done)
            write(done)
            assert read() == done + 1, (read(), done)
        else:
            raise AssertionError("nothing was full")
    case "on":
        for round in range(300):
            write(round)
            print(round, flush=True)
    case "read":
        print(read())
'''

STORES = ("tokens", "tool files", "agreements", "mcp.json", "kept functions", "checkpoints")


def command(folder: Path, job: str, what: str) -> list[str]:
    return [sys.executable, "-c", WRITER, str(folder), job, what]


@pytest.mark.parametrize("what", STORES)
def test_F21_on_a_full_disk_what_is_kept_stays_as_it_was_and_the_failure_is_said(what: str, tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, "full", what), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "cannot be" in done.stdout or "can be kept" in done.stdout
    assert [one for one in tmp_path.rglob("*") if one.name.endswith(".part")] == []


@pytest.mark.parametrize("what", STORES)
def test_F21_after_a_kill_at_any_moment_what_was_kept_is_there_whole(what: str, tmp_path: Path) -> None:
    with subprocess.Popen(command(tmp_path, "on", what), stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        last = 0
        for line in writer.stdout:
            if (last := int(line)) == 7:
                break
        os.kill(writer.pid, signal.SIGKILL)
        for line in writer.stdout:
            with contextlib.suppress(ValueError):  # the last line may be cut
                last = int(line)
    done = subprocess.run(command(tmp_path, "read", what), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert int(done.stdout) in (last + 1, last + 2)


def test_F21_no_record_is_written_that_could_not_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "record"
    replace_owned_file(path, "x" * LARGEST)
    with pytest.raises(OiTuiError, match="would be larger than 1,000,000 bytes"):
        replace_owned_file(path, "é" * LARGEST)
    assert read_owned_file(path, "record", "", owner=os.getuid()) == "x" * LARGEST


def test_F21_where_nothing_can_be_written_a_decision_says_so(tmp_path: Path) -> None:
    (tmp_path / "record.lock").mkdir()
    with pytest.raises(OiTuiError, match="record cannot be written"), file_lock(tmp_path / "record"):
        pass
