"""Where tokens and keys are kept: a variable, the keyring, or a file after a yes; never shown."""

import asyncio
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.kernels.remote.servers import KnownServer, KnownServers
from oi_tui.app.subcommands.kernels import kernels

if importlib.util.find_spec("keyring") is None:
    pytest.skip("NOT TESTED: keyrings, because the package keyring is not installed", allow_module_level=True)

from support.keyrings import environ_with  # needs the package

NAME = "jupyter:https://hub.test"
SECRET = "sésame-öffne-dich-0123456789"
NONE = "keyring.backends.fail.Keyring"
PATIENCE = 20.0


def store_with(folder: Path, backend: str, *, patience: float = PATIENCE, owner: int | None = None) -> CredentialStore:
    keyring = Keyring(environ_with(backend, folder / "ring.json"), patience=patience)
    return CredentialStore(folder / "credentials.toml", keyring, owner=os.getuid() if owner is None else owner)


async def found_in(store: CredentialStore, **environ: str) -> str:
    """What the store has, of which the redactor was told."""
    learned: list[str] = []
    secret = await store.find(NAME, learned.append, variable="HUB_TOKEN", environ=environ)
    assert learned == ([secret] if secret else [])
    return secret


async def test_a_secret_is_kept_in_the_keyring_and_nowhere_else(tmp_path: Path) -> None:
    store = store_with(tmp_path, "KeyringOfFile")
    assert await found_in(store) == ""
    assert await store.keep(NAME, SECRET) == ""
    assert store.places() == {NAME: "keyring"}
    assert SECRET not in store.path.read_text()
    assert await found_in(store) == SECRET
    assert await found_in(store, HUB_TOKEN="of-the-variable") == "of-the-variable"
    assert await store.forget(NAME) == ""
    assert (tmp_path / "ring.json").read_text() == "{}"
    assert await found_in(store) == ""
    assert await store.forget(NAME) == ""


async def test_a_keyring_is_not_asked_for_what_it_was_not_given(tmp_path: Path) -> None:
    store = store_with(tmp_path, "HangingKeyring")
    assert await found_in(store) == ""
    assert await found_in(store, HUB_TOKEN="of-the-variable") == "of-the-variable"
    store.keep_in_file(NAME, SECRET)
    assert await found_in(store) == SECRET


@pytest.mark.parametrize(
    ("backend", "why"),
    [
        (NONE, "there is none on this machine"),
        ("keyring.backends.null.Keyring", "there is none on this machine"),
        ("LockedKeyring", "KeyringLocked: cannot keep …"),
        ("CrashingKeyring", "it ended without an answer"),
        ("ForgetfulKeyring", "it did not keep what it was given"),
    ],
)
async def test_where_there_is_no_keyring_nothing_is_kept_unasked(backend: str, why: str, tmp_path: Path) -> None:
    store = store_with(tmp_path, backend)
    said = await store.keep(NAME, SECRET)
    assert why in said
    assert SECRET not in said
    assert not store.path.exists()
    store.keep_in_file(NAME, SECRET)
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert store.places() == {NAME: "file"}
    assert await found_in(store) == SECRET


async def test_a_keyring_that_hangs_is_given_up_and_ended_while_all_else_goes_on(tmp_path: Path) -> None:
    store = store_with(tmp_path, "HangingKeyring", patience=2.0)
    async with asyncio.timeout(30):
        keeping = asyncio.create_task(store.keep(NAME, SECRET))
        assert not (await asyncio.wait({keeping}, timeout=0.1))[0]  # it hangs, and the loop goes on
        assert "did not answer within 2 seconds; is it locked?" in await keeping
    assert not psutil.pid_exists(int((tmp_path / "ring.json").read_text()))


async def test_a_keyring_that_does_not_give_back_what_it_has_is_told_with_a_way_out(tmp_path: Path) -> None:
    assert await store_with(tmp_path, "KeyringOfFile").keep(NAME, SECRET) == ""
    with pytest.raises(SettingsError, match="cannot be used: KeyringLocked: locked") as caught:
        await found_in(store_with(tmp_path, "LockedKeyring"))
    assert "\x1b" not in caught.value.title
    assert "variable" in caught.value.hint
    (tmp_path / "ring.json").unlink()
    with pytest.raises(SettingsError, match="no longer in the keyring"):
        await found_in(store_with(tmp_path, "KeyringOfFile"))
    remark = await store_with(tmp_path, "LockedKeyring").forget(NAME)
    assert "may hold it still" in remark
    assert store_with(tmp_path, NONE).places() == {}


