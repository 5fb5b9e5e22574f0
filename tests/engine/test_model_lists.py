"""What servers have: live lists in four dialects, each with its own deadline, and the last one with its age."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.models.hosted import ListForm
from oi_tui.app.engine.models.keys import ModelKeys
from oi_tui.app.engine.models.listed_models import ListedModel, describe_model, read_models
from oi_tui.app.engine.models.model_list import (
    ListCache,
    ModelList,
    configured_places,
    fetch_list,
    fetch_lists,
    list_models,
    price_models,
)
from oi_tui.app.engine.models.model_servers import ModelPlace, find_servers, server_place
from oi_tui.app.engine.models.offers import sibling_offers
from oi_tui.app.subcommands.models import models
from support.openai_server import OpenAIServer, read_request, write_json

Answer = Callable[[str], Any]


class ListServer:
    """Answers what it is given for a path; None is 404. Hangs while `hangs`."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.answer = answer
        self.hangs = False
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        _, path, headers, _ = await read_request(reader)
        self.asked.append((path, headers))
        if self.hangs:
            await reader.read()
        else:
            said = self.answer(path)
            write_json(writer, 404 if said is None else 200, said)
        writer.close()


@asynccontextmanager
async def list_server(answer: Answer) -> AsyncIterator[ListServer]:
    server = ListServer(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield server


def no_keys(folder: Path, **environ: str) -> ModelKeys:
    store = CredentialStore(folder / "credentials.toml", Keyring(os.environ), owner=os.getuid())
    return ModelKeys(store, environ, lambda name, key: None)


@pytest.mark.parametrize(
    ("form", "answer", "read"),
    [
        ("openai", {"data": [{"id": "a"}, {"id": "text-embedding-3"}, {"id": 5}, 7]}, [ListedModel(name="a")]),
        (
            "openai",  # OpenRouter
            {
                "data": [
                    {
                        "id": "x/y",
                        "name": "X: Y",
                        "context_length": 200_000,
                        "pricing": {"prompt": "0.000003", "completion": "0.000015"},
                        "architecture": {"input_modalities": ["text", "image"]},
                        "supported_parameters": ["tools"],
                    },
                    {"id": "auto", "pricing": {"prompt": "-1", "completion": "lots"}},
                ]
            },
            [
                ListedModel(name="x/y", context=200_000, input_price=3.0, output_price=15.0, images=True, tools=True),
                ListedModel(name="auto"),
            ],
        ),
        (
            "openai",  # Mistral
            {"data": [{"id": "m", "context_window": 8, "capabilities": {"vision": False, "function_calling": True}}]},
            [ListedModel(name="m", context=8, images=False, tools=True)],
        ),
        ("openai", {"data": [{"id": "v", "max_model_len": 4096}]}, [ListedModel(name="v", context=4096)]),  # vLLM
        (
            "openai",
            {"data": [{"id": "h", "context_length": 10**400, "pricing": {"prompt": 10**400, "completion": "1e999"}}]},
            [ListedModel(name="h")],
        ),
        ("anthropic", {"data": [{"id": "c", "display_name": "C", "type": "model"}]}, [ListedModel(name="c")]),
        (
            "gemini",
            {
                "models": [
                    {"name": "models/g", "inputTokenLimit": 9, "supportedGenerationMethods": ["generateContent"]},
                    {"name": "models/aqa", "supportedGenerationMethods": ["generateAnswer"]},
                ]
            },
            [ListedModel(name="g", context=9)],
        ),
        ("ollama", {"models": [{"name": "l:3b", "model": "l:3b"}]}, [ListedModel(name="l:3b")]),
    ],
)
def test_m3_lists_of_all_dialects_are_read(form: ListForm, answer: Any, read: list[ListedModel]) -> None:
    found = read_models(form, answer)
    assert [(one.name, one.context, one.images, one.tools) for one in found] == [
        (one.name, one.context, one.images, one.tools) for one in read
    ]
    assert [one.input_price for one in found] == pytest.approx([one.input_price for one in read])


@pytest.mark.parametrize("answer", [None, [], {"data": 5}, {"models": "x"}, {}, "text"])
def test_m3_what_is_no_list_is_none(answer: Any) -> None:
    with pytest.raises(ValueError, match="not a list"):
        read_models("openai", answer)


async def test_m3_a_slow_server_has_its_own_deadline_and_its_last_list_is_shown_with_its_age(tmp_path: Path) -> None:
    cache = ListCache(tmp_path / "lists")
    async with list_server(lambda _: {"data": [{"id": "one"}]}) as quick, list_server(lambda _: {"data": []}) as slow:
        slow.answer = lambda _: {"data": [{"id": "two"}]}
        places = [server_place("", f"{one.url}/v1", "openai") for one in (quick, slow)]
        fresh = await fetch_lists(places, no_keys(tmp_path), {}, patience=20, cache=cache)
        assert [(one.models[0].name, one.trouble) for one in fresh] == [("one", ""), ("two", "")]
        slow.hangs = True
        lists = await fetch_lists(places, no_keys(tmp_path), {}, patience=0.5, cache=cache)
        assert [(one.models[0].name, one.trouble) for one in lists] == [("one", ""), ("two", "did not answer in 0.5 s")]
        assert lists[1].fetched == fresh[1].fetched
        old = list(sibling_offers(lists[1], "openai/two", ""))
        assert old[0].detail == "list of now"
        assert (await fetch_list(places[1], None, {}, patience=0.1)).models == (), "nothing was ever kept of it"
    gone = await fetch_list(places[0], None, {}, patience=20, cache=cache)
    assert "nothing listens there" in gone.trouble
    assert gone.models[0].name == "one"
    usual = ModelPlace(title="x", provider="openai", base=places[0].base, is_usual=True)
    assert await fetch_lists([usual], no_keys(tmp_path), {}) == [], "nobody named it, and it is not there"


@pytest.mark.parametrize(
    ("form", "header", "value"),
    [
        ("openai", "authorization", "Bearer s3cret"),
        ("anthropic", "x-api-key", "s3cret"),
        ("gemini", "x-goog-api-key", "s3cret"),
    ],
)
async def test_m3_a_key_is_sent_as_each_provider_wants_it_and_never_in_the_address_or_the_cache(
    form: ListForm, header: str, value: str, tmp_path: Path
) -> None:
    cache = ListCache(tmp_path)
    async with list_server(lambda _: {"data": [{"id": "a"}]}) as server:
        place = ModelPlace(title="x", provider="x", base=server.url, form=form)
        await fetch_list(place, "s3cret", {}, cache=cache, patience=20)
        ((path, headers),) = server.asked
    assert headers[header] == value
    assert "s3cret" not in path + "".join(file.read_text() for file in tmp_path.iterdir())


async def test_m3_an_ollama_server_is_asked_what_each_of_its_models_can_do() -> None:
    def answer(path: str) -> Any:
        if path == "/api/tags":
            return {"models": [{"name": "l"}, {"name": "big:cloud"}]}
        return {"capabilities": ["tools", "vision"], "model_info": {"llama.context_length": 8192}}

    async with list_server(answer) as server:
        found = await fetch_list(server_place("Ollama", server.url, "ollama"), None, {}, patience=20)
    assert describe_model(found.models[0]) == "8k · free · vision, tools"
    assert found.models[1].input_price is None, "what runs elsewhere costs something"


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("gpu:11500", "http://gpu:11500"),
        ("gpu", "http://gpu:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":11500", "http://127.0.0.1:11500"),
        ("[::]:11500", "http://[::1]:11500"),
        ("https://gpu.test/ollama/", "https://gpu.test/ollama"),
    ],
)
def test_m3_ollama_is_looked_for_where_its_variable_says(given: str, base: str) -> None:
    places = find_servers({"OLLAMA_HOST": given})
    assert [place.base for place in places if place.form == "ollama"] == [base]


