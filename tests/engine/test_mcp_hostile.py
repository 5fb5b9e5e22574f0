"""Servers of tools that lie, flood, hang or die: each costs one notice, and what it does comes to nothing."""

import asyncio
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import DecisionRequested, TurnEnded
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.verbs import Decide, Open, Submit
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import ToolFailed
from oi_tui.app.engine.trust.change_scan import FolderScanner
from support.front import engine
from support.kinds import narrow, of
from support.mcp_servers import Said, Stage, joined, scripted
from support.tool_calls import answer, call

GONE = "cannot be used"
ODD = "that are left out or cleaned"

HOSTILE = {
    # at the start
    "death_at_the_start": ("failed", GONE, None),
    "greeting_that_is_none": ("failed", "not what the protocol has", None),
    "unknown_version": ("failed", GONE, None),
    "line_without_end": ("failed", "more than 10,000,000 bytes", None),
    "nonsense_flood": ("failed", "what is no message", None),
    "no_text_at_all": ("ready", "what is no text", "echo: hi"),
    "no_messages": ("ready", "what is no message", "echo: hi"),
    "nested_without_end": ("ready", "what is no message", "echo: hi"),
    "question_out_of_nowhere": ("ready", "although nothing was asked of it", "echo: hi"),
    # what it offers
    "list_that_is_none": ("failed", "not what the protocol has", None),
    "endless_list": ("ready", "more than 20 pages", None),
    "circular_list": ("ready", "goes in circles", None),
    "thousands_of_tools": ("ready", "more than 200 tools", None),
    "two_tools_of_one_name": ("ready", ODD, "echo: hi"),
    "escape_sequences_in_a_name": ("ready", ODD, "echo: hi"),
    "escape_sequences_in_a_description": ("ready", ODD, "echo: hi"),
    "hidden_characters_in_a_description": ("ready", ODD, "echo: hi"),
    "reference_bomb": ("ready", ODD, "echo: hi"),
    "reference_to_itself": ("ready", ODD, "echo: hi"),
    "reference_to_elsewhere": ("ready", ODD, "echo: hi"),
    "bottomless_schema": ("ready", ODD, "echo: hi"),
    "huge_schema": ("ready", ODD, "echo: hi"),
    # in a call
    "death_in_a_call": ("failed", "has ended", "it ended before it answered"),
    "progress_flood": ("ready", "more than 200 notifications", "echo: hi"),
    "log_flood": ("ready", "more than 200 notifications", "echo: hi"),
    "change_flood": ("ready", "more than 200 notifications", "echo: hi"),
    "roots_flood": ("ready", "more than 30 requests", "echo: hi"),
    "wrong_id": ("ready", "what was never asked", "echo: hi"),
    "two_answers": ("ready", "what was never asked", "echo: hi"),
    "answer_as_a_text_id": ("ready", "what was never asked", "echo: hi"),
    "result_that_is_none": ("ready", None, "not what the protocol has"),
    "pictures_that_are_none": ("ready", "pictures that are none", "echo: hi"),
    "password_asked": ("ready", "a password or a key", "decline"),
    "address_asked": ("ready", "to an address", "decline"),
    "endless_questions": ("ready", "more than 5 times", "echo: hi"),
    "model_asked": ("ready", "wants to ask the model, which its entry does not allow", "refused"),
    "unknown_request": ("ready", "that no client has", "echo: hi"),
}
"""How each ends: the server's state, the one warning, what the call gives."""


@pytest.mark.parametrize("behaviour", HOSTILE)
async def test_N5_a_server_that_misbehaves_costs_one_notice(behaviour: str, tmp_path: Path) -> None:
    state, notice, result = HOSTILE[behaviour]
    folder = tmp_path / "work"
    folder.mkdir()
    server = scripted(folder, behaviour)
    async with asyncio.timeout(30), joined(folder, server, pauses=()) as stage:
        if result is not None:
            said = Said(*["red"] * 20)
            try:
                text = await stage.call("x__echo", said)
            except ToolFailed as failed:
                text = str(failed)
            assert result in text
        await stage.until(lambda: stage.only.state == state and (stage.warnings or notice is None))
        assert [notice in title for title in stage.warnings] == [True] if notice else not stage.warnings


ALONE = frozenset({"endless_questions", "line_without_end", "result_that_is_none"})
"""What wants answers, sends 11 MB, or costs no notice."""


async def test_N5_what_each_of_many_hostile_servers_does_is_one_line_of_the_audit_log(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    names = {behaviour: f"s{n}" for n, behaviour in enumerate(HOSTILE) if behaviour not in ALONE}
    servers = [scripted(folder, behaviour, name=name) for behaviour, name in names.items()]
    stage = Stage(folder, *servers, pauses=())
    called = [f"{name}__echo" for behaviour, name in names.items() if HOSTILE[behaviour][2] is not None]
    called.sort(key=lambda name: name == f"{names['death_in_a_call']}__echo")  # behind a call that fails there is none
    turns = [called[at : at + 8] for at in range(0, len(called), 8)]
    answers = [answer(*(delta for n, name in enumerate(turn) for delta in call(name=name, index=n))) for turn in turns]
    where = Surroundings(cwd=str(folder), sandbox="read-only")
    trail = AuditTrail(
        folder=tmp_path / "audit", surroundings=where, make_watch=lambda: FolderScanner((), None), sandboxed=True
    )

    def written() -> str:
        return "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "audit").glob("*.jsonl"))

    async with (
        asyncio.timeout(90),
        engine(tmp_path, FakeModel(*answers, "Done."), mcp=stage.servers, trail=trail) as front,
    ):
        await front.client.send(Open())
        await front.client.send(Submit(text="go"))
        while not (ended := of(TurnEnded, front.events)):
            batch = narrow(await front.until(lambda reply: isinstance(reply, Batch)), Batch)
            for question in of(DecisionRequested, batch.events):
                await front.client.send(Decide(request_id=question.request_id, verdict="run"))
        assert ended[0].reason == "done"
    lines = written().splitlines()
    counts = {
        behaviour: sum(f"MCP server {name} " in line and "NoticeWasGiven" in line for line in lines)
        for behaviour, name in names.items()
    }
    assert counts == dict.fromkeys(names, 1)
