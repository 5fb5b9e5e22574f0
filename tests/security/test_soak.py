"""Turns with faults at random points: kernels killed, streams cut, floods, the engine itself killed, and other programs
that come to the same database and go again. Two hundred of them with `make soak`; the check runs thirteen, in which
each fault comes once, and says so in its summary.

At the end everything that was ever told is in the database, the database is sound, and the audit log is a whole chain
that names every run. The seed is printed; `OI_TUI_SOAK_SEED` gives another one, `OI_TUI_SOAK_TURNS` another length.
"""

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from hashlib import sha256
from pathlib import Path
from typing import Literal

import psutil
import pytest

from oi_tui.app.engine.core.blocks import Block, CodeBlock, NoticeBlock, UserBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import DecisionRequested, ExecutionStarted, SessionOpened, TurnEnded
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.settings import KernelSection, LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Decide, Interrupt, Open, Submit
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.log.audit.log import find_log
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import EngineLost, ProcessClient
from support.enclosure import UNENCLOSED
from support.fuzzing import SHORTENED
from support.openai_server import OpenAIServer, Turn

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(540)]

ALL = 200
TURNS = int(os.environ.get("OI_TUI_SOAK_TURNS", "13"))
SEED = int(os.environ.get("OI_TUI_SOAK_SEED", "20261122"))

CODE = {
    "calm": "print('turn', {n})\n{n} * 2",
    "raises": "print('before {n}')\n1 / 0",
    "shell": "echo turn {n}; exit 3",
    "flood": "for i in range(40_000):\n    print('{n}', i, 'x' * 60)",
    "strange": "print('\\x1b]0;owned\\x07\\ud800 {n}')\nimport sys; sys.stdout.buffer.write(b'\\xff\\xfe\\x00')",
    "kernel_exit": "print('last words {n}', flush=True)\nimport os; os._exit({n} % 200)",
    "kernel_killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)  # {n}",
    "interrupted": "import time\nprint('asleep {n}', flush=True)\ntime.sleep(60)",
    "refused": "print('never {n}')",
    "engine_killed": "import time\nprint('asleep {n}', flush=True)\ntime.sleep(60)",
}
FAULTS = ("stream_cut", "garbage", "server_error")
WEIGHTS = {
    "calm": 70, "raises": 24, "shell": 24, "flood": 6, "strange": 12, "kernel_exit": 4, "kernel_killed": 4,
    "interrupted": 6, "refused": 20, "engine_killed": 2, "stream_cut": 14, "garbage": 8, "server_error": 8,
}  # fmt: skip


def script(kind: str, number: int, chance: random.Random) -> list[Turn | str]:
    """What the model says in this turn."""
    if kind in FAULTS:
        text = f"I will look.\n\n```python\nprint({number})\n```\n\nAnd then more, word after word after word."
        match kind:
            case "stream_cut":
                hows: list[Literal["reset", "close", "end"]] = ["reset", "close", "end"]
                how = chance.choice(hows)
                return [Turn(text=text, cut_after=chance.randrange(1, 12), cut=how), "So be it."]
            case "garbage":
                return [Turn(text=text, garbage_after=chance.randrange(1, 12)), "So be it."]
            case _:
                return [Turn(status=500, error="out of order")]
    language = "bash" if kind == "shell" else "python"
    return [f"Turn {number}.\n\n```{language}\n{CODE[kind].format(n=number)}\n```", f"Done with {number}."]


class Front:
    """A front end that answers every question, and keeps its own record of what it was told."""

    def __init__(self, setup: Configure, log: Path) -> None:
        self.setup = setup
        self.log = log
        self.transcript = Transcript()
        self.told: dict[str, Block] = {}
        """Blocks as they were at the end of their turn."""
        self.ran: list[str] = []
        """Digests of the sources that were said to run."""
        self.ends: Counter[str] = Counter()

    @asynccontextmanager
    async def engine(self, session_id: str | None) -> AsyncIterator[ProcessClient]:
        client = await ProcessClient.start(self.setup, log=self.log)
        try:
            self.replies = client.replies()
            await client.send(Open(session_id=session_id))
            async with asyncio.timeout(60):
                while not any(isinstance(event, SessionOpened) for event in self.take(await anext(self.replies))):
                    pass
            yield client
        finally:
            await client.close()

    def take(self, reply: Reply) -> tuple[object, ...]:
        """Fold what was told; what happened now, not what is told again."""
        if not isinstance(reply, Batch):
            return ()
        if reply.replay and not reply.further:
            self.transcript = Transcript()
        for event in reply.events:
            self.transcript.apply(event)
            if isinstance(event, ExecutionStarted) and not reply.replay:
                block = self.transcript.block(event.block_id)
                assert isinstance(block, CodeBlock)
                self.ran.append(sha256(block.source.encode()).hexdigest())
        return () if reply.replay else reply.events

    async def turn(self, client: ProcessClient, kind: str, number: int) -> str:
        """One turn to its end; returns why it ended."""
        await client.send(Submit(text=f"prompt {number}"))
        async with asyncio.timeout(90):
            async for reply in self.replies:
                for event in self.take(reply):
                    match event:
                        case DecisionRequested():
                            verdict: Verdict = "skip" if kind == "refused" else "run"
                            decided = Decide(request_id=event.request_id, verdict=verdict, reason="not today")
                            await client.send(decided)
                        case ExecutionStarted() if kind == "interrupted":
                            await client.send(Interrupt(turn=True))
                        case ExecutionStarted() if kind == "engine_killed":
                            kill_engine()
                        case TurnEnded():
                            self.keep()
                            return event.reason
        raise AssertionError("the replies ended")

    def keep(self) -> None:
        for block in self.transcript.blocks:
            if block.id not in self.told:
                self.told[block.id] = block