async def test_m3_servers_on_other_ports_and_hosts_are_named_in_settings_or_environment(tmp_path: Path) -> None:
    environ = {"HOSTED_VLLM_API_BASE": "http://gpu.test:9000/v1", "OPENAI_BASE_URL": "http://gateway.test/v1"}
    places = configured_places(
        ModelSection(name="m", api_base="http://own.test/v1/", servers=("http://127.0.0.1:9999/v1", "box:11434")),
        no_keys(tmp_path, OPENAI_API_KEY="k", **environ),
        environ,
    )
    named = [(place.base, place.form) for place in places if not place.is_usual]
    assert named == [
        ("http://gateway.test/v1", "openai"),
        ("http://own.test/v1", "openai"),
        ("http://gpu.test:9000/v1", "openai"),
        ("http://127.0.0.1:9999/v1", "openai"),
        ("http://box:11434", "ollama"),
    ]


@pytest.mark.parametrize(
    ("name", "listed"), [("strong-1", ["strong-1", "openai/a/b"]), ("openai/x", ["openai/strong-1", "openai/a/b"])]
)
async def test_m3_all_models_of_the_server_in_use_are_listed_as_they_are_named(name: str, listed: list[str]) -> None:
    with OpenAIServer(models=("strong-1", "a/b", "text-embed")) as server:
        section = ModelSection(name=name, api_base=server.url)
        found = await list_models(section, "k", {}, patience=10)
        assert found is not None
        assert [offer.id for offer in sibling_offers(found, name, server.url)] == listed
    found = await list_models(section, "k", {}, patience=10)
    assert found is not None
    assert found.models == ()


