"""Answers the calls of another assistant in a session of ours: each is decided about, sealed and run like what a model
of ours proposes.

Where a decision or a line of input is wanted, the front end that shows the session is asked. While none does, the call
waits for one to come, for a bounded time, and is refused then: the assistant never decides for itself.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from oi_tui.app.engine.agent.prompt import Teller
from oi_tui.app.engine.agent.proposal import Proposal
from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock
from oi_tui.app.engine.core.chat_model import EDIT_FILE, RECALL, WRITE_FILE
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.encoding import as_json, expressible
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import SecretsWithheld
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.library_verbs import EditSession
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.mcp.answers import ServerAnswer
from oi_tui.app.engine.mcp.call_offers import OfferedCall, ReportRun
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.host import Host
from oi_tui.app.engine.session.kernel_tools import LIST_VARIABLES, RESTART_KERNEL, SHOW_VARIABLE, kernel_tools
from oi_tui.app.engine.session.open_session import OpenSession
from oi_tui.app.engine.session.proposed_job import ProposedJob
from oi_tui.app.engine.text.mime import pictures
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.tools.checking import check_arguments
from oi_tui.app.engine.tools.tool import ToolFailed

RUN_CODE, READ_STATE, INTERRUPT = "run_code", "read_state", "interrupt"

OF_THE_SESSION = (
    *("read_file", "list_files", "search_files", WRITE_FILE, EDIT_FILE),
    *(LIST_VARIABLES, SHOW_VARIABLE, RESTART_KERNEL),
)
"""Tools of the session that the assistant may call; those of plugins are the person's own."""

PATIENCE = 40.0
"""Seconds that a call waits for somebody to attach: below the minute after which most clients give a call up."""

MOST_WAITING = 32
"""Calls that are not over."""

LONGEST_CODE = 1_000_000
"""Characters."""

TICK = 1.0
"""Seconds between two reports."""

LONGEST_NAME = 60
"""Characters of the name of a client."""

_log = logging.getLogger(__name__)