async def test_a_secret_never_stands_in_arguments_of_a_process(tmp_path: Path) -> None:
    store = store_with(tmp_path, "HangingKeyring", patience=PATIENCE)
    os.mkfifo(tmp_path / "ring.json")
    keeping = asyncio.create_task(store.keep(NAME, SECRET))
    async with asyncio.timeout(PATIENCE):
        asked = psutil.Process(int(await asyncio.to_thread((tmp_path / "ring.json").read_text)))
    assert SECRET not in " ".join(asked.cmdline())
    assert SECRET not in str(asked.environ())
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert not psutil.pid_exists(asked.pid)  # who gives up waiting leaves nothing behind


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
async def test_a_file_that_others_can_read_or_write_is_refused(mode: int, tmp_path: Path) -> None:
    store = store_with(tmp_path, NONE)
    store.keep_in_file(NAME, SECRET)
    store.path.chmod(mode)
    with pytest.raises(SettingsError, match=r"can be (read|written) by others") as caught:
        await found_in(store)
    assert str(store.path) in caught.value.title
    with pytest.raises(SettingsError, match="by others"):
        store.keep_in_file("jupyter:http://other.test", SECRET)


async def test_a_file_of_somebody_else_a_link_and_nonsense_are_refused(tmp_path: Path) -> None:
    store_with(tmp_path, NONE).keep_in_file(NAME, SECRET)
    if os.getuid() == 0:
        os.chown(tmp_path / "credentials.toml", 65534, 65534)
        with pytest.raises(SettingsError, match="belongs to somebody else"):
            await found_in(store_with(tmp_path, NONE))
        os.chown(tmp_path / "credentials.toml", 0, 0)
    else:
        with pytest.raises(SettingsError, match="belongs to somebody else"):
            await found_in(store_with(tmp_path, NONE, owner=os.getuid() + 1))
    (tmp_path / "credentials.toml").rename(tmp_path / "elsewhere.toml")
    (tmp_path / "credentials.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(SettingsError, match="is a link"):
        await found_in(store_with(tmp_path, NONE))
    (tmp_path / "credentials.toml").unlink()
    (tmp_path / "elsewhere.toml").write_text(f'[entry.x]\nsecret = "{SECRET}"\nplace = "{SECRET}"\n')
    (tmp_path / "elsewhere.toml").rename(tmp_path / "credentials.toml")
    with pytest.raises(SettingsError, match="cannot be read") as caught:
        await found_in(store_with(tmp_path, NONE))
    assert SECRET not in str(caught.value) + repr(caught.value.__cause__)


KEEP_MANY = """
import os, sys
from pathlib import Path
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
for number in range(20):
    CredentialStore(Path(sys.argv[1]), Keyring(), owner=os.getuid()).keep_in_file(f"{sys.argv[2]}{number}", "secret")
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    store = store_with(tmp_path, NONE)
    command = (sys.executable, "-P", "-c", KEEP_MANY, str(store.path))
    writers = [subprocess.Popen((*command, mark)) for mark in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(store.places()) == 40


# --- tokens of Jupyter servers


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name, value in environ_with(NONE, tmp_path / "ring.json").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "data" / "oi-tui"


async def run_command(*words: str, piped: str = "") -> Result:
    """Run `oi-tui kernels` with these words, in a thread: it has a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, kernels, words, input=piped)


async def add(*options: str, piped: str = "") -> tuple[int, str]:
    """Add a server on the command line: the exit code, and what it said."""
    done = await run_command("add", "cluster", "https://hub.test/user/me/", *options, piped=piped)
    return done.exit_code if not isinstance(done.exception, SettingsError) else 2, f"{done.output}{done.exception}"


async def test_a_token_that_an_earlier_version_kept_is_taken_over_once_and_that_is_told(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "servers.toml").write_text(f'[server.old]\nurl = "https://a:b@hub.test/x/"\ntoken = "{SECRET}"\n')
    (home / "servers.toml").chmod(0o600)
    told = await run_command("list")
    assert told.exit_code == 0, told
    assert "The token of old is in" in told.stderr
    assert SECRET not in told.output + (home / "servers.toml").read_text()
    assert "The token of old" not in (await run_command("list")).stderr
    server = KnownServers(home / "servers.toml", owner=os.getuid()).find("old")
    assert server.credential == "jupyter:https://hub.test/x"
    learned: list[tuple[str, str]] = []
    assert await server.find_token({}, lambda *told: learned.append(told)) == SECRET
    assert learned == [("Jupyter token", SECRET)]
    assert (await run_command("remove", "old")).exit_code == 0
    assert SECRET not in (home / "credentials.toml").read_text()


