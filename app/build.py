"""The composition root: the only place that constructs things from settings. Imports the engine's services."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from oi_tui.app.data_files import checkpoints_dir, ledger_file, open_store
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.instructions import InstructionSources
from oi_tui.app.engine.core.model_request import RequestRecord, provider_prefix
from oi_tui.app.engine.core.offline import go_offline, is_offline
from oi_tui.app.engine.core.programs import Program
from oi_tui.app.engine.core.settings import FunctionsSection, KernelSection, Settings, without_network
from oi_tui.app.engine.core.settings_section import UndoSection
from oi_tui.app.engine.core.verbs import UseModel
from oi_tui.app.engine.core.widget_views import FindView
from oi_tui.app.engine.environments.discovery import choose_environment
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.credentials import credential_store
from oi_tui.app.engine.files.own_instructions import own_instructions
from oi_tui.app.engine.files.program_log import redact_logs, set_verbose
from oi_tui.app.engine.files.settings_file import SETTINGS
from oi_tui.app.engine.files.written_files import find_written_files
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.registered import registered_forms, registered_models, registered_programs
from oi_tui.app.engine.hooks.widget_views import PluginViews
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.kernels.programs import forms_source
from oi_tui.app.engine.kernels.remote.living import living_kernels
from oi_tui.app.engine.kernels.remote.server_kernels import ServerKernels
from oi_tui.app.engine.kernels.remote.servers import known_servers
from oi_tui.app.engine.log.audit.audit_hook import make_audit_trail
from oi_tui.app.engine.log.ledger import Ledger
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.metered_model import MeteredModel
from oi_tui.app.engine.log.recording.form import VERSION, Header
from oi_tui.app.engine.log.recording.tape import Tape
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.mcp.agreements import AGREEMENTS_FILE, known_agreements
from oi_tui.app.engine.mcp.servers import McpServers, find_login
from oi_tui.app.engine.mcp.sources import named_servers
from oi_tui.app.engine.models.keys import model_keys
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.sandbox.availability import look
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.secrets.redaction import Redactor, secrets_in
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.filtered_model import FilteredModel
from oi_tui.app.engine.session.function_limits import limit_cells, limits_in_words
from oi_tui.app.engine.session.limits import SpendingLimits
from oi_tui.app.engine.session.model_switch import Servers
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.own_tools import own_tools
from oi_tui.app.engine.session.services import KeepChanges, KernelTies, Services
from oi_tui.app.engine.skills.kept_functions import FUNCTIONS_FILE
from oi_tui.app.engine.skills.skill_folder import skills_dir
from oi_tui.app.engine.text.own_template import fill_template
from oi_tui.app.engine.trust.folder_decisions import FOLDERS_FILE as FOLDERS
from oi_tui.app.engine.trust.folder_instructions import folder_instructions
from oi_tui.app.engine.trust.rule_files import load_policy
from oi_tui.app.engine.trust.unsaved_work import UnsavedWork
from oi_tui.app.engine.web.web_tools import web_tools
from oi_tui.app.engine.workspace.checkpoints import Checkpoints
from oi_tui.app.engine.workspace.file_tools import file_tools
from oi_tui.app.engine.workspace.kept_folder import MEGABYTE, KeepLimits
from oi_tui.app.engine.workspace.run_changes import keep_changes
from oi_tui.app.frontend.client import LocalClient
from oi_tui.app.headless.json_answer import wanted_schema
from oi_tui.plugins.decisions_file import PLUGINS_FILE
from oi_tui.plugins.host import engine_hooks
from oi_tui.plugins.tool_files import enabled_tool_files, tool_file_troubles

OWN_RECORDS = (FOLDERS, PLUGINS_FILE, AGREEMENTS_FILE, FUNCTIONS_FILE)
"""What the person decided, in our folder: changes need approval, as those of the audit log."""


def make_engine(
    setup: Configure,
    send: Send,
    environ: Mapping[str, str] = os.environ,
    *,
    tape: Tape | None = None,
    redactor: Redactor | None = None,
    sessions: Path | None = None,
    try_sandbox: bool = False,
    uses_servers: bool = True,
) -> Engine:
    """One engine for one front end; a tape, whose redactor it is, gets what happens and what models say. Its sessions
    may be in another file. With `try_sandbox`, it finds out by itself whether there can be one, and says so if not; it
    has servers of tools where it `uses_servers`."""
    settings = without_network(setup.settings)
    if settings.network.offline:
        go_offline()
    policy = load_policy(
        settings,
        folder=paths.config_dir(),
        cwd=Path(setup.cwd),
        trusted=setup.trusted,
        seen=setup.rules,
        own=[*(paths.data_dir() / name for name in OWN_RECORDS), paths.audit_dir()],
    )
    secrets, hooks = redactor or redactor_of(setup, environ), engine_hooks()
    hooks.troubles += tool_file_troubles(folder := Path(setup.cwd) if setup.trusted else None)
    models = _models(settings, environ, secrets, hooks)
    instructions = instruction_sources(setup, models.is_embedded)
    profile = profile_of_code(setup, settings)
    redact_logs(lambda line: secrets.redact(line).text)
    set_verbose(setup.verbose)
    trail = make_audit_trail(
        profile,
        policy,
        cwd=setup.cwd,
        folder=paths.audit_dir(),
        own=paths.own_dirs(),
        redactor=secrets,
        program=version("oi-tui"),
    )
    spill_dir = paths.private_dir(paths.data_dir() / "outputs")
    added = kernel_additions(hooks, settings.functions)
    checkpoints = Checkpoints(checkpoints_dir(), most=(undo := settings.undo).disk_mb * MEGABYTE, days=undo.days)
    web = web_tools(settings.web, environ, credential_store(), secrets.learn)
    return Engine(
        Services(
            setup=setup,
            models=models,
            make_kernels=lambda ties: make_kernels(setup, environ, ties, profile, secrets, spill_dir, added),
            send=send,
            log=Log(store=open_store() if sessions is None else Store(sessions), trail=trail, tape=tape),
            policy=policy,
            redactor=secrets,
            look=UnsavedWork(),
            find_written=partial(find_written_files, setup.cwd, own={str(path) for path in paths.own_dirs()}),
            ledger=Ledger(ledger_file()),
            hooks=hooks,
            instructions=instructions,
            make_tools=(file_tools(profile, checkpoints), web, *own_tools(setup, hooks)),
            find_tool_files=partial(enabled_tool_files, folder),
            mcp=mcp_servers(setup, environ, secrets) if uses_servers else None,
            checkpoints=checkpoints,
            keep_changes=make_keeping(profile, checkpoints, undo) if undo.code else None,
            spill_dir=spill_dir,
            read_schema=lambda given: wanted_schema(given, setup)[0],
            trial=(lambda: look(profile)) if try_sandbox and profile.encloses else None,
            expect_request=models.expect_request,
        )
    )


def profile_of_code(setup: Configure, settings: Settings) -> Profile:
    """The sandbox of code, which can read skills."""
    profile = chosen_profile(settings.sandbox, Path(setup.cwd), hidden=paths.own_dirs())
    return replace(profile, readable=(*profile.readable, *filter(Path.is_dir, (skills_dir(),))))


def make_keeping(profile: Profile, checkpoints: Checkpoints, undo: UndoSection) -> KeepChanges:
    """Makes the keeper of a session's files before code runs, within the limits of the settings."""
    limits = KeepLimits(undo.files, undo.file_mb * MEGABYTE, undo.folder_mb * MEGABYTE)
    return keep_changes(profile, checkpoints, limits, paths.own_dirs())


