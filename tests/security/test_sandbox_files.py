"""Rows S1 to S10: which files code in a sandbox can read and write, tried by real kernels."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.sandbox.profile import Limits
from support.enclosure import SECRET, SECRETS, attempt, make_home, make_project, nothing_changes, profile
from support.runs import collect

pytestmark = [pytest.mark.sandbox, pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

Enclosed = Callable[..., Kernel]

REFUSED = {"EROFS", "EACCES", "ENOENT", "EPERM", "EBUSY", "EXDEV"}


async def test_code_works_as_usual_in_the_workspace(python: Kernel, shell: Kernel, project: Path) -> None:
    assert await attempt(python, "open('made.txt', 'w').write('here')") == "done"
    assert (project / "made.txt").read_text() == "here"
    assert (await collect(shell, "cat made.txt; rm made.txt; pwd")).text() == f"here{project}\n"
    assert not (project / "made.txt").exists()
    assert (await collect(python, "import json, ssl, sqlite3, subprocess, threading\n1 + 1")).result == "2"


@pytest.mark.parametrize("place", ["/etc/x", "/x", "/usr/x", "/dev/x", "/run/x", "/opt/x", sys.prefix + "/x"])
async def test_S1_nothing_is_written_outside(python: Kernel, place: str) -> None:
    assert await attempt(python, f"open({place!r}, 'w')") in REFUSED
    assert not os.path.exists(place)


async def test_S1_what_is_written_in_the_home_folder_is_gone_with_the_sandbox(python: Kernel, home: Path) -> None:
    with nothing_changes(home):
        assert await attempt(python, "open(os.path.expanduser('~/x'), 'w').write('x')") == "done"
        assert await attempt(python, "open('../x', 'w').write('x')") == "done"
        assert await attempt(python, "open('/tmp/oi-tui-test-x', 'w').write('x')") == "done"
    assert not os.path.exists("/tmp/oi-tui-test-x")


async def test_S1_the_read_only_sandbox_writes_nothing_at_all(enclosed: Enclosed, tmp_path: Path) -> None:
    work = make_project(make_home(tmp_path / "home") / "project")
    kernel = enclosed(profile(work, tmp_path / "home", mode="read-only"))
    with nothing_changes(work):
        assert await attempt(kernel, "open('x', 'w')") == "EROFS"
        assert await attempt(kernel, "os.mkdir('sub/x')") == "EROFS"
        assert await attempt(kernel, "os.remove('.envrc')") in REFUSED
        assert (await collect(kernel, "open('.git/config').read()")).result == "'as it was'"


@pytest.mark.parametrize("name", SECRETS)
async def test_S2_secrets_of_the_home_folder_are_not_there(python: Kernel, home: Path, name: str) -> None:
    assert await attempt(python, f"open({str(home / name)!r})") == "ENOENT"


async def test_S2_secrets_stay_hidden_in_a_folder_that_may_be_read(enclosed: Enclosed, tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    (home / "plain.txt").write_text("plain")
    kernel = enclosed(profile(make_project(tmp_path / "project"), home, readable=(home,)))
    assert (await collect(kernel, f"open({str(home / 'plain.txt')!r}).read()")).result == "'plain'"
    for name in SECRETS:
        assert await attempt(kernel, f"open({str(home / name)!r})") in ("EACCES", "ENOENT")


@pytest.mark.parametrize("above", [False, True])
async def test_S3_secrets_stay_hidden_where_the_workspace_holds_the_home_folder(
    enclosed: Enclosed, tmp_path: Path, above: bool
) -> None:
    home = make_home(tmp_path / "home")
    (home / ".bashrc").write_text("as it was")
    chosen = profile(tmp_path if above else home, home)
    assert "which holds your home folder" in chosen.describe()
    kernel = enclosed(chosen)
    for name in SECRETS:
        assert await attempt(kernel, f"open({str(home / name)!r})") in ("EACCES", "ENOENT")
        assert await attempt(kernel, f"open({str(home / name)!r}, 'w')") in REFUSED
    assert await attempt(kernel, f"os.listdir({str(home / '.ssh')!r})") == "EACCES"
    assert await attempt(kernel, f"os.rename({str(home / '.ssh')!r}, {str(home / 'ssh')!r})") in REFUSED
    assert await attempt(kernel, f"os.chmod({str(home / '.ssh')!r}, 0o700)") in REFUSED
    assert (
        await collect(enclosed(chosen, "shell"), f"grep -r {SECRET[:-1]}[{SECRET[-1]}] {home} /tmp 2>/dev/null")
    ).text() == ""
    if not above:
        assert await attempt(kernel, "open('.bashrc', 'a').write('x')") == "EROFS"
    await kernel.close()
    assert (home / ".ssh" / "id_rsa").read_text() == SECRET


@pytest.mark.parametrize("folder", ["/", "/tmp", "/usr", "/etc", "/var"])
async def test_S3_what_belongs_to_the_machine_is_no_workspace(enclosed: Enclosed, tmp_path: Path, folder: str) -> None:
    with pytest.raises(KernelError, match="belongs to the whole machine"):
        await enclosed(profile(Path(folder), tmp_path)).start()


async def test_S3_a_folder_of_secrets_is_no_workspace(enclosed: Enclosed, tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    with pytest.raises(KernelError, match="which the sandbox hides"):
        await enclosed(profile(home / ".ssh", home)).start()


@pytest.mark.parametrize(
    "name",
    [
        *(".git/hooks/pre-commit", ".git/hooks/new", ".git/config", ".git/objects/x"),
        *(".oi/permissions.toml", ".oi/new", ".mcp.json", ".vscode/tasks.json", ".envrc"),
    ],
)
async def test_S4_what_others_run_or_obey_later_cannot_be_written(python: Kernel, project: Path, name: str) -> None:
    with nothing_changes(project):
        for how in ("w", "a", "r+"):
            assert await attempt(python, f"open({name!r}, {how!r})") in REFUSED


@pytest.mark.parametrize("name", [".git", ".git/hooks", ".oi", ".vscode", ".envrc", ".mcp.json"])
async def test_S5_what_is_guarded_cannot_be_moved_or_replaced(python: Kernel, project: Path, name: str) -> None:
    with nothing_changes(project):
        assert await attempt(python, f"os.rename({name!r}, 'moved')") in REFUSED
        assert await attempt(python, f"os.remove({name!r})") in {*REFUSED, "EISDIR"}
        assert await attempt(python, f"import shutil; shutil.rmtree({name!r})") in {*REFUSED, "ENOTDIR"}
        assert await attempt(python, f"os.makedirs('other'); os.rename('other', {name!r})") != "done"
        assert await attempt(python, "os.rmdir('other')") == "done"
        assert await attempt(python, f"os.symlink('sub', 'link'); os.rename('link', {name!r})") != "done"
        assert await attempt(python, "os.remove('link')") == "done"


async def test_S5_the_workspace_cannot_be_moved_or_replaced(python: Kernel, project: Path) -> None:
    assert await attempt(python, f"os.rename({str(project)!r}, {str(project)!r} + '2')") in REFUSED
    assert await attempt(python, f"os.rmdir({str(project)!r})") in {*REFUSED, "ENOTEMPTY"}


@pytest.mark.parametrize("name", [".git", ".oi", ".mcp.json", ".vscode", ".envrc"])
async def test_S5_a_guarded_link_is_refused(enclosed: Enclosed, tmp_path: Path, name: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / name).symlink_to("/etc")
    with pytest.raises(KernelError, match="symbolic link"):
        await enclosed(profile(tmp_path / "work", tmp_path / "home")).start()


@pytest.mark.parametrize("where", ["beside the work", "in the work"])
async def test_S3_folders_of_ours_that_lie_in_each_other_are_hidden(
    enclosed: Enclosed, tmp_path: Path, where: str
) -> None:
    work = tmp_path / "work"
    state = (work if where == "in the work" else tmp_path / "state") / "oi-tui"
    (state / "log" / "engine").mkdir(parents=True)
    for folder in (work, tmp_path / "home"):
        folder.mkdir(exist_ok=True)
    kernel = enclosed(profile(work, tmp_path / "home", hidden=(state, state / "log"), readable=(tmp_path,)))
    assert await attempt(kernel, f"os.listdir({str(state)!r})") == "EACCES"
    assert await attempt(kernel, f"os.listdir({str(state / 'log')!r})") == "EACCES"


async def test_S2_what_python_looks_in_and_holds_our_folders_or_the_home_or_the_work_is_not_put_in_whole(
    enclosed: Enclosed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = [tmp_path / name for name in ("of-the-home", "of-the-work", "of-ours")]
    home, work, state = (folder / "in" for folder in above)
    for folder in (home, work, state / "log", library := tmp_path / "library"):
        folder.mkdir(parents=True)
    for folder in (*above, library):
        (folder / "beside.txt").write_text("read me")
        monkeypatch.syspath_prepend(str(folder))
    kernel = enclosed(profile(work, make_home(home), hidden=(state, state / "log")))
    for folder in above:
        assert await attempt(kernel, f"open({str(folder / 'beside.txt')!r})") == "ENOENT"
    assert await attempt(kernel, f"open({str(library / 'beside.txt')!r})") == "done"
    assert await attempt(kernel, f"open({str(home / '.ssh' / 'id_rsa')!r})") == "ENOENT"
    assert await attempt(kernel, f"os.listdir({str(state / 'log')!r})") == "ENOENT"


async def test_S7_links_that_lead_out_lead_nowhere(python: Kernel, home: Path) -> None:
    with nothing_changes(home):
        assert await attempt(python, "open('to-etc/x', 'w')") in REFUSED
        assert await attempt(python, "open('to-key')") == "ENOENT"
        assert await attempt(python, "open('to-key', 'w')") == "ENOENT"
        assert await attempt(python, "os.link('/etc/passwd', 'passwd')") in ("EXDEV", "EPERM")
        assert await attempt(python, "os.link('.git/config', 'config')") in ("EXDEV", "EPERM")


async def test_S7_a_hidden_place_is_hidden_behind_a_link_too(enclosed: Enclosed, tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    (home / ".ssh").rename(home / "keys")
    (home / ".ssh").symlink_to(home / "keys")
    kernel = enclosed(profile(home, home))
    assert await attempt(kernel, "open('.ssh/id_rsa')") == "EACCES"
    assert await attempt(kernel, "open('keys/id_rsa')") == "EACCES"


async def test_S8_nothing_can_be_planted_in_an_environment_of_python(python: Kernel, project: Path) -> None:
    ours = next(Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    for folder in (project / ".venv" / "lib", ours):
        assert await attempt(python, f"open({str(folder / 'oi-tui-evil.pth')!r}, 'w')") == "EROFS"
        assert not (folder / "oi-tui-evil.pth").exists()
    program = Path(sys.modules["oi_tui.app.engine.sandbox.sandbox_launch"].__file__ or "")
    assert await attempt(python, f"open({str(program)!r}, 'a')") in REFUSED


@pytest.mark.parametrize("name", [".env", ".env.local", "sub/.env"])
async def test_S9_environment_files_cannot_be_read(python: Kernel, project: Path, name: str) -> None:
    with nothing_changes(project):
        assert await attempt(python, f"open({name!r})") == "EACCES"
        assert await attempt(python, f"os.chmod({name!r}, 0o777)") in REFUSED
        assert await attempt(python, f"os.remove({name!r})") in REFUSED
        assert await attempt(python, f"os.rename({name!r}, 'moved')") in REFUSED


async def test_S9_an_example_of_an_environment_file_can_be_read(python: Kernel) -> None:
    assert (await collect(python, "open('.env.example').read()")).result == "'KEY='"


async def test_S10_scratch_folders_have_an_end(python: Kernel) -> None:
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "~"):
        fill = f"open(os.path.expanduser('{folder}/full'), 'wb').write(bytes(30_000_000))"
        assert await attempt(python, fill) == "ENOSPC"
        assert await attempt(python, f"os.remove(os.path.expanduser('{folder}/full'))") == "done"


async def test_a_file_has_a_largest_size(enclosed: Enclosed, tmp_path: Path) -> None:
    kernel = enclosed(profile(make_project(tmp_path / "work"), tmp_path, limits=Limits(file_size=1_000_000)))
    assert await attempt(kernel, "open('big', 'wb').write(bytes(3_000_000))") == "EFBIG"
    assert (await collect(kernel, "1 + 1")).result == "2"


async def test_a_process_has_limits_of_memory_and_files(enclosed: Enclosed, tmp_path: Path) -> None:
    limits = Limits(memory=1_000_000_000, open_files=100)
    kernel = enclosed(profile(make_project(tmp_path / "work"), tmp_path, limits=limits))
    assert (await collect(kernel, "x = bytearray(2_000_000_000)")).error.name == "MemoryError"
    assert await attempt(kernel, "kept = [open('/dev/null') for _ in range(200)]") == "EMFILE"
    assert await attempt(kernel, "kept = None") == "done"


async def test_more_folders_may_be_written_or_read(enclosed: Enclosed, tmp_path: Path) -> None:
    for name in ("work", "more", "data", "home"):
        (tmp_path / name).mkdir()
    more, data = tmp_path / "more", tmp_path / "data"
    kernel = enclosed(profile(tmp_path / "work", tmp_path / "home", writable=(more,), readable=(data,)))
    assert await attempt(kernel, f"open({str(more / 'x')!r}, 'w')") == "done"
    assert await attempt(kernel, f"os.mkdir({str(more / '.git')!r})") == "EPERM"
    assert await attempt(kernel, f"open({str(data / 'x')!r}, 'w')") == "EROFS"
    assert await attempt(kernel, f"os.listdir({str(data)!r})") == "done"
