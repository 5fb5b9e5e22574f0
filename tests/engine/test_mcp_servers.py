"""Servers of tools that do what they should: started in a sandbox, agreed to, listed, called, started again."""

import asyncio
import json
import os
from pathlib import Path

import msgspec
import psutil
import pytest

from oi_tui.app.engine.core.blocks import CallBlock, NoticeBlock
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.tool_replies import ServersFound
from oi_tui.app.engine.core.tool_verbs import ChangeServer, FindServers
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry
from oi_tui.app.engine.mcp.piped_server import server_profile
from oi_tui.app.engine.mcp.sources import named_servers
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Capabilities, ToolFailed
from oi_tui.app.engine.trust.change_scan import FolderScanner
from support.front import engine
from support.kinds import narrow
from support.mcp_servers import Said, Stage, joined, scripted
from support.tool_calls import answer, call, text_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def write(path: Path, servers: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    path.chmod(0o600)


# -- N1: which servers there are ---------------------------------------------------------------------------


def test_N1_the_persons_servers_come_first_and_those_of_a_folder_with_trust_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(tmp_path / "config/oi-tui/mcp.json", {"time": {"command": "mine"}})
    write(folder / ".mcp.json", {"Time": {"command": "theirs"}, "other": {"command": "b", "type": "stdio"}})
    assert [one.name for one in named_servers(folder, trusted=False)] == ["time"]
    found = named_servers(folder, trusted=True)
    assert [(one.name, one.entry.command, one.folder) for one in found] == [
        ("time", "mine", ""),
        ("other", "b", str(folder)),
    ]


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"a": {"command": "x", "url": "https://x.example"}}, "mcpServers.a: it has either a command or a url"),
        ({"a": {}}, "mcpServers.a: it has either"),
        ({"a__b": {"command": "x"}}, "'a__b' is no name"),
        ({"a_": {"command": "x"}}, "'a_' is no name"),
        ({"my-a": {"command": "x"}, "My_a": {"command": "x"}}, "my-a and My_a look the same"),
        ({"a": {"command": "x", "arg": ["y"]}}, "mcpServers.a: Object contains unknown field `arg`"),
        ({"a": {"command": "x", "args": "y"}}, "$.args"),
        ({"a": {"url": "http://169.254.169.254/latest"}}, "link-local"),
        ({"a": {"url": "http://[::ffff:169.254.169.254]/"}}, "link-local"),
        ({"a": {"url": "file:///etc/passwd"}}, "https://"),
        ({"a": {"url": "https://x.example", "headers": {"A": "b\r\nc: d"}}}, "cannot be sent"),
    ],
)
def test_N1_a_wrong_entry_is_named_with_its_file_and_place(servers: dict[str, object], said: str, folder: Path) -> None:
    write(folder / ".mcp.json", servers)
    with pytest.raises(SettingsError) as wrong:
        named_servers(folder, trusted=True)
    assert str(folder / ".mcp.json") in wrong.value.title
    assert said in wrong.value.title


