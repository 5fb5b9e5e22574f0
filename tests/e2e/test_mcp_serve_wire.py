"""`oi-tui mcp serve` and an assistant that is hostile, that nobody approves for, or that goes away."""

import asyncio
import json
import os
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from oi_tui.app.engine.core.blocks import CallBlock, CodeBlock, NoticeBlock
from oi_tui.app.engine.core.events import InputRequested, SessionOpened
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.protocol import Detached, Failed, SessionGone
from oi_tui.app.engine.core.verbs import Answer, Decide, Detach, Leave, Open
from oi_tui.app.engine.mcp.wire_reader import LONGEST_LINE, MOST_SCOLDINGS
from oi_tui.app.engine.session.assistant_desk import MOST_WAITING
from oi_tui.app.subcommands.mcp import mcp
from support.assistants import (
    PROGRAM,
    RawProgram,
    ServedPlace,
    StandingAssistant,
    attached_front,
    only_session,
    processes_in,
)
from support.front import Front
from support.kinds import narrow

pytestmark = pytest.mark.kernel

FLOOD = 60
"""Calls at once."""


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServedPlace:
    """The folders of a program that front ends of this process can find."""
    place = ServedPlace(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", place.environ["XDG_STATE_HOME"])
    return place


def test_N16_N17_a_hostile_client_holds_up_nothing_and_nothing_of_it_stays(tmp_path: Path) -> None:
    place = ServedPlace(tmp_path)
    with RawProgram(place, "--yes") as program:
        program.greet()
        program.ask(1, "tools/call", name="run_code", arguments={"code": "print('up')"})
        assert program.until(1)["result"]["content"][0]["text"] == "up"
        for nonsense in (
            b"no message",
            b"[1]",
            b'{"jsonrpc":"1.0"}',
            b"\xff\xfe",
            b"[" * 50_000,
            b'"' + b"x" * LONGEST_LINE,
        ):
            program.say(nonsense)
            assert program.hear()["error"]["code"] == -32700
        for _ in range(200):
            program.say(b"again no message")
        told = 0
        program.ask(2, "ping")
        while (found := program.hear()).get("id") != 2:
            assert found["error"]["code"] == -32700
            told += 1
        assert told == MOST_SCOLDINGS - 6
        for number in range(1_000, 1_000 + FLOOD):  # those that are too many are refused at once
            program.ask(number, "tools/call", name="run_code", arguments={"code": "import time; time.sleep(1)"})
        for _ in range(FLOOD - MOST_WAITING):
            found = program.hear()
            assert found["result"]["isError"]
            assert "are not over yet" in found["result"]["content"][0]["text"]
        for number in range(1_000, 1_000 + FLOOD):
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            program.say(json.dumps(cancelled).encode())
        program.ask(3, "tools/call", name="read_state", arguments={})
        assert json.loads(program.until(3)["result"]["content"][0]["text"])["session"]
        program.ask(4, "tools/call", name="run_code", arguments={"code": "import time; time.sleep(600)"})
        began = time.monotonic()
        assert program.end() == 0
        assert time.monotonic() - began < 20
    assert processes_in(place.folder) == []
    assert not list((place.home / "state/oi-tui/engines").rglob("*.*"))
    ((record, blocks),) = place.sessions()
    assert record.title == "raw 1: print('up')"
    assert next(block.state for block in blocks if isinstance(block, CodeBlock)) == "ok"
    checked = subprocess.run(
        [str(PROGRAM), "audit", "verify"], env=place.environ, capture_output=True, text=True, timeout=60
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{record.id}: intact" in checked.stdout


# -- N15: approval -----------------------------------------------------------------------------------------


async def decide(front: Front, words: str, verdict: Verdict) -> None:
    """Wait for the question about what has these words, and answer it so."""
    while (asked := front.transcript.pending_decision) is None or words not in asked.source:
        await front.until(lambda reply: True)
    await front.client.send(Decide(request_id=asked.request_id, verdict=verdict))


async def test_N15_what_nobody_approves_is_refused_and_an_attached_front_end_is_asked(own_state: ServedPlace) -> None:
    place = own_state
    standing = StandingAssistant(place.environ, place.folder, "--wait", "3", log=place.log)
    assistant = await standing.begin()
    refused = await assistant.call("run_code", code="open('made', 'w').close()")
    live = await only_session()
    assert refused.failed
    assert f"run `oi-tui attach {live.session_id}` in another terminal; nobody did within 3 s" in refused.text
    assert any(f"oi-tui attach {live.session_id}" in told for told in refused.progress)
    assert not (place.folder / "made").exists()
    assert not live.attached

    wanted = asyncio.create_task(assistant.call("run_code", code="6 * 7"))
    async with attached_front(live) as front:
        await front.client.send(Open(session_id=live.session_id))
        await decide(front, "6 * 7", "run")
        assert (await wanted).text == "42"
        assert any(
            isinstance(one, NoticeBlock) and "other-assistant 2.1" in one.title for one in front.transcript.blocks
        )

        wanted = asyncio.create_task(assistant.call("write_file", path="x", content="y"))
        await decide(front, "x", "skip")
        said = await wanted
        assert said.failed
        assert "refused" in said.text
        assert not (place.folder / "x").exists()

        wanted = asyncio.create_task(assistant.call("run_code", code="input('Name? ')"))
        await decide(front, "input", "run")
        question = await front.until_event(InputRequested)
        await front.client.send(Answer(request_id=question.request_id, text="Ada"))
        assert (await wanted).text == "'Ada'"
    # The screen was quit; the assistant goes on, and a question waits for the next one again.
    assert json.loads((await assistant.call("read_state")).text)["user_is_attached"] is False
    again = await only_session()
    assert again.session_id == live.session_id
    async with attached_front(again) as front:
        await front.client.send(Open(session_id=live.session_id))
        wanted = asyncio.create_task(assistant.call("run_code", code="'still here'"))
        await decide(front, "still", "run")
        assert (await wanted).text == "'still here'"
        await front.client.send(Detach())
        left = narrow(await front.until(lambda reply: isinstance(reply, Detached)), Detached)
        assert (left.session_id, left.idle_limit) == (live.session_id, 0.0)  # it does not end for want of work
    async with attached_front(await only_session()) as front:
        await front.client.send(Open(session_id=live.session_id))
        await front.client.send(Open())  # another session beside it, which leaves the assistant's open
        await front.until_event(SessionOpened)
        assert json.loads((await assistant.call("read_state")).text)["session"] == live.session_id
        await front.client.send(Leave(session_id=live.session_id))
        await front.until(lambda reply: isinstance(reply, SessionGone))
        closed = await assistant.call("run_code", code="1")
        assert closed.failed
        assert "closed this session" in closed.text
        await standing.end()
        ended = narrow(await front.until(lambda reply: isinstance(reply, Failed)), Failed)
        assert "has ended" in ended.title
    ((record, blocks),) = place.sessions()
    states = [block.state for block in blocks if isinstance(block, CodeBlock | CallBlock)]
    assert states == ["refused", "ok", "refused", "ok", "ok"]
    assert record.title.startswith("other-assistant 2.1: open(")


@pytest.mark.parametrize("form", ["claude", "codex", "vscode", "zed"])
def test_N14_the_entry_for_another_assistant(form: str) -> None:
    printed = CliRunner().invoke(mcp, ["serve", "--print-config", form])
    assert printed.exit_code == 0
    read = tomllib.loads if form == "codex" else json.loads
    ((servers),) = read(printed.stdout).values()
    entry = servers["oi-tui"]
    assert entry["command"].endswith("oi-tui")
    assert entry["args"] == ["mcp", "serve"]


def test_N14_a_person_who_starts_it_reads_what_it_is_for() -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run([str(PROGRAM), "mcp", "serve"], stdin=theirs, capture_output=True, text=True, timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "--print-config" in done.stderr
    assert done.stdout == ""
