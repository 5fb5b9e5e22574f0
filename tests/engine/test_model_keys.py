"""Keys of models that are kept: whose they are, where they go, and that nobody sees them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.core.verbs import ForgetKey, Open, UseModel
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.keys import ModelKeys, credential_of, masked_key
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.session.recent_models import KEPT, RecentModel, RecentModels
from oi_tui.app.engine.testing import FakeModel, FakeModels
from oi_tui.app.subcommands.auth import auth
from support.front import engine
from support.openai_server import OpenAIServer

KEY = "of-nobody-else-0123456789"
OTHER = "of-another-one-9876543210"


def keys_in(folder: Path, learned: list[str] | None = None, **environ: str) -> ModelKeys:
    """Keys in a file, for there is no keyring here."""
    store = CredentialStore(folder / "credentials.toml", Keyring(os.environ), owner=os.getuid())
    said = [] if learned is None else learned
    return ModelKeys(store, environ, lambda name, key: said.append(key))


def run_auth(*words: str, typed: str = "", **environ: str) -> Result:
    return CliRunner().invoke(auth, words, input=typed, env=environ, catch_exceptions=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own without keys; gives the file of credentials."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "oi-tui" / "credentials.toml"


def test_m1_a_key_is_set_listed_by_its_last_letters_and_deleted(home: Path) -> None:
    done = run_auth("set", "Anthropic", "--key-stdin", "--keep-in-file", typed=f"{KEY}\n")
    assert (done.exit_code, home.stat().st_mode & 0o777) == (0, 0o600)
    assert f"Anthropic is in {home}, readable by you only" in done.output
    assert run_auth("set", "http://gpu.test:8000/v1/", "--key-stdin", "--keep-in-file", typed=OTHER).exit_code == 0
    listed = run_auth("list").output
    assert [line.split()[:2] for line in listed.splitlines()[1:]] == [
        ["anthropic", "…6789"],
        ["http://gpu.test:8000/v1", "…3210"],
    ]
    assert KEY not in listed + done.output
    assert KEY[:-4] not in listed
    listed = run_auth("list", ANTHROPIC_API_KEY=OTHER).output
    assert "not used: ANTHROPIC_API_KEY is set" in listed, "what counts instead is said"
    assert "$ANTHROPIC_API_KEY" in listed
    assert OTHER not in listed
    assert run_auth("rm", "claude").output == "The API key of Anthropic is deleted.\n"
    assert KEY not in home.read_text()


@pytest.mark.parametrize(
    ("words", "typed", "said"),
    [
        (["set", "anthropicc", "--key-stdin"], KEY, "There is no provider “anthropicc”."),
        (["set", "openai", "--key-stdin"], "with blank 0123456789", "has characters in it that no key has"),
        (["set", "openai", "--key-stdin"], "schlüssel-0123456789", "has characters in it that no key has"),
        (["set", "openai", "--key-stdin"], "\n", "Nothing came on stdin."),
        (["set", "openai", "--key-stdin"], KEY, "The API key is not kept."),  # no keyring, and no yes for a file
        (["rm", "openai"], "", "No API key of OpenAI is kept."),
        (["set", "https://", "--key-stdin"], KEY, "That is no address of a server."),
    ],
)
def test_m1_what_cannot_be_kept_is_refused_in_words_without_the_key(
    home: Path, words: list[str], typed: str, said: str
) -> None:
    done = run_auth(*words, typed=typed)
    assert isinstance(done.exception, SettingsError)
    assert said in done.exception.title
    assert KEY not in done.exception.title + done.exception.hint + done.output
    assert not home.exists()


@pytest.mark.parametrize(("key", "shown"), [("", "…"), ("short-key-1234", "…"), ("k" * 30 + "abcd", "…abcd")])
def test_m1_a_short_key_shows_nothing_of_itself(key: str, shown: str) -> None:
    assert masked_key(key) == shown


async def test_m2_a_kept_key_goes_to_its_own_provider_or_server_only(tmp_path: Path) -> None:
    learned: list[str] = []
    keys = keys_in(tmp_path, learned)
    assert "readable by you only" in await keys.keep("openai", "", KEY)
    assert "readable by you only" in await keys.keep("openai", "https://gateway.test/v1/", OTHER)
    assert await keys.find("openai", "") == KEY
    assert await keys.find("openai", "https://api.openai.com/v1") == KEY, "the provider's own address"
    assert await keys.find("openai", "https://gateway.test/v1") == OTHER
    for base in ("https://gateway.test/v2", "http://gateway.test/v1", "https://gateway.test:8443/v1", "https://a@b:c"):
        assert await keys.find("openai", base) is None, base
    assert await keys.find("anthropic", "") is None
    elsewhere = keys_in(tmp_path, OPENAI_BASE_URL="https://gateway.test/v1")
    assert await elsewhere.find("openai", "") == OTHER, "where the environment leads somewhere else"
    assert await keys_in(tmp_path, OPENAI_BASE_URL="https://bad.test/v1").find("openai", "") is None
    assert await keys_in(tmp_path, OPENAI_API_KEY="of-the-variable").find("openai", "") is None
    assert set(learned) == {KEY, OTHER}
    assert credential_of("HTTPS://user:pw@Gateway.test/v1/chat/completions?x=1") == "server:https://gateway.test/v1"


async def test_m1_a_kept_key_is_sent_at_the_next_start(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        await keys_in(tmp_path).keep("openai", server.url, KEY)
        learned: list[str] = []
        models = Models(ModelSection(), environ={}, weights=Weights(tmp_path), keys=keys_in(tmp_path, learned))
        (listed,) = await models.list_models("scripted", server.url, None)
        assert listed.id == "scripted"
        await models.open("scripted", server.url)
        await models.open("scripted", server.url, OTHER)
        await models.close()
    assert set(learned) == {KEY, OTHER}, "the redactor knows what is used"


def test_m1_a_kept_key_is_in_no_recording_log_or_output(tmp_path: Path, clean_env: dict[str, str]) -> None:
    program = str(Path(sys.executable).with_name("oi-tui"))
    with OpenAIServer() as server:
        server.script(f"Your key is {KEY}.")
        kept = subprocess.run(
            [program, "auth", "set", server.url, "--key-stdin", "--keep-in-file"],
            input=KEY, env=clean_env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert kept.returncode == 0, kept.stderr
        done = subprocess.run(
            [program, "run", "--approve=never", "-m", "scripted", f"--api-base={server.url}", "--record=tape", "hi"],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert server.exchanges[0].headers["authorization"] == f"Bearer {KEY}"
    home = tmp_path / "home"
    files = [file for file in home.rglob("*") if file.is_file() and not file.name.startswith("sessions.db")]
    holding = [file.name for file in (*files, tmp_path / "tape") if KEY.encode() in file.read_bytes()]
    assert holding == ["credentials.toml"], "what the model said of it is withheld in the recording"
    assert "[secret withheld: API key of http://127.0.0.1" in (tmp_path / "tape").read_text()


async def test_m1_a_key_that_was_typed_is_used_again_in_the_session_and_kept_if_that_was_wanted(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("One."))
    async with engine(tmp_path, models.model, models=models, name="") as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="anthropic/a", api_base="", api_key=KEY, keep_key=True))
        await front.until(lambda _: front.transcript.model == "anthropic/a")
        await front.until(lambda _: "kept in the keyring" in str(front.transcript.blocks))
        await front.client.send(UseModel(name="openai/b", api_base="", api_key=OTHER))
        await front.until(lambda _: front.transcript.model == "openai/b")
        await front.client.send(UseModel(name="anthropic/c"))
        await front.until(lambda _: front.transcript.model == "anthropic/c")
    assert models.kept == [("anthropic/a", "", KEY)]
    assert models.opened[-1] == ("anthropic/c", None, KEY)
    store = Store(tmp_path / "sessions.db")
    assert RecentModel(name="anthropic/a", key=KEPT) in RecentModels(store).all()
    store.close()
    assert KEY not in str(front.transcript.blocks)


async def test_m1_a_kept_key_that_is_deleted_is_used_for_no_model_that_is_opened_later(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("One."))
    async with engine(tmp_path, models.model, models=models, name="") as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="anthropic/a", api_base="", api_key=KEY, keep_key=True))
        await front.until(lambda _: "kept in the keyring" in str(front.transcript.blocks))
        await front.client.send(ForgetKey(whose="anthropic"))
        await front.until(lambda _: "The API key of anthropic is deleted." in str(front.transcript.blocks))
        await front.client.send(UseModel(name="anthropic/b"))
        await front.until(lambda _: front.transcript.model == "anthropic/b")
    assert models.opened[-1] == ("anthropic/b", None, None)


async def test_m1_what_is_kept_can_be_deleted_by_its_name_or_address(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    await keys.keep("openai", "", KEY)
    await keys.keep("openai", "https://gateway.test/v1", OTHER)
    models = Models(ModelSection(), environ={}, weights=Weights(tmp_path), keys=keys)
    found = await models.find_models()
    assert found.kept == (("openai", "file"), ("https://gateway.test/v1", "file"))
    for whose, _ in found.kept:
        assert (await models.forget_key(whose))[0].endswith("is deleted.")
    assert keys.places() == {}
    assert (await models.forget_key("openai"))[0] == "No API key of OpenAI is kept."
    set_too = keys_in(tmp_path, OPENAI_API_KEY="of-the-variable")
    await set_too.keep("openai", "", KEY)
    assert (await set_too.forget("openai"))[1] == "OPENAI_API_KEY is still set in the environment."
    await models.close()
