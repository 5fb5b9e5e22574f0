"""How far an "always" reaches: as far as the rule that the question named, never over what has reason to be asked."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.agent.grants import TURN_RULE
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, DecisionRequested, ExecutionStarted
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Confinement, GrantScope, ScopeKind
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.rules import Effect, Rule, short_form
from oi_tui.app.engine.policy.scopes import command_rules
from oi_tui.app.engine.policy.shell import read_shell
from oi_tui.app.engine.policy.taint import Taint
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, ToolOutput
from oi_tui.app.engine.web.fetch_tool import fetch_facts
from support.fuzzing import examples
from support.kinds import of
from support.tool_calls import answer, call, tool
from support.tool_calls import make as tool_session
from support.turns import play

HELD = Confinement(sandboxed=True, offline=True)


def made(source: str) -> tuple[Rule, ...]:
    return command_rules(read_shell(source))


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        ("git status -s", ["Shell(git status *)"]),
        ("ls -la src", ["Shell(ls *)"]),
        ("git log -3 && ls | head -2\nls x", ["Shell(git log *)", "Shell(ls *)", "Shell(head *)"]),
        ("LC_ALL=C ls", []),
        *((source, []) for source in ("", "make", "ls; make", "git push", "git -c core.pager=sh log", "./ls", "/x/ls")),
        *((source, []) for source in ("find . -exec rm {} ;", "find . -delete", "sort -o x y", "xargs ls", "env ls")),
        *((source, []) for source in ("python -c 'print(1)'", "bash -c ls", "awk 1 x", "sed p x", "jq . x")),
        ("rg --pre sh x", []),
        *((source, []) for source in ("ls > out", "ls $x", "ls $(rm x)", "x=1 ls", "cd x; ls", "ls &")),
        ("f() { ls; }; f", []),
        *((source, []) for source in ("cat ~/.ssh/id_rsa", "cat .env", "ls\\\n; rm x", "git log --output=x", "! ls")),
    ],
)  # fmt: skip
def test_U13_always_makes_rules_of_harmless_commands_and_of_nothing_else(source: str, rules: list[str]) -> None:
    assert [rule.text for rule in made(source)] == rules


HARMLESS = st.sampled_from(
    ["git status -s", "ls", "ls -la x", "git log -3", "cat 'a b'", "head -2 x", "find . -name '*.py'"]
)
UNCOVERED = st.sampled_from([
    *("rm -rf x", "git push", "git status-all", "lsof", "bash -c ls", "env ls", "xargs ls", "find . -delete", "./ls x"),
    *("$(ls)", "`ls`", "<(ls)", "ls() { rm; }", "x=1", "> out", "ls > out", "git -c a=b log", "exec ls", "cat $x"),
    *("find . -exec ls ;", "git log --output=x", "PAGER=x git log", "alias ls=rm", "cat <<E\n$(rm)\nE"),
])  # fmt: skip
JOINED = st.sampled_from([";", " && ", " || ", " | ", "\n", " & ", "\n\n", " ;\n", " # c\n", "&&\n", "\r\n"])


@examples(150)
@given(st.lists(HARMLESS, min_size=1, max_size=3), UNCOVERED, st.lists(HARMLESS, max_size=2), JOINED)
def test_U12_no_line_with_an_uncovered_part_is_allowed_by_a_rule_that_always_made(
    before: list[str], part: str, after: list[str], sign: str
) -> None:
    rules = made("\n".join((*before, *after)))
    assert rules
    policy = Policy(mode="default", rules=rules)
    assert decide(PolicyRequest("shell", "\n".join((*after, *before))), policy).verdict == "allow"
    source = sign.join((*before, part, *after))
    assert decide(PolicyRequest("shell", source), policy).verdict == "ask", source


def make(
    *sources: str,
    language: str = "bash",
    confinement: Confinement = HELD,
    elsewhere: bool = False,
    **rules: tuple[str, ...],
) -> tuple[Session, Callable[[ScopeKind], Callable[[AnyEvent], None]]]:
    """A session of turns, each of which runs one of the sources (several, split at `---`), and who answers."""
    answers = []
    for source in sources:
        answers += [f"So.\n\n```{language}\n{part}\n```\n" for part in source.split("---")] + ["Done."]
    verdicts: tuple[Effect, ...] = ("ask", "deny")
    policy = Policy(rules=tuple(short_form(text, verdict) for verdict in verdicts for text in rules.get(verdict, ())))
    kernels = FakeKernels(
        shell=FakeKernel(language="shell", confinement=confinement), python=FakeKernel(confinement=confinement)
    )
    kernels.by_language["python"].elsewhere = elsewhere
    session = Session(kernels=kernels, settings=LoopSection(approve="ask"), model=FakeModel(*answers), policy=policy)

    def answering(scope: ScopeKind) -> Callable[[AnyEvent], None]:
        def react(event: AnyEvent) -> None:
            if isinstance(event, DecisionRequested):
                session.decide(Decide(request_id=event.request_id, verdict="always", scope=scope))

        return react

    return session, answering


async def deciders(session: Session, react: Callable[[AnyEvent], None], turns: int) -> list[str]:
    return [
        f"{made.decider} {made.verdict}"
        for _ in range(turns)
        for made in of(DecisionMade, await play(session, session.run("go"), react))
    ]


async def test_a_prefix_that_was_granted_runs_later_commands_and_says_by_which_rule() -> None:
    session, answering = make("git status", "git status -s", "git push", "git status; ls")
    first = await play(session, session.run("go"), answering("commands"))
    assert of(DecisionRequested, first)[0].scopes == (GrantScope(kind="commands", rules=("Shell(git status *)",)),)
    assert of(DecisionMade, first)[0].reason == "always: Shell(git status *), this session"
    second = await play(session, session.run("go"), answering("source"))
    [allowed] = of(DecisionMade, second)
    assert (allowed.decider, allowed.verdict) == ("grant", "run")
    assert allowed.reason == "allowed by the rule Shell(git status *) (always, this session)"
    assert await deciders(session, answering("source"), 2) == ["person always", "person always"]


async def test_a_prefix_that_was_granted_in_a_sandbox_says_nothing_about_the_same_commands_outside_of_it() -> None:
    session, answering = make("cat a", "cat b", "cat c")
    assert await deciders(session, answering("commands"), 1) == ["person always"]
    shell = session.kernels.get("shell")
    assert isinstance(shell, FakeKernel)
    shell.confinement = Confinement()
    events = await play(session, session.run("go"), answering("commands"))
    assert [asked.scopes[0].kind for asked in of(DecisionRequested, events)] == ["commands"]
    shell.confinement = HELD
    assert await deciders(session, answering("source"), 1) == ["grant run"]


async def test_without_a_sandbox_no_rule_is_made_of_git_which_runs_what_a_folder_configures() -> None:
    session, answering = make("git status", "ls; git log", "ls")
    shell = session.kernels.get("shell")
    assert isinstance(shell, FakeKernel)
    shell.confinement = Confinement()
    offered = []
    for _ in range(3):
        events = await play(session, session.run("go"), answering("source"))
        offered.append([scope.kind for asked in of(DecisionRequested, events) for scope in asked.scopes])
    assert offered == [[], [], ["commands"]]


async def test_what_was_granted_does_not_answer_a_rule_that_denies_or_asks() -> None:
    session, answering = make("ls a", "ls b", "ls c", ask=("Shell(ls b)",), deny=("Shell(ls c)",))
    assert await deciders(session, answering("commands"), 3) == ["person always", "person run", "rule skip"]


async def test_a_line_that_names_a_place_of_secrets_is_asked_about_in_spite_of_a_prefix() -> None:
    session, answering = make("cat a.txt", "cat ~/.ssh/id_rsa", "cat b.txt")
    events = await play(session, session.run("go"), answering("commands"))
    events += await play(session, session.run("go"), answering("commands"))
    assert of(DecisionRequested, events)[1].scopes == ()
    assert [made.verdict for made in of(DecisionMade, events)] == ["always", "run"], "it was not offered: this once"
    assert await deciders(session, answering("source"), 1) == ["grant run"]


async def test_the_rest_of_a_turn_runs_unasked_and_the_next_turn_is_asked_about() -> None:
    session, answering = make("a = 1---a + 1---a + 2", "a", language="python")
    events = await play(session, session.run("go"), answering("turn"))
    [asked] = of(DecisionRequested, events)
    assert asked.scopes == (GrantScope(kind="turn", rules=(TURN_RULE,)),)
    decided = of(DecisionMade, events)
    assert [made.decider for made in decided] == ["person", "grant", "grant"]
    assert decided[1].reason == f"allowed by {TURN_RULE} (always, this turn)"
    assert len(of(ExecutionStarted, events)) == 3
    assert await deciders(session, answering("source"), 1) == ["person always"]


@pytest.mark.parametrize(
    "dangerous",
    [
        *("exec(text)", "import os\nos.remove('x')", "!rm -rf x", "x = 'a\u202eb'", "__import__('os')", "%%bash\nrm x"),
        "getattr(os, name)()",
    ],
)
async def test_in_a_turn_that_was_granted_dangerous_code_is_still_asked_about(dangerous: str) -> None:
    session, answering = make(f"a = 1---{dangerous}", language="python")
    assert await deciders(session, answering("turn"), 1) == ["person always", "person run"]


@pytest.mark.parametrize(
    ("confinement", "elsewhere"),
    [
        (Confinement(), False),
        (Confinement(sandboxed=True), False),
        (Confinement(offline=True), False),
        (HELD, True),
    ],
    ids=["nothing", "network", "lock", "server"],
)
async def test_a_turn_is_granted_only_in_the_verified_sandbox_without_network_and_here(
    confinement: Confinement, elsewhere: bool
) -> None:
    session, answering = make("a = 1---a + 1", language="python", confinement=confinement, elsewhere=elsewhere)
    events = await play(session, session.run("go"), answering("turn"))
    assert [asked.scopes for asked in of(DecisionRequested, events)] == [(), ()]
    assert [(made.decider, made.verdict) for made in of(DecisionMade, events)] == [("person", "run")] * 2


async def test_the_mode_that_the_person_chooses_ends_what_was_granted_for_the_turn() -> None:
    session, answering = make("a = 1---a + 1", language="python")

    def react(event: AnyEvent) -> None:
        answering("turn")(event)
        if isinstance(event, ExecutionStarted):
            session.choices.set_approval("ask")

    assert await deciders(session, react, 1) == ["person always"] * 2


async def test_a_kernel_that_is_gone_takes_the_sandbox_and_so_the_grant_with_it() -> None:
    session, answering = make("a = 1---a + 1", language="python")

    def react(event: AnyEvent) -> None:
        answering("turn")(event)
        if isinstance(event, ExecutionStarted):
            kernel = session.kernels.get("python")
            assert isinstance(kernel, FakeKernel)
            kernel.confinement = Confinement()

    events = await play(session, session.run("go"), react)
    assert [made.decider for made in of(DecisionMade, events)] == ["person", "person"]


# -- hosts ----------------------------------------------------------------------------------------------


def fetching(*urls: str, policy: Policy | None = None, writes: bool = False) -> Session:
    """A session of turns, each of which fetches one of the addresses."""
    answers: list[Any] = []
    for url in urls:
        answers += [answer(*call(json.dumps({"url": url}), name="fetch_url")), "Done."]
    about = Capabilities(writes=writes, destroys=False, network=True)
    fetch = tool(fetched, "fetch_url", read=fetch_facts, schema={"type": "object"}, foreign=True, capabilities=about)
    return tool_session(FakeModel(*answers), fetch, approve="ask", policy=policy)


async def fetched(arguments: Arguments, output: ToolOutput) -> str:
    return f"the page {arguments['url']}"


def taking(session: Session, scope: ScopeKind) -> Callable[[AnyEvent], None]:
    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="always", scope=scope))

    return react


async def test_W11_always_for_a_host_is_a_rule_that_reaches_what_reads_from_there() -> None:
    session = fetching(
        "https://docs.example.org/a", "http://docs.example.org:8080/b", "https://example.org/", "https://x/"
    )
    first = await play(session, session.run("go"), taking(session, "hosts"))
    [asked] = of(DecisionRequested, first)
    assert asked.scopes == (GrantScope(kind="hosts", rules=("Net(docs.example.org)",)),)
    assert of(DecisionMade, first)[0].reason == "always: Net(docs.example.org), this session"
    [second] = of(DecisionMade, await play(session, session.run("go"), taking(session, "hosts")))
    assert (second.decider, second.verdict) == ("grant", "run")
    assert second.reason == "allowed by the rule Net(docs.example.org) (always, this session)"
    assert await deciders(session, taking(session, "source"), 2) == ["person always", "person always"]


@pytest.mark.parametrize(
    ("url", "writes", "policy"),
    [
        ("https://docs.example.org/a", True, None),
        ("https://docs.example.org/.ssh/id_rsa", False, None),
        ("ftp://docs.example.org/", False, None),
        ("https://*.example.org/", False, None),
        ("https://docs.example.org/a", False, Policy(rules=(short_form("Net(*.example.org)", "ask"),))),
        ("https://docs.example.org/a", False, Policy(rules=(short_form("Tool(fetch_url)", "ask"),))),
    ],
)
async def test_W11_always_for_a_host_is_offered_where_its_rule_would_answer_and_nowhere_else(
    url: str, writes: bool, policy: Policy | None
) -> None:
    session = fetching("https://docs.example.org/first", url, policy=policy, writes=writes)
    await play(session, session.run("go"), taking(session, "hosts"))
    later = await play(session, session.run("go"), taking(session, "source"))
    assert [made.decider for made in of(DecisionMade, later)] == ["person"]
    for asked in of(DecisionRequested, later):
        assert not [scope for scope in asked.scopes if scope.kind == "hosts"] or policy is not None


async def test_W11_a_host_that_is_always_allowed_is_asked_about_when_it_could_carry_a_secret_away() -> None:
    session = fetching("https://docs.example.org/a", "https://docs.example.org/b")
    await play(session, session.run("go"), taking(session, "hosts"))
    session.decisions._taint = Taint(private=True, foreign=True)
    [made] = of(DecisionMade, await play(session, session.run("go"), taking(session, "source")))
    assert made.decider == "person"


async def test_W11_always_for_a_host_ends_with_the_conversation() -> None:
    session = fetching("https://docs.example.org/a", "https://docs.example.org/b")
    await play(session, session.run("go"), taking(session, "hosts"))
    session.forget()
    assert await deciders(session, taking(session, "source"), 1) == ["person always"]