VISIT = """
import sys; from pathlib import Path; from oi_tui.app.engine.log.store import Store
Store(Path(sys.argv[1])).close()
"""
VISITS = 0.05
"""How often, after a turn, another program opens the database and leaves it again."""


async def visit() -> None:
    program = [sys.executable, "-c", VISIT, str(paths.data_dir() / "sessions.db")]
    await asyncio.to_thread(subprocess.run, program, check=True, timeout=60)


def kill_engine() -> None:
    (engine,) = [child for child in psutil.Process().children() if "engine" in child.cmdline()]
    engine.kill()


@pytest.fixture
def front(
    openai_server: OpenAIServer, tmp_path: Path, clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Front:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)
    settings = Settings(
        model=ModelSection(name="openai/scripted", api_base=openai_server.url, retries=0, titles=False),
        loop=LoopSection(approve="ask", max_steps=2),
        kernel=KernelSection(output_cap=100_000),
        sandbox=UNENCLOSED,
    )
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Front(Configure(settings=settings, cwd=str(workspace), api_key="s3cret-key"), tmp_path / "engine.log")


async def test_nothing_is_lost_in_many_turns_with_faults(
    front: Front, openai_server: OpenAIServer, record_property: Callable[[str, object], None]
) -> None:
    chance, visits = random.Random(SEED), random.Random(SEED)
    kinds = [*WEIGHTS, *chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()), k=max(0, TURNS - len(WEIGHTS)))]
    chance.shuffle(kinds)
    if TURNS < ALL:
        record_property(SHORTENED, f"{TURNS} of {ALL} turns; `make soak` runs them all")
    print(f"seed {SEED}: {Counter(kinds)}")
    session_id: str | None = None
    number = 0
    while number < TURNS:
        async with front.engine(session_id) as client:
            session_id = front.transcript.session_id
            while number < TURNS:
                kind = kinds[number]
                openai_server.script(*script(kind, number, chance))
                number += 1
                try:
                    front.ends[await front.turn(client, kind, number)] += 1
                except EngineLost:
                    assert kind == "engine_killed"
                    front.ends["engine_lost"] += 1
                    break
                if visits.random() < VISITS:
                    await visit()
    assert session_id is not None
    check_database(front, session_id)
    check_audit(front, session_id)
    assert sum(front.ends.values()) == TURNS
    assert front.ends["engine_lost"] == kinds.count("engine_killed")


def check_database(front: Front, session_id: str) -> None:
    """Sound, and with everything that was told at the end of a turn, as it was told."""
    path = paths.data_dir() / "sessions.db"
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = Store(path)
    stored = Transcript()
    for event in store.load(session_id):
        stored.apply(event)
    store.close()
    blocks = {block.id: block for block in stored.blocks}
    lost = [block for block_id, block in front.told.items() if blocks.get(block_id) != block]
    assert [block for block in lost if not isinstance(block, NoticeBlock)] == []
    prompts = [block.text for block in stored.blocks if isinstance(block, UserBlock)]
    assert prompts == [f"prompt {number}" for number in range(1, TURNS + 1)]


def check_audit(front: Front, session_id: str) -> None:
    """A whole chain, in which every run is found that anybody was told of."""
    folder = paths.audit_dir()
    verdicts = verify_folder(folder)
    assert [verdict for verdict in verdicts if not verdict.intact] == []
    log = find_log(folder, session_id)
    assert log is not None
    text = log.read_text(encoding="utf-8")
    assert [digest for digest in front.ran if digest not in text] == []
    assert "s3cret-key" not in text
