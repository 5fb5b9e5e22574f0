"""What the policy says of calls: what may destroy something, and which paths their arguments lead to."""

import json
from typing import Any

import pytest

from oi_tui.app.engine.core.values import Confinement, PermissionMode
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.reading import Risk, SourceFacts
from oi_tui.app.engine.policy.risks import labels
from oi_tui.app.engine.policy.rules import Base, Effect, short_form
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities
from support.tool_calls import answer, ask_once, call, calls, make, tool

BASE = Base(cwd="/work", home="/home/me")
WRITES = Capabilities(network=False)
POLICY = Policy(mode="unlessDestructive", base=BASE)


# -- what may destroy something ----------------------------------------------------------------------------------


async def test_a_tool_that_writes_without_a_sandbox_is_asked_about_though_everything_else_runs() -> None:
    session = make(FakeModel(answer(*call()), "Done."), tool(capabilities=WRITES), policy=POLICY)
    (asked,) = await ask_once(session, "run")
    assert asked.why == (
        "asked because of what it does: it may change or delete files or data (permitted by --allow-destructive or a "
        "rule for Tool(shout))"
    )
    assert asked.labels == ("runs without a sandbox", "may change or delete files or data")


async def test_where_nobody_can_be_asked_such_a_call_does_not_run() -> None:
    session = make(FakeModel(answer(*call()), "Well."), tool(capabilities=WRITES), policy=POLICY, can_ask=False)
    assert await ask_once(session, "run") == []
    assert [block.state for block in calls(session)] == ["refused"]


@pytest.mark.parametrize(
    ("capabilities", "confinement", "policy"),
    [
        (Capabilities(destroys=False), Confinement(), POLICY),
        (Capabilities(writes=False), Confinement(), POLICY),
        (Capabilities(), Confinement(sandboxed=True), POLICY),
        (Capabilities(), Confinement(), Policy(mode="unlessDestructive", allow_destructive=True)),
        (Capabilities(), Confinement(), Policy(mode="unlessDestructive", rules=(short_form("Tool(shout)", "allow"),))),
    ],
)
async def test_a_promise_a_sandbox_or_a_person_who_wants_it_lets_it_run(
    capabilities: Capabilities, confinement: Confinement, policy: Policy
) -> None:
    bold = tool(capabilities=capabilities, confinement=confinement)
    session = make(FakeModel(answer(*call()), "Done."), bold, policy=policy)
    assert await ask_once(session, "skip") == []
    assert [block.state for block in calls(session)] == ["ok"]


# -- which paths the arguments lead to ---------------------------------------------------------------------------

DENIED = "/protected/f"
LEADS_THERE = [
    {"files": {DENIED: "…"}},
    {DENIED: 1},
    f"{DENIED}\n",
    f"\t {DENIED} ",
    f"file://{DENIED}",
    f"FILE://localhost{DENIED}",
    "file:/protected/f",
    "file:///%70rotected/f?x#y",
    f"--out={DENIED}",
    f"--set=a={DENIED}",
    "~/../../protected/f",
    "/protected/a\nb",
]
HIDES_IT = [
    f"--- a\n+++ {DENIED}",
    "sqlite:////protected/f",
    f"https:///{DENIED}",
    f"cp a {DENIED}",
    f"-o{DENIED}",
    f"@{DENIED}",
    f"'{DENIED}'",
    "a\nb",
]
FREE = ["/work/f", "https://example.org/protected/g", "My file.txt", "", "a=b"]


def verdict_on(
    value: object, *rules: tuple[str, Effect], own: tuple[str, ...] = (), mode: PermissionMode = "auto"
) -> str:
    bold = tool(capabilities=WRITES)
    source = json.dumps({"text": value})
    made = tuple(short_form(rule, effect) for rule, effect in (("Tool(shout)", "allow"), *rules))
    policy = Policy(mode=mode, rules=made, base=BASE, own=own)
    return decide(PolicyRequest("", source, tool="shout", reading=bold.facts(source)), policy).verdict


@pytest.mark.parametrize("value", LEADS_THERE)
def test_a_rule_that_denies_a_path_holds_however_an_argument_spells_it(value: object) -> None:
    assert verdict_on(value, ("Edit(/protected/**)", "deny")) == "deny"
    assert verdict_on(value, ("Read(/protected/**)", "deny")) == "deny"


@pytest.mark.parametrize("value", HIDES_IT)
def test_an_argument_that_may_lead_where_a_rule_denies_is_asked_about(value: object) -> None:
    assert verdict_on(value, ("Edit(/protected/f)", "deny")) == "ask"


@pytest.mark.parametrize("value", FREE)
def test_an_argument_that_leads_elsewhere_runs_as_the_rule_allows(value: object) -> None:
    assert verdict_on(value, ("Edit(/protected/f)", "deny"), ("Shell(rm *)", "deny")) == "allow"


@pytest.mark.parametrize("value", [*LEADS_THERE, f"cp a {DENIED}", f"@{DENIED}", f"--- a\n+++ {DENIED}"])
def test_an_argument_that_leads_to_our_settings_is_asked_about_in_every_mode(value: object) -> None:
    assert verdict_on(value, own=("/protected",), mode="bypassPermissions") == "ask"


@pytest.mark.parametrize("value", ["~/.ssh/id_rsa\n", {"~/.ssh/id_rsa": 1}, "--key=/home/me/.ssh/id_rsa"])
def test_an_argument_that_names_a_place_of_secrets_says_so_however_it_is_spelled(value: object) -> None:
    assert "names a place of secrets" in labels(tool().facts(json.dumps({"text": value})))


# -- what a tool says of a call ----------------------------------------------------------------------------------


def leave(arguments: Arguments) -> SourceFacts:
    raise SystemExit(3)


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


def fall_silent(arguments: Arguments) -> SourceFacts:
    raise Mute


@pytest.mark.parametrize(
    "read",
    [
        lambda arguments: None,
        lambda arguments: SourceFacts(places=("x",)),  # type: ignore[arg-type] # what a tool may do all the same
        lambda arguments: SourceFacts(risks=(Risk(1, "x"),)),  # type: ignore[arg-type] # what a tool may do all the same
        lambda arguments: "nothing",
        leave,
        fall_silent,
    ],
)
async def test_what_a_tool_says_of_a_call_and_does_not_fit_is_a_part_that_cannot_be_read(read: Any) -> None:
    facts = tool(read=read).facts("{}")
    assert [part.why.startswith("arguments that cannot be read") for part in facts.unread] == [True]
    assert "runs without a sandbox" in labels(facts)
    session = make(FakeModel(answer(*call()), "Done."), tool(read=read), approve="ask")
    (asked,) = await ask_once(session, "run")
    assert any(label.startswith("arguments that cannot be read") for label in asked.labels)