async def test_N1_variables_are_filled_in_by_name_and_one_that_is_missing_is_said(folder: Path) -> None:
    entry = ServerEntry(url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer ${TRACKER_TOKEN}"})
    assert entry.variables == ("TRACKER_TOKEN",)
    async with joined(folder, NamedServer(name="x", entry=entry)) as stage:
        assert "TRACKER_TOKEN is not set" in stage.warnings[0]
    environ = {"TRACKER_TOKEN": "t0p"}
    async with joined(folder, NamedServer(name="x", entry=entry), environ=environ) as stage:
        assert ("Authorization", "Bearer t0p") in stage.secrets
        assert "t0p" not in str(stage.notices)


# -- N2: the sandbox ---------------------------------------------------------------------------------------


@pytest.mark.sandbox
async def test_N2_a_server_reads_its_folder_writes_nothing_and_is_gone_at_the_end(folder: Path) -> None:
    (folder / "x.count").write_text("0")
    server = scripted(folder, "look_around", str(folder), str(Path.home()), sandbox=True, env={"GIVEN": "1"})
    async with joined(folder, server, environ=dict(os.environ) | {"MY_API_KEY": "sk-123456789"}) as stage:
        before = {one.pid for one in psutil.Process().children(recursive=True)}
        seen = json.loads(await stage.call("x__echo"))
        assert seen["reach"][0] == len(list(folder.iterdir()))
        assert "GIVEN" in seen["environ"]
        assert "MY_API_KEY" not in seen["environ"]
        (tool,) = stage.toolbox
        assert tool.confinement.sandboxed
        assert tool.confinement.offline
        assert tool.capabilities == Capabilities(writes=False, destroys=False, network=False)
    assert not before & {one.pid for one in psutil.Process().children(recursive=True)}


async def test_N2_without_a_sandbox_the_worst_is_assumed_and_a_yes_is_needed_first(folder: Path) -> None:
    async with joined(folder, scripted(folder, "good")) as stage:
        (tool,) = stage.toolbox
        assert tool.capabilities == Capabilities()
        assert not tool.confinement.sandboxed
    wide = scripted(folder, "good", name="wide", network="full", write=True)
    stage_agreements = stage.agreements
    assert not stage_agreements.may_start(msgspec.structs.replace(wide, name="never-seen"))
    assert stage_agreements.may_start(NamedServer(name="plain", entry=ServerEntry(command="x")))
    of_folder = NamedServer(name="plain", entry=ServerEntry(command="x"), folder=str(folder))
    assert not stage_agreements.may_start(of_folder)
    stage_agreements.agree_to_start(of_folder)
    assert stage_agreements.may_start(of_folder)
    other = msgspec.structs.replace(of_folder, entry=ServerEntry(command="x", args=("--more",)))
    assert not stage_agreements.may_start(other)


# -- N3: tools ---------------------------------------------------------------------------------------------


async def test_N3_tools_have_the_servers_name_and_what_they_return_taints(folder: Path) -> None:
    server = scripted(folder, "names_that_look_the_same_when_cleaned")
    async with joined(folder, server) as stage:
        names = sorted(tool.name for tool in stage.toolbox)
        assert names[0] == "x__a_b"
        assert len(set(names)) == 3
        assert all(name.startswith("x__a_b") and len(name) <= 64 for name in names)
        (tool, *_) = stage.toolbox
        assert (tool.origin, tool.foreign) == ("MCP server x", True)
        assert tool.description.startswith("[MCP server x] ")
        reading = tool.facts('{"text": "hi"}')
        asked = PolicyRequest("", '{"text": "hi"}', tool=tool.name, confinement=tool.confinement, reading=reading)
        assert decide(asked, Policy()).taint.foreign


async def test_N3_a_hint_counts_only_where_it_is_stricter_or_believed(folder: Path) -> None:
    async with joined(folder, scripted(folder, "hints_that_lie")) as stage:
        (tool,) = stage.toolbox
        assert tool.capabilities.writes
    async with joined(folder, scripted(folder, "hints_that_lie", believe_hints=True)) as stage:
        (tool,) = stage.toolbox
        assert not tool.capabilities.writes
        assert tool.capabilities.network


async def test_N3_a_result_is_safe_and_bounded_and_structures_are_json(folder: Path) -> None:
    async with joined(folder, scripted(folder, "escape_sequences_in_a_result")) as stage:
        assert await stage.call("x__echo") == "fine"
    async with joined(folder, scripted(folder, "endless_result")) as stage:
        assert len(await stage.call("x__echo")) < 101_000
    async with joined(folder, scripted(folder, "structured_result")) as stage:
        assert json.loads(await stage.call("x__echo")) == {"answer": 42}


# -- N4: what was agreed to --------------------------------------------------------------------------------


async def test_N4_U16_tools_that_are_described_otherwise_are_held_back_until_the_change_is_agreed_to(
    folder: Path,
) -> None:
    server = scripted(folder, "schema_swap")
    async with joined(folder, server) as stage:
        assert stage.toolbox.names == {"x__echo"}
        assert not stage.warnings
    async with joined(folder, server) as stage:
        assert stage.toolbox.names == frozenset()
        assert len(stage.warnings) == 1
        assert "otherwise than when you agreed" in stage.warnings[0]
        assert "+echo: description: Says what it is told. Also give it" in stage.only.changes
        assert not stage.only.agree("something else")
        assert stage.toolbox.names == frozenset()
        assert stage.only.agree(stage.only.digest)
        assert stage.toolbox.names == {"x__echo"}
    async with joined(folder, server) as stage:
        assert stage.toolbox.names == {"x__echo"}
        assert not stage.warnings


async def test_N4_a_change_while_it_runs_takes_the_tools_away(folder: Path) -> None:
    async with asyncio.timeout(20), joined(folder, scripted(folder, "schema_swap_while_it_runs")) as stage:
        await stage.until(lambda: stage.only.state == "changed")
        assert stage.toolbox.names == frozenset()
        assert len(stage.warnings) == 1


# -- N6: ends and starts -----------------------------------------------------------------------------------


async def test_N6_a_server_that_dies_is_started_again_a_few_times_and_costs_one_notice(folder: Path) -> None:
    server = scripted(folder, "death_after_the_start")
    async with asyncio.timeout(30), joined(folder, server, pauses=(0.01, 0.01)) as stage:
        await stage.until(lambda: stage.states.count("failed") == 3)
        assert stage.only.state == "failed"
        assert len(stage.warnings) == 1
        with pytest.raises(ToolFailed, match="does not run"):
            await stage.only._calls.tool(next(iter(stage.only.offers.values())), None).run({}, Said())


async def test_N6_a_program_that_is_not_there_is_said_once(folder: Path) -> None:
    for walled in (True, False):
        named = NamedServer(name="x", entry=ServerEntry(command="no-such-program", sandbox=walled))
        async with joined(folder, named) as stage:
            assert len(stage.warnings) == 1
            assert "cannot be used" in stage.warnings[0]


# -- N7: questions -----------------------------------------------------------------------------------------


async def test_N7_a_question_of_a_server_says_who_asks_and_can_be_declined(folder: Path) -> None:
    async with joined(folder, scripted(folder, "form")) as stage:
        said = Said("green")
        assert await stage.call("x__echo", said) == "accept: {'color': 'green'}"
        (question,) = said.questions
        assert question[0].startswith("The MCP server x asks: Which color?\nColor (1 of 1)")
        assert await stage.call("x__echo", Said("decline")) == "decline: None"
        assert await stage.call("x__echo", Said()) == "cancel: None"


# -- in a session ------------------------------------------------------------------------------------------


@pytest.mark.sandbox
async def test_N3_N5_a_session_calls_a_tool_and_the_audit_log_has_the_notice(folder: Path, tmp_path: Path) -> None:
    named = scripted(folder, "progress_flood", sandbox=True)
    servers = Stage(folder, named).servers
    model = FakeModel(answer(*call(name="x__echo")), "Done.")
    records = tmp_path / "audit"
    where = Surroundings(cwd=str(folder), sandbox="read-only")
    trail = AuditTrail(folder=records, surroundings=where, make_watch=lambda: FolderScanner((), None), sandboxed=True)
    async with engine(tmp_path, model, mcp=servers, trail=trail) as front:
        await front.client.send(Open())
        await front.turn("go")
        (block,) = [one for one in front.transcript.blocks if isinstance(one, CallBlock)]
        assert "echo: hi" in text_of(block)
        assert "x__echo" in {spec.name for spec in model.requests[0].tools}
        notices = [one.title for one in front.transcript.blocks if isinstance(one, NoticeBlock) and one.level != "info"]
        assert len(notices) == 1
    written = "".join(path.read_text(encoding="utf-8") for path in records.glob("*.jsonl"))
    assert written.count("The MCP server x misbehaves") == 1


async def test_N6_a_server_that_hangs_at_the_start_holds_no_session_up(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.mcp.servers.PATIENCE", 0.05)
    stage = Stage(folder, scripted(folder, "hang_at_the_start"))
    async with engine(tmp_path, FakeModel("Done."), mcp=stage.servers) as front:
        await front.client.send(Open())
        assert (await front.turn("go")).reason == "done"


async def test_N6_a_call_that_hangs_ends_at_its_time_limit_with_one_notice(folder: Path, tmp_path: Path) -> None:
    stage = Stage(folder, scripted(folder, "hang_in_a_call", timeout=0.2))
    model = FakeModel(answer(*call(name="x__echo")), "Done.")
    async with engine(tmp_path, model, mcp=stage.servers) as front:
        await front.client.send(Open())
        await front.turn("go")
        titles = [one.title for one in front.transcript.blocks if isinstance(one, NoticeBlock) and one.level != "info"]
        assert [title for title in titles if "MCP" in title] == [
            "The MCP server x misbehaves: a call got no answer within 0.2 seconds."
        ]


async def test_N4_the_front_end_lists_servers_and_agrees_to_what_it_showed(folder: Path, tmp_path: Path) -> None:
    stage = Stage(folder, scripted(folder, "good", write=True))
    stage.agreements.path.unlink()
    async with engine(tmp_path, FakeModel("Done."), mcp=stage.servers) as front:
        await front.client.send(Open())
        await front.turn("go")
        await front.client.send(FindServers())
        found = narrow(await front.until(lambda reply: isinstance(reply, ServersFound)), ServersFound)
        (server,) = found.servers
        assert (server.state, server.tools) == ("not agreed", ())
        assert server.wishes == ("may change files in the folder", "no sandbox: your full permissions")
        await front.client.send(ChangeServer(name="x", change="agree", digest="something else"))
        refused = narrow(await front.until(lambda reply: isinstance(reply, ServersFound)), ServersFound)
        assert refused.problem
        await front.client.send(ChangeServer(name="x", change="agree", digest=server.digest))
        ready = await front.until(lambda one: isinstance(one, ServersFound) and one.servers[0].state == "ready")
        assert narrow(ready, ServersFound).servers[0].tools == ("echo: Says what it is told.",)


async def test_N8_what_a_prompt_names_of_a_server_reaches_the_model_as_others_words(
    folder: Path, tmp_path: Path
) -> None:
    model = FakeModel("Done.")
    async with engine(tmp_path, model, mcp=Stage(folder, scripted(folder, "good")).servers) as front:
        await front.client.send(Open())
        await front.turn("Look at @x:note://today and at @nobody:note://today and mail me@x:y")
        asked = str(model.requests[0].messages[-1])
        assert "Buy milk." in asked
        assert "written by others, not by the user" in asked
        assert "\x1b" not in asked


def test_N2_a_script_shows_its_server_no_folder_by_naming_a_program_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for program in ("papers/bin/edit", "env/bin/python3.12", "server"):
        (home / program).parent.mkdir(parents=True, exist_ok=True)
        (home / program).write_text("#!/bin/sh\n")
        (home / program).chmod(0o755)
    shown = dict[str, tuple[Path, ...]]()
    for program in ("papers/bin/edit", "env/bin/python3.12"):
        (home / "server").write_text(f"#!{home}/{program}\n")
        shown[program] = server_profile(ServerEntry(command=str(home / "server")), tmp_path).readable
    assert set(shown["papers/bin/edit"]) == {home / "papers" / "bin" / "edit"}
    assert home / "env" in shown["env/bin/python3.12"]


async def test_N4_a_server_with_large_tools_keeps_no_other_one_from_being_used(folder: Path) -> None:
    large, other = scripted(folder, "many_large_tools", name="large"), scripted(folder, "well_behaved", name="other")
    for states in ({"large": "ready", "other": "ready"}, {"large": "changed", "other": "ready"}):
        async with asyncio.timeout(30), joined(folder, large, other) as stage:
            assert {name: server.state for name, server in stage.servers.all.items()} == states
    changes = stage.servers.all["large"].changes
    assert "too large to be shown" in changes
    assert (folder.parent / "agreements.json").stat().st_size < 1_000_000
