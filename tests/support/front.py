"""An engine in this process and a front end that folds its replies, for tests of the protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, TurnEnded, TurnStarted
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Decide, Submit
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.mcp.servers import McpServers
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.services import MakeKernels, Services, Trial
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.typed_fields import typed_schema
from oi_tui.app.engine.testing import FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.tools.file_calls import FindToolFiles
from oi_tui.app.engine.tools.ties import MakeTools
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import EngineClient, LocalClient
from oi_tui.plugins.host import built_in_hooks
from support.kinds import Kind, narrow, of

NO_RULES = Policy()


def kernels_of_first(given: FakeKernels | None) -> MakeKernels:
    """Makes fakes; the first session has those that are given."""
    waiting = [] if given is None else [given]
    return lambda ties: waiting.pop() if waiting else FakeKernels()


class Front:
    """A front end that folds the engine's replies."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self.transcript = Transcript()
        self.replies: list[Reply] = []
        self.events: list[AnyEvent] = []

    async def until(self, wanted: Callable[[Reply], bool]) -> Reply:
        """Take replies up to the first that is wanted."""
        async with asyncio.timeout(30):
            async for reply in self.client.replies():
                self.replies.append(reply)
                if isinstance(reply, Batch):
                    if reply.replay and not reply.further:
                        self.transcript = Transcript()
                    for event in reply.events:
                        self.events.append(event)
                        self.transcript.apply(event)
                if wanted(reply):
                    return reply
        raise AssertionError("the replies ended")

    async def until_event(self, kind: type[Kind]) -> Kind:
        """Take replies up to the first batch with an event of this kind."""
        batch = await self.until(lambda reply: isinstance(reply, Batch) and bool(of(kind, reply.events)))
        return of(kind, narrow(batch, Batch).events)[0]

    async def decide(self, verdict: Verdict) -> None:
        """Wait for the question and answer it so."""
        asked = await self.until_event(DecisionRequested)
        await self.client.send(Decide(request_id=asked.request_id, verdict=verdict))

    async def turn(self, text: str) -> TurnEnded:
        """Send a prompt and wait for the end of its turn, not of a replayed one."""
        await self.client.send(Submit(text=text))
        started = await self.until_event(TurnStarted)
        while started.text != text:
            started = await self.until_event(TurnStarted)
        if not self.transcript.turn_open:
            return next(event for event in reversed(self.events) if isinstance(event, TurnEnded))
        return await self.until_event(TurnEnded)


@asynccontextmanager
async def engine(
    tmp_path: Path,
    model: FakeModel,
    *,
    models: FakeModels | None = None,
    kernels: FakeKernels | MakeKernels | None = None,
    name: str = "fake/model",
    api_base: str = "",
    api_key: str | None = "k3y",
    approve: ApprovalMode = "auto",
    policy: Policy = NO_RULES,
    trail: AuditTrail | None = None,
    titles: bool = False,
    trial: Trial | None = None,
    hooks: Hooks | None = None,
    spill_dir: Path | None = None,
    mcp: McpServers | None = None,
    make_tools: tuple[MakeTools, ...] = (),
    find_tool_files: FindToolFiles = tuple,
) -> AsyncIterator[Front]:
    """`kernels` are those of the first session; later ones have fresh fakes. What makes kernels makes them for all."""
    settings = Settings(
        model=ModelSection(name=name, api_base=api_base, titles=titles), loop=LoopSection(approve=approve)
    )
    setup = Configure(settings=settings, cwd="/work", api_key=api_key)

    def made(send: Send) -> Engine:
        store = Store(tmp_path / "sessions.db")
        services = Services(
            setup=setup,
            models=models or FakeModels(model),
            make_kernels=kernels if callable(kernels) else kernels_of_first(kernels),
            send=send,
            log=Log(store=store, trail=trail),
            policy=policy,
            hooks=hooks or built_in_hooks(),
            trial=trial,
            spill_dir=spill_dir,
            mcp=mcp,
            make_tools=make_tools,
            find_tool_files=find_tool_files,
            read_schema=lambda given: AnswerSchema(typed_schema(given)),
        )
        return Engine(services)

    client = LocalClient(made)
    try:
        yield Front(client)
    finally:
        await client.close()
