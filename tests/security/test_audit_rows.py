"""The audit log through the real parts: an engine process, kernels, a sandbox, and an end without warning."""

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionRequested,
    ExecutionFinished,
    NoticeAdded,
    OutputAdded,
    TurnEnded,
)
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, SandboxSection, Settings
from oi_tui.app.engine.core.verbs import Decide, Open, Run, Submit
from oi_tui.app.engine.log.audit.log import HEADS
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import EngineLost, ProcessClient
from support.enclosure import UNENCLOSED, why_no_rung
from support.killing import kill_audit_writer
from support.script import Script

pytestmark = pytest.mark.kernel

ENCLOSED = SandboxSection(mode="workspace-write")


class Front:
    """Follows one engine process."""

    def __init__(self, client: ProcessClient) -> None:
        self.client = client
        self.transcript = Transcript()
        self.replies = client.replies()

    async def until(self, kind: type[AnyEvent]) -> AnyEvent:
        """Fold batches up to the first event of this kind."""
        async with asyncio.timeout(60):
            async for reply in self.replies:
                events = reply.events if isinstance(reply, Batch) else ()
                for event in events:
                    self.transcript.apply(event)
                for event in events:
                    if isinstance(event, kind):
                        return event
        raise AssertionError(f"the replies ended before {kind.__name__}")

    async def run(self, source: str, language: str = "python") -> CodeBlock:
        """The person's own code, to its end."""
        await self.client.send(Run(language=language, source=source))
        finished = await self.until(ExecutionFinished)
        assert isinstance(finished, ExecutionFinished)
        block = self.transcript.block(finished.block_id)
        assert isinstance(block, CodeBlock)
        return block


@pytest.fixture
def home(tmp_path: Path, clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, of this process and of what it starts."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)
    return Path(clean_env["HOME"])


@pytest.fixture
def audit(clean_env: dict[str, str]) -> Path:
    """Where the logs are."""
    return Path(clean_env["XDG_STATE_HOME"]) / "oi-tui" / "audit"


@pytest.fixture
def setup(home: Path, tmp_path: Path) -> Configure:
    """An engine without a sandbox and without a model."""
    work = tmp_path / "work"
    work.mkdir()
    settings = Settings(loop=LoopSection(approve="auto"), sandbox=UNENCLOSED)
    return Configure(settings=settings, cwd=str(work), api_key="s3cret-key")


@contextlib.asynccontextmanager
async def engine(setup: Configure, tmp_path: Path) -> AsyncIterator[Front]:
    client = await ProcessClient.start(setup, log=tmp_path / "engine.log")
    try:
        yield Front(client)
    finally:
        await client.close()


def enclosed(setup: Configure, **more: Any) -> Configure:
    if reason := why_no_rung("space"):
        pytest.skip(reason)
    return msgspec.structs.replace(
        setup, settings=msgspec.structs.replace(setup.settings, sandbox=ENCLOSED), trusted=True, **more
    )


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def records(audit: Path, kind: str = "") -> list[dict[str, Any]]:
    (log,) = [path for path in audit.glob("*.jsonl") if path.name != HEADS]
    found = [json.loads(line)["record"] for line in log.read_text().splitlines()]
    return [record for record in found if kind in ("", record["type"])]


def printed(block: CodeBlock) -> str:
    return "".join(getattr(output, "text", "") for output in block.outputs)


async def test_the_record_of_a_run_is_on_disk_before_its_code_runs(
    setup: Configure, script: Script, audit: Path, tmp_path: Path
) -> None:
    source = (
        "from pathlib import Path\n"
        f"log = [path for path in Path({str(audit)!r}).iterdir() if path.name != 'heads.jsonl'][0]\n"
        f"head = Path({str(audit)!r}, 'heads.jsonl').read_text().splitlines()[-1]\n"
        "print(log.read_text().splitlines()[-1])\n"
        "print(head)"
    )
    script.write(f"```python\n{source}\n```\n", "Done.")
    model = ModelSection(name=script.name)
    setup = msgspec.structs.replace(setup, settings=msgspec.structs.replace(setup.settings, model=model))
    async with engine(setup, tmp_path) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="look"))
        asked = await front.until(DecisionRequested)  # in every mode, because it names a folder of ours
        assert isinstance(asked, DecisionRequested)
        await front.client.send(Decide(request_id=asked.request_id, verdict="run"))
        await front.until(TurnEnded)
        (block,) = [block for block in front.transcript.blocks if isinstance(block, CodeBlock)]
    line, head = printed(block).splitlines()
    assert json.loads(line)["record"]["type"] == "RunBegan"
    assert json.loads(line)["record"]["sha256"] == digest(source)
    assert json.loads(head)["log_sha256"] == digest(line)


async def test_an_engine_that_is_killed_leaves_a_log_that_can_be_verified_and_gone_on_with(
    setup: Configure, audit: Path, tmp_path: Path
) -> None:
    source = "print('begun', flush=True)\nimport time\ntime.sleep(60)"
    client = await ProcessClient.start(setup, log=tmp_path / "engine.log")
    front = Front(client)
    await client.send(Open())
    await client.send(Run(language="python", source=source))
    await front.until(OutputAdded)
    children = psutil.Process(client.pid).children(recursive=True)
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(EngineLost):
        await front.until(TurnEnded)
    await client.close()
    await asyncio.to_thread(psutil.wait_procs, children, 10)
    assert [record["sha256"] for record in records(audit, "RunBegan")] == [digest(source)]
    assert records(audit, "RunEnded") == []
    assert all(verdict.intact for verdict in verify_folder(audit))
    async with engine(setup, tmp_path) as again:
        await again.client.send(Open(session_id=front.transcript.session_id))
        await again.run("1")
    assert [record["sha256"] for record in records(audit, "RunBegan")] == [digest(source), digest("1")]
    assert [verdict.findings for verdict in verify_folder(audit)] == [(), ()]