def test_m7_prices_of_the_settings_are_in_the_list() -> None:
    listed = (ListedModel(name="a", input_price=1.0, output_price=1.0), ListedModel(name="b"))
    found = price_models(ModelList(title="x", provider="groq", models=listed), {"groq/a": (0.0, 2.0)})
    assert [(one.input_price, one.output_price) for one in found.models] == [(0.0, 2.0), (None, None)]


def test_m3_the_command_prints_a_table_or_json_and_says_who_did_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    for name in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path))
    with OpenAIServer(models=("strong-1", "evil\x1b[2J")) as server:
        monkeypatch.setenv("OI_TUI_API_BASE", server.url)
        monkeypatch.setenv("OI_TUI_MODEL", "strong-1")
        shown = CliRunner().invoke(models, ["list"])
        (strong, _) = json.loads(CliRunner().invoke(models, ["list", "--json", "--provider", str(server.port)]).stdout)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[0].split() == [
        "provider",
        "model",
        "context",
        "in",
        "out",
        "vision",
        "tools",
        "list",
    ]
    assert re.search(rf"^on port {server.port} +strong-1 +now$", shown.stdout, re.MULTILINE)
    assert "\x1b" not in shown.stdout
    assert (strong["model"], strong["api_base"], strong["trouble"]) == ("openai/strong-1", server.url, "")
    gone = CliRunner().invoke(models, ["list", "--json"])
    assert json.loads(gone.stdout)[0]["trouble"].startswith("cannot be reached: nothing listens there")
    assert "Its list of now is shown." in gone.stderr
    slip = CliRunner().invoke(models, ["list", "--provider", "antropic"])
    assert "Did you mean anthropic" in str(getattr(slip.exception, "hint", ""))
    unknown = CliRunner().invoke(models, ["list", "--provider", "mistral"])
    assert "oi-tui auth set mistral" in str(getattr(unknown.exception, "hint", ""))


async def test_m3_a_provider_that_a_variable_leads_elsewhere_is_asked_there_and_gets_its_key_nowhere_else(
    tmp_path: Path,
) -> None:
    async with list_server(
        lambda path: {"data": [{"id": "of-the-gateway"}]} if path == "/v1/models" else None
    ) as there:
        environ = {
            "OPENAI_BASE_URL": f"{there.url}/v1/",
            "OPENAI_API_KEY": "of-the-gateway",
            "ANTHROPIC_BASE_URL": there.url,
            "ANTHROPIC_API_KEY": "another",
        }
        keys = no_keys(tmp_path, **environ)
        places = configured_places(ModelSection(), keys, environ)
        assert not any("api.openai.com" in one.base or "api.anthropic.com" in one.base for one in places)
        (asked,) = [one for one in places if one.base == f"{there.url}/v1"]
        (found,) = await fetch_lists([asked], keys, environ)
    assert (found.trouble, [found.full_name(one) for one in found.models]) == ("", ["openai/of-the-gateway"])
    assert there.asked[0][1]["authorization"] == "Bearer of-the-gateway"
