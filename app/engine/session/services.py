"""What all sessions of an engine share, as one value; and what each is given of its own: its kernels."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import msgspec

from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError, StoreError
from oi_tui.app.engine.core.instructions import NO_INSTRUCTIONS, InstructionSources
from oi_tui.app.engine.core.outputs import WrittenFiles
from oi_tui.app.engine.hooks.calling import NO_PLUGINS, Hooks
from oi_tui.app.engine.hooks.registered import registered_tools
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.log.ledger import Ledger
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Claims, Store
from oi_tui.app.engine.mcp.servers import McpServers
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.losses import NO_LOOK, WorkLook
from oi_tui.app.engine.sandbox.availability import Availability
from oi_tui.app.engine.sandbox.hosts import OnRefusal
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.filtered_model import FilteredModel
from oi_tui.app.engine.session.library import Library
from oi_tui.app.engine.session.model_switch import ModelSource, Servers
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.tools.file_calls import FindToolFiles
from oi_tui.app.engine.tools.ties import MakeTools, ToolTies
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.workspace.checkpoints import Checkpoints
from oi_tui.app.engine.workspace.run_changes import RunChanges

_log = logging.getLogger(__name__)

Trial = Callable[[], Awaitable[Availability]]


class ClosableKernels(KernelSource, Protocol):
    """The kernels of one session and of the forks that take them over."""

    async def close(self) -> None:
        """End all of them permanently."""
        ...


class KernelTies(msgspec.Struct):
    """How kernels relate to their session: after a fork, to the one that takes them over."""

    session_id: str = ""
    keeps_kernels: bool = False
    """Whether kernels on servers stay when the session ends, because the front end was lost and nobody quit."""
    on_refusal: OnRefusal = lambda refusal: None
    """Called with what the sandbox refused."""
    has_embedded_model: Callable[[], bool] = lambda: False
    """Whether the model of the session runs on this machine, as a part of oi-tui, and is therefore small."""


MakeKernels = Callable[[KernelTies], ClosableKernels]
"""Gives fresh kernels for one session. The ties may change while they live: what is needed of them is asked then."""


KeepChanges = Callable[[ToolTies], RunChanges]
"""Gives what keeps the files of one session before its code runs."""

ReadSchema = Callable[[str], AnswerSchema]
"""The schema that a person names, for a thread: it may import a module of theirs. SettingsError if it is none."""


def _no_schema(given: str) -> AnswerSchema:
    raise SettingsError("Schemas cannot be read here.")


@dataclass(frozen=True, kw_only=True)
class Services:
    """Made once for an engine, by the composition root."""

    setup: Configure
    models: ModelSource
    make_kernels: MakeKernels
    send: Send
    """Awaited for every reply, so a slow front end slows nothing but itself."""
    log: Log = field(default_factory=Log)
    """Where events go."""
    policy: Policy = field(default_factory=Policy)
    """What each session begins with."""
    redactor: Redactor = field(default_factory=Redactor)
    look: WorkLook = NO_LOOK
    """Finds what of the person's work would be overwritten."""
    find_written: Callable[[float], WrittenFiles | None] | None = None
    """Files of the folder that changed since a moment (Unix time), for a thread; None where nobody looks."""
    ledger: Ledger | None = None
    """Keeps what requests to models cost; None where nobody does."""
    hooks: Hooks = NO_PLUGINS
    instructions: InstructionSources = NO_INSTRUCTIONS
    """What the model reads beside the program's own words."""
    make_tools: tuple[MakeTools, ...] = ()
    """Give each session tools of its own, beside those of plugins."""
    find_tool_files: FindToolFiles = tuple
    """Asked again and again: what the person enables or disables counts at once."""
    mcp: McpServers | None = None
    """Servers of tools, shared by all sessions; None where there can be none."""
    checkpoints: Checkpoints | None = None
    """Files as they were before they were changed; None where none are kept."""
    keep_changes: KeepChanges | None = None
    """None where files are not kept before code runs."""
    spill_dir: Path | None = None
    """Where long outputs of tools are kept, as those of kernels are; None where they are not."""
    read_schema: ReadSchema = _no_schema
    trial: Trial | None = None
    """Finds out whether a sandbox can be had; None where there need be none."""
    expect_request: Callable[[], None] = lambda: None
    """Has ready what asking a model takes, because somebody types a prompt or has sent one."""

    @property
    def store(self) -> Store | None:
        """Where sessions are kept, None if nowhere."""
        return self.log.store

    def filter_model(self, model: Model, ties: KernelTies) -> Model:
        """The model behind the filters of plugins, where there are any."""
        if not (self.hooks.listens("change_request") or self.hooks.listens("change_answer")):
            return model
        return FilteredModel(model, self.hooks, self.redactor, lambda: ties.session_id)

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of plugins."""
        return registered_tools(self.hooks)

    @cached_property
    def claims(self) -> Claims:
        """The sessions that this engine has open."""
        return Claims.for_database(Path() if self.store is None else self.store.path)

    @cached_property
    def library(self) -> Library | None:
        """Answers questions about sessions that need not be open."""
        store = self.store
        return (
            None
            if store is None
            else Library(
                lambda: Store(store.path, store.on_delete, store.on_remove), self.send, self.claims, self.hooks
            )
        )

    @cached_property
    def servers(self) -> Servers:
        """Where models are, and the keys that were given for each place."""
        setup = self.setup
        return Servers(
            self.models, setup.settings.model, setup.api_key, self.store, folder=setup.cwd, profile=setup.profile
        )

    def drop_empty(self, session_id: str) -> None:
        """Delete sessions in which nothing was said or run; a fork of another one is kept."""
        try:
            if self.store is not None and self.store.record(session_id).parent_id is None:
                self.store.remove(session_id)
        except StoreError as error:
            _log.info("an empty session stays: %s", error)