def test_a_writer_that_is_killed_at_any_moment_leaves_an_intact_log(tmp_path: Path) -> None:
    for number in range(8):
        kill_audit_writer(tmp_path, 0.01 + 0.013 * number)
        (log, heads) = verify_folder(tmp_path)
        assert log.intact
        assert heads.intact
        assert log.lines > number


async def test_code_that_has_no_sandbox_and_tampers_with_its_log_is_found_out(
    setup: Configure, audit: Path, tmp_path: Path
) -> None:
    tamper = (
        "from pathlib import Path\n"
        f"for path in Path({str(audit)!r}).iterdir():\n"
        "    if path.name != 'heads.jsonl':\n"
        "        path.write_text(path.read_text().replace('RunBegan', 'RunEnded'))"
    )
    async with engine(setup, tmp_path) as front:
        await front.client.send(Open())
        assert (await front.run(tamper)).state == "ok"
        assert (await front.run("1")).state == "ok"
    assert [verdict.intact for verdict in verify_folder(audit)] == [False, True]


async def test_a_log_that_code_removed_is_begun_anew_which_says_so(
    setup: Configure, audit: Path, tmp_path: Path
) -> None:
    async with engine(setup, tmp_path) as front:
        await front.client.send(Open())
        await front.run(f"import shutil; shutil.rmtree({str(audit)!r})")
        assert (await front.run("1")).state == "ok"
    lost = records(audit, "LinesWereLost")
    assert len(lost) == 1
    assert digest("1") in [record["sha256"] for record in records(audit, "RunBegan")]
    assert [verdict.intact for verdict in verify_folder(audit)] == [False, False]


async def test_what_the_persons_own_command_left_is_told_under_it(
    setup: Configure, audit: Path, tmp_path: Path
) -> None:
    async with engine(setup, tmp_path) as front:
        await front.client.send(Open())
        await front.run("echo all: > Makefile; echo > data.csv", language="shell")
        notice = await front.until(NoticeAdded)
        assert isinstance(notice, NoticeAdded)
        assert notice.title == "This run left a file that runs later: Makefile."
        quiet = await front.run("echo more >> data.csv", language="shell")
    first, second = records(audit, "FilesWereLeft")
    assert (first["changed"], first["later"]) == (2, ["Makefile"])
    assert (second["changed"], second["block_id"]) == (1, quiet.id)
    assert len([block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]) == 1


@pytest.mark.sandbox
async def test_what_the_sandbox_refuses_of_the_network_is_told_under_the_run_and_in_the_log(
    setup: Configure, audit: Path, tmp_path: Path
) -> None:
    fetch = (
        "import urllib.request\n"
        "for name in ('evil.example', 'evil.example', 'other.example:8080'):\n"
        "    try: urllib.request.urlopen(f'http://{name}/')\n"
        "    except OSError as error: print(error)"
    )
    sandbox = SandboxSection(mode="workspace-write", network="hosts", hosts=("allowed.example",))
    listed = enclosed(setup)
    listed = msgspec.structs.replace(listed, settings=msgspec.structs.replace(listed.settings, sandbox=sandbox))
    async with engine(listed, tmp_path) as front:
        await front.client.send(Open())
        assert printed(await front.run(fetch)).count("HTTP Error 403") == 3
        quiet = await front.run("1")
    (notice,) = [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
    assert notice.title == "The sandbox refused the network: evil.example (2 times), other.example:8080."
    assert notice.hint == "To allow it, add “evil.example” to sandbox.hosts in config.toml."
    assert [record["host"] for record in records(audit, "NetworkWasRefused")] == [
        "evil.example:80",
        "other.example:8080",
    ]
    (counted,) = records(audit, "RefusalsWereCounted")
    assert (counted["count"], counted["hosts"]) == (3, [["evil.example:80", 2], ["other.example:8080", 1]])
    assert counted["block_id"] != quiet.id
    assert all(verdict.intact for verdict in verify_folder(audit))
    show = [sys.executable, "-m", "oi_tui.app.cli", "audit", "show"]
    run = await asyncio.create_subprocess_exec(*show, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        shown = (await run.communicate())[0].decode()
    assert "the sandbox refused the network: evil.example:80 · not on the list" in shown
    assert "the network was refused 3 times: evil.example:80 × 2, other.example:8080 × 1" in shown


@pytest.mark.sandbox
async def test_in_a_sandbox_the_log_cannot_be_seen_even_where_the_home_folder_is_worked_in(
    setup: Configure, home: Path, audit: Path, tmp_path: Path
) -> None:
    async with engine(enclosed(setup, cwd=str(home)), tmp_path) as front:
        await front.client.send(Open())
        await front.run("1")
        assert audit.exists()
        looked = await front.run(
            f"import os\nprint(os.path.exists({str(audit)!r}), os.path.exists({str(audit / HEADS)!r}))"
        )
        written = await front.run(f"import os; os.makedirs({str(audit)!r}); open({str(audit / 'x')!r}, 'w')")
        left = await front.run("open('conftest.py', 'w').close()")
        notice = await front.until(NoticeAdded)
    assert printed(looked).strip() == "False False"
    assert not (audit / "x").exists()
    assert written.state in ("error", "ok")
    assert isinstance(notice, NoticeAdded)
    assert notice.title == "This run left a file that runs later, outside the sandbox: conftest.py."
    assert left.state == "ok"
    began = records(audit, "RunBegan")
    assert {(record["sandbox"], record["network"], record["proof"]) for record in began} == {
        ("workspace-write", "none", "self-test passed")
    }
    assert all(verdict.intact for verdict in verify_folder(audit))
