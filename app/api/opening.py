"""Opens sessions for programs, within the limits of the machine's administrator."""

import asyncio
import os
import time
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, Unpack, overload

import msgspec

from oi_tui.app.api.callbacks import Callbacks
from oi_tui.app.api.open_parts import OpenParts
from oi_tui.app.api.program_session import ProgramSession
from oi_tui.app.api.results import RunLimits
from oi_tui.app.api.session_options import SessionOptions
from oi_tui.app.engine.agent.execution import no_seal
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import SessionOpened
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import InstructionPart, InstructionSources
from oi_tui.app.engine.core.modes import requested_mode
from oi_tui.app.engine.core.offline import go_offline
from oi_tui.app.engine.core.settings import (
    FunctionsSection,
    KernelSection,
    LoopSection,
    ModelSection,
    PolicySection,
    SandboxSection,
    Settings,
)
from oi_tui.app.engine.environments.discovery import choose_environment
from oi_tui.app.engine.environments.environment import own_environment
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.settings_file import with_admin_limits
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail, make_audit_trail
from oi_tui.app.engine.log.log import Log, SessionLog
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.functions import check_lists
from oi_tui.app.engine.policy.rule_text import section_rules
from oi_tui.app.engine.policy.rules import Base
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.secrets.redaction import Redactor, secrets_in
from oi_tui.app.engine.session.function_limits import limit_cells, limits_in_words
from oi_tui.app.engine.structured.python_types import OutputForm
from oi_tui.app.engine.tools.function import tool_of
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.tools.toolbox import Toolbox
from oi_tui.app.engine.trust.rule_files import admin_rules
from oi_tui.app.engine.trust.unsaved_work import UnsavedWork
from oi_tui.plugins.host import find_built_in_view

AnsweredT = TypeVar("AnsweredT")


@overload
def open_session(
    *, model: str | Model, output_type: None = None, **options: Unpack[SessionOptions]
) -> ProgramSession[str]: ...


@overload
def open_session(
    *, model: str | Model, output_type: type[AnsweredT], **options: Unpack[SessionOptions]
) -> ProgramSession[AnsweredT]: ...


@overload
def open_session(
    *, model: str | Model, output_type: Mapping[str, Any], **options: Unpack[SessionOptions]
) -> ProgramSession[Any]: ...


def open_session(
    *, model: str | Model, output_type: Any = None, **options: Unpack[SessionOptions]
) -> ProgramSession[Any]:
    """A session that is not open yet: `with`, `async with` or its first run opens it. SettingsError for what cannot be.

    `model` is a name (`gpt-5`, `ollama/llama3`, `fake/script.json`) or a model of your own. `output_type` is
    what answers are turned into: a pydantic model, a msgspec struct, a dataclass, a typed dictionary, or a JSON schema;
    without one, `Result.output` is text. For all other keywords see `SessionOptions`.
    """
    folder = Path(options.get("cwd", ".")).resolve()
    if not folder.is_dir():
        raise SettingsError(f"{folder} is no folder.")
    output: OutputForm[Any] | None = None if output_type is None else OutputForm(output_type)
    settings = with_admin_limits(_settings(options))
    return ProgramSession(
        partial(_open_parts, model, folder, settings, _policy(settings, folder), options),
        output=output,
        limits=options.get("limits", RunLimits()),
        callbacks=Callbacks(options.get("approve"), options.get("answer_input")),
        given=options.get("dependencies"),
    )


def _settings(options: SessionOptions) -> Settings:
    """The options as settings."""
    sandbox, limits = options.get("sandbox", "workspace-write"), options.get("limits", RunLimits())
    return Settings(
        model=options.get("model_settings", ModelSection()),
        loop=LoopSection(
            approve=options.get("approval", "ask"),
            max_steps=limits.max_steps,
            max_cost=limits.max_cost,
            max_tokens=limits.max_tokens,
            answer_tries=limits.answer_tries,
        ),
        sandbox=sandbox if isinstance(sandbox, SandboxSection) else SandboxSection(mode=sandbox),
        policy=options.get("policy", PolicySection()),
        functions=options.get("functions", FunctionsSection()),
    )