def _models(settings: Settings, environ: Mapping[str, str], redactor: Redactor, hooks: Hooks) -> Models:
    keys = model_keys(environ, redactor.learn)
    return Models(settings.model, environ=environ, keys=keys, own=registered_models(hooks))


def mcp_servers(setup: Configure, environ: Mapping[str, str], redactor: Redactor) -> McpServers:
    """The servers of tools that the person and, where it is trusted, the folder name. Nothing is read yet."""
    folder = Path(setup.cwd)
    return McpServers(
        partial(named_servers, folder, trusted=setup.trusted),
        known_agreements(),
        folder=folder,
        environ=environ,
        rung=setup.settings.sandbox.rung,
        learn_secret=redactor.learn,
        find_auth=lambda server: find_login(credential_store(environ), server, redactor.learn),
    )


@asynccontextmanager
async def open_metered_model(
    setup: Configure, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[tuple[Model, Redactor]]:
    """The model of the settings, else the one chosen for new sessions, for requests beside any session: counted,
    limited and filtered as those of sessions. With what knows the secrets. OiTuiError without one."""
    settings = without_network(setup.settings)
    if settings.network.offline:
        go_offline()
    redactor, hooks = redactor_of(setup, environ), engine_hooks()
    models = _models(settings, environ, redactor, hooks)
    ledger = Ledger(ledger_file())
    limits = SpendingLimits(settings.budget, ledger, profile=setup.profile)

    def require(model: Model) -> None:
        if obstacle := limits.obstacle(provider_prefix(model.name), 0.0):
            raise ModelError("budget", obstacle.title, hint=obstacle.hint)

    try:
        chosen = _chosen_model(setup, settings, models)
        opened = await models.open(chosen.name, chosen.api_base or None, chosen.api_key, check=True)
        if hooks.listens("change_request") or hooks.listens("change_answer"):
            opened = FilteredModel(opened, hooks, redactor, lambda: "")
        blank = RequestRecord(at=0.0, folder=setup.cwd, profile=setup.profile)
        yield MeteredModel(opened, ledger.note, blank, require=require, wait=limits.wait), redactor
    finally:
        await models.close()


def _chosen_model(setup: Configure, settings: Settings, models: Models) -> UseModel:
    asked, store = settings.model, open_store()
    servers = Servers(models, asked, setup.api_key, store, folder=setup.cwd, profile=setup.profile)
    chosen = servers.default.find()
    store.close()
    if asked.name:
        return servers.with_key(UseModel(name=asked.name, api_base=asked.api_base or None, api_key=setup.api_key))
    if chosen is None:
        raise SettingsError("No model is named.", hint="Name one: -m NAME, or model.name in the settings.")
    return servers.with_key(UseModel(name=chosen.name, api_base=chosen.api_base or None, api_key=setup.api_key))


def instruction_sources(setup: Configure, is_small: Callable[[str], bool]) -> InstructionSources:
    """What the model reads beside the program's own words. SettingsError if the person's own cannot be read, or are no
    template."""
    section, folder = setup.settings.instructions, paths.config_dir()
    found = folder_instructions(Path(setup.cwd), trusted=setup.trusted, seen=setup.instructions)
    origin = f"profile {setup.profile}" if setup.profile else SETTINGS
    own = own_instructions(section, folder, origin)
    sources = InstructionSources(
        own,
        found.parts,
        found.remarks,
        limits_in_words(setup.settings.functions),
        section.variables,
        is_small,
        lambda name: setup.settings.model.form_of(name) == "helpers",
    )
    for part in own:
        fill_template(part, sources.variables, setup.cwd)
    return sources


class KernelAdditions(NamedTuple):
    """Additions of plugins to the kernels."""

    programs: Mapping[str, Program] = MappingProxyType({})
    """By the language that they run."""
    cells: tuple[str, ...] = ()
    """What each Python kernel executes first."""
    widget_views: FindView = lambda widget: None
    """How widgets are shown."""


def make_kernels(
    setup: Configure,
    environ: Mapping[str, str],
    ties: KernelTies,
    profile: Profile,
    redactor: Redactor,
    spill_dir: Path,
    added: KernelAdditions | None = None,
) -> Kernels:
    """The kernels of one session, with what plugins add. SettingsError if there is no such Python or server."""
    kernel, cwd, added = setup.settings.kernel, Path(setup.cwd), added or KernelAdditions()
    chosen = choose_environment(cwd, environ, asked=kernel.python, trusted=setup.trusted)
    servers = known_servers()
    moved = servers.move_tokens(credential_store()) if kernel.server else ""
    launch = Launch(
        cwd=cwd,
        settings=kernel,
        environ=environ,
        python=chosen.environment,
        trusted=setup.trusted,
        sandbox=profile,
        on_refusal=lambda refusal: ties.on_refusal(refusal),
        spill_dir=spill_dir,
        small_model=lambda: ties.has_embedded_model(),
        preload=lambda: preloads(kernel, small_model=ties.has_embedded_model()),
        token_variables=servers.token_variables,
        learn_secret=redactor.learn,
        session_id=lambda: ties.session_id,
        keeps_kernels=lambda: kernel.keep or ties.keeps_kernels,
        cells_at_start=added.cells,
        widget_views=added.widget_views,
    )
    there = ServerKernels(launch, servers, living_kernels())
    open_to_all = "Offline, but code runs without a sandbox: it can reach the network." if is_offline() else ""
    remarks = (there.begin(kernel.server) or chosen.remark, moved, "" if profile.encloses else open_to_all)
    return Kernels(launch, " ".join(remark for remark in remarks if remark), there=there, programs=added.programs)


def make_tool_kernels(setup: Configure, environ: Mapping[str, str] = os.environ) -> Kernels:
    """Kernels beside any session, in which files of tools are tried; to be closed."""
    settings = without_network(setup.settings)
    profile = profile_of_code(setup, settings)
    spill_dir = paths.private_dir(paths.data_dir() / "outputs")
    added = KernelAdditions(cells=limit_cells(settings.functions))
    return make_kernels(setup, environ, KernelTies(), profile, redactor_of(setup, environ), spill_dir, added)


def kernel_additions(hooks: Hooks, lists: FunctionsSection) -> KernelAdditions:
    """What plugins add to kernels, and the limits of functions."""
    forms = registered_forms(hooks)
    cells = (forms_source(forms),) if forms else ()
    return KernelAdditions(registered_programs(hooks), (*cells, *limit_cells(lists)), PluginViews(lambda: hooks))


def preloads(settings: KernelSection, *, small_model: bool) -> bool:
    """Whether Python kernels import numpy, pandas and pyplot beforehand: small models forget to."""
    match settings.preload:
        case "on":
            return True
        case "off":
            return False
        case "auto":
            return small_model


def local_client(setup: Configure, record: Path | None = None) -> LocalClient:
    """An engine in this process; all that goes in and out is recorded to a file, which is new (else StoreError)."""
    if record is None:
        return LocalClient(lambda send: make_engine(setup, send))
    loop = setup.settings.loop
    header = Header(
        format="oi-tui/recording",
        version=VERSION,
        created=time.time(),
        program=f"oi-tui {version('oi-tui')}",
        cwd=setup.cwd,
        approve=loop.approve,
        max_steps=loop.max_steps,
    )
    redactor = redactor_of(setup, os.environ)
    tape = Tape(record, header, redactor, time.monotonic)
    return LocalClient(lambda send: make_engine(setup, send, tape=tape, redactor=redactor))


def redactor_of(setup: Configure, environ: Mapping[str, str]) -> Redactor:
    """The redactor that knows the secrets of this environment, and the key in use."""
    return Redactor(secrets_in(environ) | {"API key": setup.api_key or ""})
