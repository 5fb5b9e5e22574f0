"""A model that is a file: what a script may say, and what nobody can do with one."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    TextDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.models.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from support.script import Script


def ask(text: str) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=text),))


async def deltas(model: ScriptedModel, text: str = "hi") -> list[Delta]:
    return [delta async for delta in model.stream(ask(text))]


def spoken(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def test_a_script_answers_in_order_repeats_its_last_answer_and_begins_anew_when_it_changes(
    script: Script,
) -> None:
    model = ScriptedModel(f"fake/{script.path}")
    script.write("one", ScriptedAnswer(text="two and more", chunk=5))
    assert [spoken(await deltas(model)) for _ in range(3)] == ["one", "two and more", "two and more"]
    script.write("other", "last")
    assert spoken(await deltas(model)) == "other"
    assert await deltas(model, "12345") == [
        TextDelta(text="last"),
        AnswerUsage(input_tokens=2, output_tokens=1, cost=0.0),
        AnswerEnded(),
    ]


async def test_an_answer_calls_tools_behind_its_text(script: Script) -> None:
    script.write(ScriptedAnswer(text="Now.", calls=(ScriptedCall(tool="clock", arguments={"zone": "UTC"}),)))
    first, call, *_ = await deltas(ScriptedModel(f"fake/{script.path}"))
    assert (first, call) == (
        TextDelta(text="Now."),
        ToolDelta(index=0, id="call-1-0", name="clock", arguments='{"zone":"UTC"}'),
    )


async def test_what_was_asked_is_recorded_only_where_somebody_put_a_file_for_it(script: Script, tmp_path: Path) -> None:
    await deltas(ScriptedModel(f"fake/{script.path}"), "noted")
    assert [request["messages"][-1]["content"] for request in script.requests] == ["noted"]
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "script").write_text('["Hello."]')
    await deltas(ScriptedModel(f"fake/{folder}/script"))
    assert [path.name for path in folder.iterdir()] == ["script"]


async def test_a_record_that_leads_elsewhere_is_not_written_to(script: Script, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    record = script.path.with_name("script.requests")
    record.unlink()
    record.symlink_to(victim)
    with pytest.raises(ModelError, match="cannot be written"):
        await deltas(ScriptedModel(f"fake/{script.path}"))
    assert victim.read_text() == "mine"


async def test_an_answer_that_pauses_goes_on_when_it_is_released(script: Script) -> None:
    script.write(ScriptedAnswer(text="before after", chunk=7, pause_after=1))
    answer = ScriptedModel(f"fake/{script.path}").stream(ask("hi"))
    assert await anext(answer) == TextDelta(text="before ")
    rest = asyncio.ensure_future(anext(answer))
    done, _ = await asyncio.wait([rest], timeout=0.1)
    assert not done
    script.release()
    assert await asyncio.wait_for(rest, 5) == TextDelta(text="after")
    await answer.aclose()


async def test_an_answer_breaks_off_with_its_error(script: Script) -> None:
    script.write(ScriptedAnswer(text="half", error="It broke."), ScriptedAnswer(error="Out of order."))
    model = ScriptedModel(f"fake/{script.path}")
    for kind, title in (("cut", "It broke."), ("server", "Out of order.")):
        with pytest.raises(ModelError, match=title) as raised:
            await deltas(model)
        assert raised.value.kind == kind


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no script"),
        ("[]", "has no answer"),
        ("{}", "is no script"),
        ("[1]", "is no script"),
        ('[{"txet": "x"}]', "txet"),
        ('[{"text": "x", "chunk": 0}]', "impossible"),
        ("[" * 5000, "is no script"),
        ('["' + "x" * 1_000_001 + '"]', "is larger than"),
    ],
)
def test_what_is_no_script_is_said_in_plain_words(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "script"
    path.write_text(text)
    with pytest.raises(ModelError, match=why) as raised:
        ScriptedModel(f"fake/{path}")
    assert "JSON list" in raised.value.hint


def test_a_script_is_a_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name, why in (("pipe", "no plain file"), ("link", "is a link"), ("none", "no script"), ("", "no plain file")):
        with pytest.raises(ModelError, match=why):
            ScriptedModel(f"fake/{tmp_path / name}")


async def test_only_the_name_chooses_a_script_which_shows_and_is_not_remembered(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(script.path.parent))
    models = Models(ModelSection(), environ={}, weights=Weights())
    model = await models.open(script.name)
    assert model.name == script.name
    assert not models.is_embedded(script.name)
    assert not models.can_open(script.name)
    with pytest.raises(ModelError, match="no script"):
        await models.open("fake/nothing")
    await models.close()


def test_a_script_loads_no_model_library(script: Script) -> None:
    program = (
        "import asyncio, sys\n"
        "from oi_tui.app.engine.models.model_source import Models\n"
        "from oi_tui.app.engine.local.weights import Weights\n"
        "from oi_tui.app.engine.core.settings import ModelSection\n"
        "asyncio.run(Models(ModelSection(), environ={}, weights=Weights()).open(sys.argv[1]))\n"
        "print([name for name in ('litellm', 'openai', 'httpx') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"fake/{script.path}"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_scripts_are_written_as_they_are_read() -> None:
    answers = ["a", ScriptedAnswer(text="b", pace=5)]
    assert msgspec.json.decode(msgspec.json.encode(answers), type=list[str | ScriptedAnswer]) == answers