class AssistantDesk:
    """One assistant and the session that it works in."""

    def __init__(self, host: Host, engine: Engine, redactor: Redactor, setup: Configure, patience: float) -> None:
        """`patience`: seconds that a call waits for somebody to attach."""
        self._host, self._engine = host, engine
        self._redactor, self._setup = redactor, setup
        self._patience = patience
        self._client = "another assistant"
        session = engine.current_session
        assert session is not None, "the engine has just opened one"
        self._session_id = session.id
        session.tools.toolbox.add(kernel_tools(session.kernels, self._restart))
        self._jobs: dict[str, ProposedJob] = {}
        """What is not over, by the id of its block."""
        self._own: set[str] = set()
        """Blocks that it may read again."""
        self._beginning = asyncio.Lock()
        self._closed_door = ""
        """Why nobody can attach."""

    def name_client(self, name: str) -> None:
        """Set the client's name that the person reads."""
        self._client = one_line(safe_text(name))[:LONGEST_NAME].strip() or self._client

    # -- tools -------------------------------------------------------------------------

    def offers(self) -> tuple[OfferedCall, ...]:
        """All of it, as long as the session is open."""
        if (session := self._session()) is None:
            return ()
        tools = (tool for name in OF_THE_SESSION if (tool := session.tools.toolbox.find(name)) is not None)
        return (
            *_own_offers(session.kernels.languages),
            *(
                OfferedCall(
                    name=tool.name,
                    description=tool.description,
                    schema=tool.schema,
                    reads_only=not tool.capabilities.writes,
                    destroys=tool.name in (WRITE_FILE, EDIT_FILE),
                )
                for tool in tools
            ),
        )

    async def call(self, name: str, arguments: dict[str, Any], report: ReportRun) -> ServerAnswer:
        """Do it, and say what came of it."""
        session = self._session()
        if session is None:
            return _failure("The user has closed this session in oi-tui: nothing runs in it any more.")
        offered = next((one for one in self.offers() if one.name == name), None)
        if offered is None:
            return _failure(f"There is no tool named {one_line(safe_text(name[:100]))}.")
        try:
            check_arguments(arguments, offered.schema)
        except ToolFailed as error:
            return _failure(safe_text(str(error)[:1_000]))
        if name == READ_STATE:
            return _text(self._describe(session))
        if name == INTERRUPT:
            return _text(self._interrupt(session))
        try:
            proposal = self._proposal(session, name, arguments)
        except ToolFailed as error:
            return _failure(str(error))
        return await self._perform(session, proposal, report)

    def _proposal(self, session: OpenSession, name: str, arguments: dict[str, Any]) -> Proposal:
        """The proposal for a call; ToolFailed if it cannot be made."""
        if name == RUN_CODE:
            language = session.kernels.canonical(str(arguments.get("language") or "python"))
            if language is None:
                raise ToolFailed(f"There is no such kernel. There are: {', '.join(session.kernels.languages)}.")
            return Proposal(new_id(), expressible(arguments["code"]), language=language)
        if name == RECALL:
            blocks, number = session.session.transcript.blocks, arguments["block"]
            if not (0 < number <= len(blocks) and blocks[number - 1].id in self._own):
                raise ToolFailed(f"Block {number} is no output of a call of yours.")
        return Proposal(new_id(), as_json(arguments).decode(), tool=name)

    async def _restart(self, language: Language) -> str:
        """A fresh kernel, while a call of the tool for it runs."""
        session = self._session()
        wanted = None if session is None else session.kernels.canonical(language)
        if session is None or wanted is None:
            raise ToolFailed("There is no such kernel.")
        names = await session.kernel_switch.restart(wanted)
        return f"Restarted: {', '.join(names)}. Variables are gone." if names else "It has not started yet."

    # -- a call that is decided about ------------------------------------------------------------------

    async def _perform(self, session: OpenSession, proposal: Proposal, report: ReportRun) -> ServerAnswer:
        async with self._beginning:  # of several at once, the first begins
            if not self._own:
                await self._begin(session, proposal)
        self._jobs = {block_id: job for block_id, job in self._jobs.items() if not job.over.is_set()}
        if len(self._jobs) >= MOST_WAITING:
            return _failure(f"{MOST_WAITING} calls are not over yet: wait for them.")
        job = ProposedJob(proposal)
        self._jobs[proposal.block_id] = job
        self._own.add(proposal.block_id)
        session.add(job)
        try:
            await self._attend(session, job, report)
        except asyncio.CancelledError:
            job.give_up(session.session, f"{self._client} gave the call up")
            raise
        return self._answer(session, proposal.block_id)

    async def _begin(self, session: OpenSession, proposal: Proposal) -> None:
        """The first call: the session gets its name, and people can attach from now on."""
        try:
            await self._host.open_door()
        except OiTuiError as error:
            self._closed_door = f"{error.title} {error.hint}".strip()
            session.session.report(error, "warning")
        what = proposal.tool or one_line(proposal.source.strip().partition("\n")[0])
        await self._engine.handle(EditSession(session_id=self._session_id, title=f"{self._client}: {what}"[:80]))
        title = f"{self._client} works in this session over MCP."
        session.session.notice("info", title, "Your rules and answers decide what it runs.")

    async def _attend(self, session: OpenSession, job: ProposedJob, report: ReportRun) -> None:
        """Report progress to the client until the job is over; a question that nobody sees is given up."""
        begun = time.monotonic()
        alone_since: float | None = None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await job.over.wait()
                    return
            transcript, now = session.session.transcript, time.monotonic()
            asked = job.begun and (transcript.pending_decision or transcript.pending_input) is not None
            alone_since = (alone_since or now) if asked and not self._host.is_attended else None
            if alone_since is not None and now - alone_since >= self._patience:
                session.session.give_up_waiting(self._timeout_reason())
                alone_since = None
            with suppress(TimeoutError):  # a client that does not read holds up nothing
                async with asyncio.timeout(TICK):
                    await report(now - begun, self._activity(session, job, asked=asked))

    def _activity(self, session: OpenSession, job: ProposedJob, *, asked: bool) -> str:
        if not job.begun:
            return "waits for what runs before it"
        if asked:
            return "the user is asked in oi-tui" if self._host.is_attended else self._ask_to_attach()
        transcript = session.session.transcript
        block = transcript.block(job.proposal.block_id) if transcript.has(job.proposal.block_id) else None
        line = getattr(block, "active_line", None)
        return f"running, line {line}" if line else "running"

    def _ask_to_attach(self) -> str:
        if self._closed_door:
            return f"it needs approval, and nobody can attach to give it: {self._closed_door}"
        return f"it needs approval: run `oi-tui attach {self._session_id}` in another terminal"

    def _timeout_reason(self) -> str:
        """Why a question is not waited for any longer; the assistant reads it."""
        return f"{self._ask_to_attach()}; nobody did within {self._patience:.0f} s"

    def _answer(self, session: OpenSession, block_id: str) -> ServerAnswer:
        transcript = session.session.transcript
        if not transcript.has(block_id):
            return _failure("It was not run: the session was closed.")
        block, blocks = transcript.block(block_id), transcript.blocks
        assert isinstance(block, Action)
        index = next(at for at, one in enumerate(blocks) if one.id == block_id)
        teller = Teller(self._redactor, session.session.settings.output_to_model, images=True, number=index + 1)
        told = "\n".join([teller.result(block), *self._warnings(blocks[index + 1 :])])
        if withheld := tuple(teller.withheld.get(block_id, ())):
            session.session.emit(SecretsWithheld(block_id=block_id, names=withheld))
        shown = [dict(zip(("mime", "data"), _picture(url), strict=True)) for url in pictures(block)]
        answer = ServerAnswer(parts=({"text": told}, *shown), failed=block.state != "ok")
        kept = [{"mime": mime, "data": data} for one in answer.pictures() for mime, data in one.data.items()]
        left_out = f"\n[{answer.left_out} pictures are too large or too many to send]" if answer.left_out else ""
        return ServerAnswer(parts=({"text": told + left_out}, *kept), failed=answer.failed)

    def _warnings(self, blocks: Sequence[Block]) -> list[str]:
        """The program's warnings about a call, up to the next one."""
        said: list[str] = []
        for block in blocks:
            if isinstance(block, Action) and not block.caller:
                break
            if isinstance(block, NoticeBlock) and block.level != "info":
                said.append(self._redactor.redact(safe_text(f"[{block.title} {block.hint}".strip() + "]")).text)
        return said

    # -- what needs no decision ------------------------------------------------------------------------

    def _interrupt(self, session: OpenSession) -> str:
        running = next((job for job in self._jobs.values() if job.begun and not job.over.is_set()), None)
        if running is None:
            return "Nothing of yours runs."
        session.session.interrupt()
        return "Interrupted: the call that ran says how it ended."

    def _describe(self, session: OpenSession) -> str:
        settings = self._setup.settings
        kernels = {kernel.language: kernel.state for kernel in session.kernels.started_kernels()}
        waiting = [job for job in self._jobs.values() if not job.over.is_set()]
        found = {
            "session": self._session_id,
            "folder": self._setup.cwd,
            "state": session.state,
            "approval": session.session.decisions.mode,
            "sandbox": settings.sandbox.mode,
            "languages": session.kernels.languages,
            "kernels": kernels,
            "calls_not_over": len(waiting),
            "user_is_attached": self._host.is_attended,
        }
        return safe_text(msgspec.json.format(as_json(found), indent=1).decode())

    def _session(self) -> OpenSession | None:
        """The session, None where the person closed it."""
        return self._engine.session_of(self._session_id)


