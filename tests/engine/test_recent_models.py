"""The choice of a model: what is in use comes first, recent ones follow, no key is written down."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.protocol import ModelOffer, ModelsFound
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.core.verbs import FindModels, Open, UseModel
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.recent_models import (
    TYPED,
    DefaultModels,
    KeyRing,
    RecentModel,
    RecentModels,
    arrange_offers,
)
from oi_tui.app.engine.testing import FakeModel, FakeModels
from support.front import engine

FAR, NEAR = "https://models.example.org/v1", "http://127.0.0.1:9/v1"


def test_the_model_in_use_comes_first_then_its_server_then_recent_ones_and_each_once() -> None:
    key = ModelOffer(id="openai/gpt-5", kind="key", title="OpenAI gpt-5", api_base="")
    tiny = ModelOffer(id="local/tiny", kind="embedded", title="Built-in: Tiny", detail="1 GB", recommended=True)
    current = RecentModel(name="strong-1", api_base=FAR, key=TYPED)
    recent = (current, RecentModel(name="local/tiny"), RecentModel(name="other", api_base=NEAR, key=TYPED))
    siblings = {
        ("strong-1", FAR): [ModelOffer(id=f"strong-{n}", kind="server", title="s", api_base=FAR) for n in (1, 2)],
        ("openai/gpt-5", ""): [ModelOffer(id="openai/gpt-6", kind="server", title="g", detail="8k", api_base="")],
    }
    offers = arrange_offers((key, tiny), current, recent, siblings, recent[-1:])
    assert [(offer.id, offer.current, offer.recent, offer.wants_key) for offer in offers] == [
        ("strong-1", True, False, False),
        ("strong-2", False, False, False),
        ("local/tiny", False, True, False),
        ("other", False, True, True),  # its key was typed in another run of the program
        ("openai/gpt-5", False, False, False),
        ("openai/gpt-6", False, False, False),  # what else its provider has
    ]
    assert offers[0].detail == "in use · models.example.org/v1"
    assert offers[2].detail == "recent · 1 GB"
    keyless = ModelOffer(id="openai/gpt-6", kind="key", title="OpenAI gpt-6", wants_key=True)
    nothing_used = arrange_offers((key, tiny, keyless), RecentModel(name=""), (), {})
    assert [offer.id for offer in nothing_used] == [key.id, tiny.id, TOUR, keyless.id], "the tour needs nothing"


async def test_V22_the_tour_is_not_what_later_sessions_begin_with(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("One."))
    models.can_open = lambda name: name != TOUR
    async with engine(tmp_path, models.model, models=models, name="", api_key=None) as front:
        await front.client.send(Open())
        await front.until(lambda _: bool(front.transcript.session_id))
        await front.client.send(UseModel(name=TOUR))
        await front.until(lambda _: front.transcript.model == TOUR)
    store = Store(tmp_path / "sessions.db")
    assert DefaultModels(store, "/work").find() is None
    assert RecentModels(store).all() == ()
    store.close()


def test_a_key_is_kept_in_memory_and_only_where_it_is_from_is_written_down(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    recent = RecentModels(store)
    keys = KeyRing({"GATEWAY_KEY": "s3cret-of-variable", "OI_TUI_API_KEY": "s3cret-of-ours"})
    assert keys.give(FAR, "$GATEWAY_KEY") == "s3cret-of-variable"
    assert keys.give(NEAR, "s3cret-of-ours") == keys[NEAR]
    keys.give("http://127.0.0.1:8/v1", "s3cret-typed")
    assert [keys.reference(one) for one in (FAR, NEAR, "http://127.0.0.1:8/v1", "")] == [
        "$GATEWAY_KEY",
        "$OI_TUI_API_KEY",
        TYPED,
        "",
    ]
    assert keys.give(FAR, "$NOT_SET") == ""
    for number in range(12):
        recent.note(RecentModel(name=f"m{number % 10}", api_base=FAR, key="$GATEWAY_KEY"))
    assert [one.name for one in RecentModels(store).all()] == ["m1", "m0", "m9", "m8", "m7", "m6", "m5", "m4"]
    store.remember("recent models", '[{"name": 5}]')
    assert recent.all() == ()
    store.close()


async def test_a_recent_model_is_chosen_again_with_its_server_and_a_wrong_one_keeps_what_works(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("One."))
    async with engine(tmp_path, models.model, models=models, name="") as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="first"))
        await front.until(lambda _: front.transcript.model == "first")
        await front.client.send(UseModel(name="strong-1", api_base=NEAR, api_key="s3cret"))
        await front.until(lambda _: front.transcript.model == "strong-1")
        await front.client.send(UseModel(name="local/tiny"))
        await front.until(lambda _: front.transcript.model == "local/tiny")
        await front.client.send(UseModel(name="strong-1"))  # the server it was used on, with its key
        await front.until(lambda _: front.transcript.model == "strong-1")
        assert models.opened[-1] == ("strong-1", NEAR, "s3cret")
        await front.client.send(FindModels())
        found = await front.until(lambda reply: isinstance(reply, ModelsFound) and not reply.more)
        assert isinstance(found, ModelsFound)
        assert [offer.id for offer in found.offers][:3] == ["strong-1", "strong-1-large", "local/tiny"]
        assert (found.offers[0].current, found.default) == (True, "first"), "a choice is no default unasked"
        await front.client.send(UseModel(name="strong-1-large", api_base=NEAR, keep=True))
        await front.until(lambda _: front.transcript.model == "strong-1-large")
        models.fails = ModelError("unknown_model", "It is not clear whose model “x” is.")
        await front.client.send(UseModel(name="x"))
        await front.until(
            lambda _: any(
                isinstance(block, NoticeBlock) and block.title == "Still using strong-1-large."
                for block in front.transcript.blocks
            )
        )
        assert front.transcript.model == "strong-1-large"
    assert b"s3cret" not in b"".join(file.read_bytes() for file in tmp_path.glob("sessions.db*"))
    store = Store(tmp_path / "sessions.db")
    chosen = RecentModel(name="strong-1-large", api_base=NEAR, key=TYPED)
    assert DefaultModels(store, "/work").find() == chosen
    assert RecentModels(store).all()[0] == RecentModel(name="strong-1-large", api_base=NEAR, key=TYPED)
    store.close()


def test_m5_a_choice_is_of_a_folder_and_a_profile_and_keeps_name_server_and_key_together(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    store.remember("model", "old")  # as an earlier version kept it
    store.remember("api_base", FAR)
    assert DefaultModels(store, "/a", "work").find() == RecentModel(name="old", api_base=FAR)
    at_a, at_b = RecentModel(name="a", api_base=NEAR, key="$GATEWAY_KEY"), RecentModel(name="b")
    DefaultModels(store, "/a").put(at_a)
    DefaultModels(store, "/b").put(at_b)
    assert [DefaultModels(store, folder).find() for folder in ("/a", "/b", "/c")] == [at_a, at_b, at_b]
    assert DefaultModels(store, "/a", "work").find() == at_a, "a profile without a choice takes that of the folder"
    with_profile = RecentModel(name="c")
    DefaultModels(store, "/b", "work").put(with_profile)
    assert [DefaultModels(store, folder, "work").find() for folder in ("/a", "/b")] == [with_profile, with_profile]
    assert [DefaultModels(store, folder).find() for folder in ("/a", "/b")] == [at_a, at_b]
    store.close()


async def test_m5_a_new_session_in_the_folder_begins_with_the_choice_and_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "s3cret-of-variable")
    store = Store(tmp_path / "sessions.db")
    DefaultModels(store, "/work").put(RecentModel(name="a", api_base=NEAR, key="$GATEWAY_KEY"))
    DefaultModels(store, "/elsewhere").put(RecentModel(name="b"))
    store.close()
    models = FakeModels(FakeModel("One."))
    async with engine(tmp_path, models.model, models=models, name="", api_key=None) as front:
        await front.client.send(Open())
        await front.until(lambda _: front.transcript.model == "a")
    assert models.opened == [("a", NEAR, "s3cret-of-variable")]
