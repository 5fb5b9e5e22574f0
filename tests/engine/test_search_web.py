"""`search_web`: engines that are simulated, with keys and without, honest and hostile."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings_section import WebSection
from oi_tui.app.engine.files.credentials import CredentialStore, search_credential
from oi_tui.app.engine.files.keyring import Keyring
from oi_tui.app.engine.testing import FakeKernels
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Tool, ToolFailed
from oi_tui.app.engine.web.search_engines import EngineName, SearchEngine, search_engine
from oi_tui.app.engine.web.search_tool import WebSearch
from oi_tui.app.engine.web.web_tools import web_tools
from support.silent_output import SilentOutput
from support.web_pages import WebPages, moved, page, web_pages

KEY = "brave-key-0123456789"
HITS = [
    {"title": "Bees <strong>fly</strong>", "url": "https://bees.example/", "text": "They\x1b[31m fly.\u202e"},
    {"title": "Script", "url": "javascript:alert(1)", "text": "no"},
    {"title": "Again", "url": "https://bees.example/#top", "text": "no"},
    {"title": None, "url": "https://wasps.example/a?b=1", "text": "w" * 5_000},
    "nonsense",
]


def hits(title: str, text: str) -> list[Any]:
    return [
        {title: hit["title"], "url": hit["url"], text: hit["text"]} if isinstance(hit, dict) else hit for hit in HITS
    ]


ANSWERS: dict[EngineName, Any] = {
    "brave": {"web": {"results": hits("title", "description")}},
    "kagi": {"data": hits("title", "snippet")},
    "searxng": {"results": hits("title", "content")},
}


def engine(name: EngineName, url: str) -> SearchEngine:
    """The engine, simulated there."""
    return SearchEngine(name, f"The {name}", f"{url}/search", needs_key=name != "searxng")


def searching(tmp_path: Path, name: EngineName, pages: WebPages, environ: dict[str, str] | None = None) -> WebSearch:
    store = CredentialStore(tmp_path / "credentials.toml", Keyring({}), owner=tmp_path.stat().st_uid)
    return WebSearch(engine(name, pages.url), store, environ or {}, lambda name, key: learned.append(key))


learned: list[str] = []


async def find(search: WebSearch, query: str = "bees & wasps", **more: Any) -> str:
    async with asyncio.timeout(20):
        return await search.run({"query": query, **more}, SilentOutput())


@pytest.mark.parametrize(
    ("name", "header", "asked"),
    [
        ("brave", f"X-Subscription-Token: {KEY}", "GET /search?q=bees+%26+wasps&count=8"),
        ("kagi", f"Authorization: Bot {KEY}", "GET /search?q=bees+%26+wasps&limit=8"),
        ("searxng", "Accept: application/json", "GET /search?q=bees+%26+wasps&format=json"),
    ],
)
async def test_W10_hits_of_each_engine_are_safe_bounded_and_marked(
    tmp_path: Path, name: EngineName, header: str, asked: str
) -> None:
    async with web_pages({"/search": page(json.dumps(ANSWERS[name]), "application/json")}) as pages:
        environ = {"BRAVE_API_KEY": KEY, "KAGI_API_KEY": KEY}
        text = await find(searching(tmp_path, name, pages, environ))
    assert pages.asked == [asked]
    assert header in pages.heads[0]
    assert (KEY in pages.heads[0]) == (name != "searxng")
    assert text.startswith(f"The {name} found 2 pages\n[What stands between")
    assert "1. Bees fly\nhttps://bees.example/\nThey fly." in text
    assert "2. \nhttps://wasps.example/a?b=1\n" + "w" * 500 + "\n---" in text
    assert "javascript" not in text


async def test_W10_a_kept_key_is_used_and_learned_before_and_none_is_said(tmp_path: Path) -> None:
    learned.clear()
    async with web_pages({"/search": page(json.dumps(ANSWERS["brave"]), "application/json")}) as pages:
        search = searching(tmp_path, "brave", pages)
        with pytest.raises(ToolFailed, match="There is no key of The brave"):
            await find(search)
        assert pages.asked == []
        search.store.keep_in_file(search_credential("brave"), KEY)
        assert "found 2 pages" in await find(search)
    assert learned == [KEY]
    assert KEY in pages.heads[0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (page("{}", status="401 Unauthorized"), "401: the key is not accepted"),
        (page("{}", status="429 Too Many"), "429: too many requests"),
        (page("<html>", "text/html"), "not answer in JSON"),
        (page('{"web": 7}', "application/json"), "another form"),
        (page("[" * 100_000, "application/json"), "not answer in JSON"),
        (page(b"\xff\xfe{", "application/json"), "not answer in JSON"),
        (page(b"1" * 3_000_000, "application/json"), "more than 2 MB"),
        (moved("http://127.0.0.1:1/steal"), "sends us to another page"),
        (b"nothing", "."),
    ],
)
async def test_W10_an_engine_that_answers_wrongly_is_named_and_gets_no_second_request(
    tmp_path: Path, answer: bytes, said: str
) -> None:
    async with web_pages({"/search": answer}) as pages:
        with pytest.raises(ToolFailed) as caught:
            await find(searching(tmp_path, "brave", pages, {"BRAVE_API_KEY": KEY}))
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(pages.asked) == 1


async def test_W10_an_empty_answer_says_so(tmp_path: Path) -> None:
    async with web_pages({"/search": page('{"type": "search"}', "application/json")}) as pages:
        search = searching(tmp_path, "brave", pages, {"BRAVE_API_KEY": KEY})
        assert await find(search) == "The brave found nothing."


def tools_of(tmp_path: Path, section: WebSection) -> dict[str, Tool]:
    store = CredentialStore(tmp_path / "credentials.toml", Keyring({}), owner=0)
    ties = ToolTies(session_id=str, blocks=tuple, emit=lambda event: None, kernels=FakeKernels())
    return {tool.name: tool for tool in web_tools(section, {}, store, lambda name, key: None)(ties)}


def test_W10_a_search_is_offered_where_one_is_set_up(tmp_path: Path) -> None:
    assert list(tools_of(tmp_path, WebSection())) == ["fetch_url"]
    assert list(tools_of(tmp_path, WebSection(fetch=False))) == []
    found = tools_of(tmp_path, WebSection(search="searxng", search_url="http://searx.test:8080/search"))
    assert list(found) == ["fetch_url", "search_web"]
    facts = found["search_web"].facts('{"query": "x"}')
    assert "asks searx.test:8080" in [risk.what for risk in facts.risks]
    assert facts.hosts == ("searx.test",)
    with pytest.raises(SettingsError, match=r"web\.search_url"):
        tools_of(tmp_path, WebSection(search="searxng"))
    with pytest.raises(SettingsError, match=r"web\.private"):
        tools_of(tmp_path, WebSection(private=("http://x/",)))


def test_W10_the_real_engines_are_asked_by_https() -> None:
    assert search_engine("brave").endpoint.startswith("https://api.search.brave.com/")
    assert search_engine("kagi").endpoint.startswith("https://kagi.com/")
    assert search_engine("searxng", "https://s.example/search/").endpoint == "https://s.example/search"