def _own_offers(languages: Sequence[Language]) -> tuple[OfferedCall, ...]:
    def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        }

    code = {"type": "string", "maxLength": LONGEST_CODE, "description": "What it prints and its last value come back."}
    language = {"type": "string", "maxLength": 100, "description": f"One of: {', '.join(languages)}. Default: python."}
    return (
        OfferedCall(
            name=RUN_CODE,
            description="Run code in a sandbox on the user's machine, in a kernel that keeps its variables. "
            "The user may have to approve it first. Pictures come back as images.",
            schema=schema({"code": code, "language": language}, "code"),
            destroys=True,
        ),
        OfferedCall(
            name=RECALL,
            description="Read what was left out of a long output, by the number that its result names.",
            schema=schema(
                {"block": {"type": "integer"}, "from_line": {"type": "integer", "description": "Where to begin."}},
                "block",
            ),
            reads_only=True,
        ),
        OfferedCall(
            name=READ_STATE,
            description="Which kernels there are, what they do, in which folder and sandbox, and who approves.",
            schema=schema({}),
            reads_only=True,
        ),
        OfferedCall(
            name=INTERRUPT,
            description="Interrupt the call that runs; variables are kept.",
            schema=schema({}),
        ),
    )


def _text(text: str) -> ServerAnswer:
    return ServerAnswer(parts=({"text": text},))


def _failure(text: str) -> ServerAnswer:
    return ServerAnswer(parts=({"text": text},), failed=True)


def _picture(url: str) -> tuple[str, str]:
    """Type and base64 of a `data:` URL."""
    mime, _, data = url.removeprefix("data:").partition(";base64,")
    return mime, data
