"""Servers of tools that lie, flood, hang or die: each costs one notice, and what it does comes to nothing."""

import asyncio
from pathlib import Path

import pytest

from oi_tui.app.engine.tools.tool import ToolFailed
from support.mcp_servers import Said, joined, scripted

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
