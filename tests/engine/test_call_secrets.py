"""Secrets in the arguments of calls: withheld from the model in whatever spelling JSON has for them."""

import json
from collections.abc import Callable

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.tools.toolbox import Toolbox
from support.tool_calls import answer, call, tool
from support.turns import play

SECRETS = (
    'quo"te and\ttab secretval',
    "bell\a and del\x7f secretval",
    'cr\r and "quote" secretval',
    "caf\u00e9 secretval",
)
SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda secret: json.dumps({"text": secret}),
    lambda secret: json.dumps({"text": secret}, ensure_ascii=False),
    lambda secret: json.dumps({"text": "x", secret: {"deep": [secret]}}),
    lambda secret: '{"text": "' + "".join(f"\\u{ord(letter):04x}" for letter in secret) + '"}',
)


async def sent(secret: str, source: str, *, edits: bool) -> str:
    """All that the model is sent after a call with these arguments."""
    model = FakeModel(answer(*call("{}" if edits else source, size=1000)), "Done.")
    session = Session(
        kernels=FakeKernels(),
        settings=LoopSection(approve="ask"),
        model=model,
        tools=Toolbox([tool(schema={"type": "object"})]),
        redactor=Redactor({"TOKEN": secret}),
    )

    def decide(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            changed = source if edits else None
            session.decide(Decide(request_id=event.request_id, verdict="edit" if edits else "run", source=changed))

    await play(session, session.run("go"), decide)
    messages = model.requests[1].messages
    arguments = (one.arguments for message in messages for one in message.calls)
    return "\n".join([*(message.text for message in messages), *arguments])


@pytest.mark.parametrize("edits", [False, True])
@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("secret", SECRETS)
async def test_U17_a_secret_in_a_call_is_withheld_however_json_spells_it(
    secret: str, spell: Callable[[str], str], edits: bool
) -> None:
    text = await sent(secret, spell(secret), edits=edits)
    assert "secretval" not in text
    assert "\\u0073\\u0065\\u0063" not in text
    assert "[secret withheld: TOKEN]" in text


@pytest.mark.parametrize("secret", SECRETS)
def test_U17_a_secret_that_was_printed_as_json_is_withheld(secret: str) -> None:
    redactor = Redactor({"TOKEN": secret})
    for form in (json.dumps(secret), json.dumps([secret], ensure_ascii=False)):
        assert "secretval" not in redactor.redact(form).text
