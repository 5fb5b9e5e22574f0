"""The code of a recording run again and compared with what came out then, by the same engine that runs everything.

The recording becomes a session like any other for that long: rules, sandbox and audit log hold for it.
"""

import time
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from oi_tui.app.build import make_engine
from oi_tui.app.engine.core.blocks import CallBlock, CodeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import AnyEvent, ExecutionStarted, NoticeAdded, RerunFinished, SessionOpened
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import Batch, Failed
from oi_tui.app.engine.core.verbs import Open, Rebuild
from oi_tui.app.engine.files.paths import data_dir, private_dir
from oi_tui.app.engine.log.recording.form import Recording
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.frontend.client import LocalClient

Say = Callable[[str], None]

SUMMARY = "Re-ran "
"""How the notice begins that ends it."""


class Verification:
    """How the code of one recording went when it was run again."""

    def __init__(self, recording: Recording, setup: Configure) -> None:
        self._setup = setup
        self._events = [_as_foreign(event) for event in recording.events() if not isinstance(event, SessionOpened)]
        transcript = fold_events(self._events)
        self.blocks = [
            block for block in transcript.blocks if isinstance(block, CodeBlock) and block.duration is not None
        ]
        """Code that ran."""
        self.calls = sum(isinstance(block, CallBlock) and block.duration is not None for block in transcript.blocks)
        """This many tool calls ran; they do not run again."""

    async def run(self, say: Say) -> int:
        """Run it all; 0 if everything is as it was, else 1. The session that it takes is none of the person's."""
        session_id = new_id()
        with TemporaryDirectory(prefix="verify-", dir=private_dir(data_dir())) as folder:
            sessions = Path(folder, "sessions.db")
            with closing(Store(sessions)) as store:
                store.create(session_id, time.time(), self._setup.cwd)
                store.append(session_id, self._events)
            client = LocalClient(lambda send: make_engine(self._setup, send, sessions=sessions))
            try:
                await client.send(Open(session_id=session_id))
                await client.send(Rebuild(block_ids=tuple(block.id for block in self.blocks)))
                return await self._follow(client, say)
            finally:
                await client.close()

    async def _follow(self, client: LocalClient, say: Say) -> int:
        outcomes: list[str] = []
        async with aclosing(client.replies()) as replies:
            async for reply in replies:
                match reply:
                    case Failed():
                        say(f"✗ {reply.title} {reply.hint}".strip())
                        return 1
                    case Batch(replay=False):
                        for event in reply.events:
                            match event:
                                case RerunFinished():
                                    outcomes.append(event.outcome)
                                    say(self._line(event))
                                case NoticeAdded() if event.title.startswith(SUMMARY):
                                    say(event.title)
                                    return 0 if outcomes == ["same"] * len(self.blocks) else 1
                                case _:
                                    pass
                    case _:
                        pass
        return 1

    def _line(self, event: RerunFinished) -> str:
        block = next(block for block in self.blocks if block.id == event.block_id)
        first = next((line.strip() for line in visible_text(block.source).text.split("\n") if line.strip()), "")
        mark = "✓" if event.outcome == "same" else "✗"
        lines = [f"{mark} {event.outcome:<8} {block.language} · {first}", *event.difference.splitlines()]
        return "\n    ".join(lines)


def _as_foreign(event: AnyEvent) -> AnyEvent:
    """What came in a file ran in no kernel of ours: should the session be left behind, nothing of it is chosen."""
    return msgspec.structs.replace(event, generation=0) if isinstance(event, ExecutionStarted) else event