async def test_a_token_is_found_where_it_is_and_goes_to_no_other_address(home: Path) -> None:
    assert (await add("--token-stdin", "--keep-in-file", piped=f"{SECRET}\n"))[0] == 0
    servers = KnownServers(home / "servers.toml", owner=os.getuid())
    server = servers.find("cluster")
    assert server.token == ""
    assert await server.find_token({}, lambda *_: None) == SECRET
    for other in ("https://other.test/user/me/", "http://hub.test/user/me/", "https://hub.test:8443/user/me/"):
        assert await KnownServer(url=other).find_token({}, lambda *_: None) == ""
    (home / "credentials.toml").chmod(0o644)
    with pytest.raises(KernelError, match="can be read by others"):
        await server.find_token({}, lambda *_: None)


async def test_without_a_keyring_and_a_terminal_a_file_needs_a_flag(home: Path) -> None:
    code, said = await add("--token-stdin", piped=f"{SECRET}\n")
    assert code == 2
    assert "is not kept. The keyring cannot be used: there is none on this machine." in said
    assert SECRET not in said
    assert not (home / "servers.toml").exists()
    code, said = await add("--token-stdin", "--keep-in-file", piped=f"{SECRET}\n")
    assert code == 0, said
    assert f"The token is in {home / 'credentials.toml'}, readable by you only" in said
    assert SECRET not in said


async def test_with_a_keyring_no_file_is_asked_about(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "support.keyrings.KeyringOfFile")
    code, said = await add("--token-stdin", piped=f"{SECRET}\n")
    assert code == 0, said
    assert "The token is in the keyring." in said
    assert all(SECRET not in file.read_text() for file in home.iterdir())


async def test_a_token_may_stay_in_a_variable(home: Path) -> None:
    code, said = await add("--token-variable", "HUB_TOKEN")
    assert code == 0, said
    assert not (home / "credentials.toml").exists()


async def test_what_is_there_under_a_name_is_not_replaced_unasked(home: Path) -> None:
    assert (await add("--token-stdin", "--keep-in-file", piped=f"{SECRET}\n"))[0] == 0
    before = (home / "servers.toml").read_text()
    code, said = await add("--token-stdin", "--keep-in-file", piped="another\n")
    assert (code, "cluster exists already" in said) == (2, True)
    assert (home / "servers.toml").read_text() == before
    assert SECRET in (home / "credentials.toml").read_text()
    done = await run_command("add", "cluster", "https://new.test/", "--token-variable", "T", "--replace")
    assert done.exit_code == 0, done
    assert SECRET not in (home / "credentials.toml").read_text()


async def test_a_second_name_of_an_address_does_not_change_its_token_unasked(home: Path) -> None:
    assert (await add("--token-stdin", "--keep-in-file", piped=f"{SECRET}\n"))[0] == 0
    words = ("add", "again", "https://hub.test/user/me/", "--token-stdin", "--keep-in-file")
    done = await run_command(*words, piped="another\n")
    assert "cluster share this address" in str(done.exception)
    assert SECRET in (home / "credentials.toml").read_text()
    assert (await run_command(*words, "--replace", piped="another\n")).exit_code == 0
    assert SECRET not in (home / "credentials.toml").read_text()


async def test_a_token_of_two_lines_is_refused_not_cut(home: Path) -> None:
    code, said = await add("--token-stdin", "--keep-in-file", piped=f"{SECRET}\nmore\n")
    assert (code, "line break" in said) == (2, True)
    assert not (home / "credentials.toml").exists()


def test_nothing_of_ours_is_loaded_from_the_folder_that_we_are_in(tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text("raise SystemExit('loaded from the folder')")
    program = (
        "import asyncio; from oi_tui.app.engine.files.keyring import Keyring\n"
        "try: asyncio.run(Keyring().get('x'))\nexcept Exception as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHON_KEYRING_BACKEND": NONE},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "there is none on this machine", done