async def _open_parts(
    asked: str | Model,
    folder: Path,
    settings: Settings,
    rules: Policy,
    options: SessionOptions,
    program: ProgramSession[Any],
) -> OpenParts:
    if settings.network.offline:
        go_offline()
    variables = dict(options.get("environ", {}))
    key, base = options.get("api_key"), options.get("api_base", "") or settings.model.api_base
    redactor = Redactor(secrets_in(variables) | secrets_in(os.environ) | {"API key": key or ""})
    profile = chosen_profile(settings.sandbox, folder, hidden=paths.own_dirs())
    store = None if (file := options.get("store")) is None else Store(Path(file))
    log = _make_log(store, _make_trail(options.get("audit"), folder, profile, rules, redactor))
    models = Models(msgspec.structs.replace(settings.model, api_base=base), environ=variables)
    cells = limit_cells(settings.functions)
    kernels = Kernels(_make_launch(folder, profile, redactor, options.get("python", ""), log, cells))
    told = InstructionSources(own=_own(options.get("instructions", "")), limits=limits_in_words(settings.functions))
    try:
        model = asked if not isinstance(asked, str) else await models.open(asked, base, key)
        session = Session(
            kernels=kernels,
            settings=settings.loop,
            model=model,
            can_ask="approve" in options or "answer_input" in options,
            policy=rules,
            redactor=redactor,
            ready=program.before_request,
            seal=no_seal if log is None else log.seal,
            tools=Toolbox(tool if isinstance(tool, Tool) else tool_of(tool) for tool in options.get("tools", ())),
            look=UnsavedWork(),
            time_limit=options.get("limits", RunLimits()).cell_seconds,
            instructions=told,
        )
    except BaseException:
        await models.close()
        raise
    session.emitter.observers = (program.observe,) if log is None else (log.append, program.observe)
    parts = OpenParts(session=session, loop=asyncio.get_running_loop(), redactor=redactor, log=log)
    parts.closers = [kernels.close, models.close]
    _begin(parts, store, str(folder), model.name)
    return parts


def _make_log(store: Store | None, trail: AuditTrail | None) -> SessionLog | None:
    return None if store is None and trail is None else Log(store=store, trail=trail).session()


def _make_trail(
    audit: str | Path | None, folder: Path, profile: Profile, rules: Policy, redactor: Redactor
) -> AuditTrail | None:
    if audit is None:
        return None
    return make_audit_trail(
        profile,
        rules,
        cwd=str(folder),
        folder=paths.private_dir(Path(audit)),
        own=paths.own_dirs(),
        redactor=redactor,
        program=f"oi-tui {version('oi-tui')}, from Python",
    )


def _make_launch(
    folder: Path, profile: Profile, redactor: Redactor, python: str, log: SessionLog | None, cells: tuple[str, ...]
) -> Launch:
    environment = choose_environment(folder, os.environ, asked=python).environment if python else own_environment()
    return Launch(
        cwd=folder,
        settings=KernelSection(),
        environ=os.environ,  # kernels get PATH and the like of it, and no keys
        python=environment,
        sandbox=profile,
        on_refusal=None if log is None else log.note_refusal,
        small_model=lambda: False,
        learn_secret=redactor.learn,
        cells_at_start=cells,
        widget_views=find_built_in_view,
    )


def _begin(parts: OpenParts, store: Store | None, cwd: str, model: str) -> None:
    """Announce that it is open, in the log too."""
    session, session_id, now = parts.session, new_id(), time.time()
    if store is not None:
        store.create(session_id, now, cwd)
    if parts.log is not None:
        parts.log.begin(session_id, (), note=session.notice, gave_up=session.report)
        parts.keeping = asyncio.ensure_future(parts.log.keep())
    approval = session.decisions.mode
    session.emit(SessionOpened(session_id=session_id, created=now, cwd=cwd, model=model, approval=approval))


def _policy(settings: Settings, folder: Path) -> Policy:
    check_lists(settings.functions)
    section = settings.policy
    return Policy(
        mode=requested_mode(section),
        allow_destructive=section.allow_destructive,
        functions=settings.functions,
        rules=(*admin_rules(), *section_rules(section)),
        base=Base(cwd=str(folder), home=str(Path.home())),
        own=(*map(str, paths.own_dirs()), str(paths.admin_dir())),
    )


def _own(text: str) -> tuple[InstructionPart, ...]:
    """Instructions without a template."""
    if "{{" in text or "{%" in text:
        text = "{% raw %}" + text.replace("{% endraw %}", "") + "{% endraw %}"
    return (InstructionPart(origin="own", name="the program", text=text),) if text.strip() else ()
