"""Skills and kept functions of one open session: listed, kept after a test, used, removed and brought back."""

import asyncio
import difflib
from collections.abc import Callable, Sequence

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import ActionBlock, Block, CodeBlock
from oi_tui.app.engine.core.encoding import expressible, text_digest
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.tool_replies import FunctionDrafted, SkillsFound
from oi_tui.app.engine.core.tool_verbs import (
    ChangeSkill,
    DraftFunction,
    FindSkills,
    KeepFunction,
    SkillJob,
    SkillVerb,
    TestFunction,
    UseFunction,
)
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.skills.kept_functions import (
    PASSED,
    FunctionHead,
    KeptFunction,
    WrongFunction,
    find_function,
    function_file,
    functions_dir,
    keep_function,
    read_function,
    remove_function,
)
from oi_tui.app.engine.skills.session_functions import (
    CannotKeep,
    defined_names,
    read_session_function,
)
from oi_tui.app.engine.skills.skill_folder import restore_skill, set_skill_aside
from oi_tui.app.engine.skills.skill_records import FindTrusted, list_records
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line

NOT_AGREED = "was changed since you agreed to it"


class SkillDesk:
    """Follows the verbs about skills."""

    def __init__(
        self,
        session: Callable[[], Session],
        kernels: KernelSource,
        tell: Callable[[Reply], None],
        renew_tools: Callable[[], None],
        find_trusted: FindTrusted = tuple,
    ) -> None:
        """`renew_tools` updates the tools that the model is offered; `find_trusted` returns the folder's skills that
        are as the person trusted them."""
        self._session, self._kernels, self._tell = session, kernels, tell
        self._renew_tools, self._find_trusted = renew_tools, find_trusted
        self._drafts: dict[str, str] = {}
        """What was shown and can be kept, by name."""
        self._removed: dict[str, KeptFunction] = {}

    async def follow(self, verb: SkillVerb) -> None:
        """Do what the person wants."""
        match verb:
            case FindSkills():
                await self._tell_all(names=verb.names)
            case ChangeSkill():
                try:
                    await asyncio.to_thread(self._change, verb)
                except OiTuiError as error:
                    await self._tell_all(error.title)
                else:
                    await self._tell_all()
            case KeepFunction():
                await self._keep(verb)
            case _:
                raise TypeError(type(verb).__name__)

    async def work(self, job: SkillJob) -> None:
        """Do what runs code; OiTuiError if that cannot be."""
        match job:
            case DraftFunction():
                await self._draft(job)
            case TestFunction():
                await self._test(job.name)
            case UseFunction():
                function = await asyncio.to_thread(_usable, job.name)
                await self._session().run_code("python", function.code)
            case _:
                raise TypeError(type(job).__name__)

    # -- keeping

    async def _draft(self, job: DraftFunction) -> None:
        """Take it out of the session, or as the person changed it, test it, and show what would be kept."""
        if job.text:
            name, code, example, needs = await asyncio.to_thread(_changed_by_hand, job)
            runs = True
        else:
            blocks = self._session().transcript.blocks
            cells = _python_cells(blocks)
            meant = _python_cells([block for block in blocks if block.id == job.block_id]) if job.block_id else cells
            try:
                found = await asyncio.to_thread(read_session_function, job.name or _last_defined(meant), cells)
            except CannotKeep as error:
                raise OiTuiError(f"Not kept: {error}") from error
            name, code, example, needs = found.name, found.code, found.example, found.needs
            runs = found.example_ran
        before = await asyncio.to_thread(_kept_before, name)
        same = before is not None and before.code == code and before.head.example == example
        if before is not None and before.agreed and same:
            raise OiTuiError(f"{name} is kept already, as it is now.", hint="/skills shows it.")
        tested, words = await self._run_fresh(code, example if runs else "")
        if tested == PASSED and not runs:
            words = "It was defined in a fresh kernel. The example in its docstring has not run: t in /skills runs it."
        version = 1 if before is None else before.head.version + (0 if same else 1)
        text = function_file(FunctionHead(version=version, example=example, tested=tested), code)
        self._drafts = {name: text}  # the last one shown is the one that can be kept
        self._tell(
            FunctionDrafted(
                name=name,
                text=text,
                digest=text_digest(text),
                version=version,
                changes="" if before is None or same else _changes(before.text, text),
                needs=needs,
                passed=tested == PASSED,
                tested=words,
            )
        )

    async def _keep(self, verb: KeepFunction) -> None:
        text = self._drafts.get(verb.name)
        session = self._session()
        if text is None or verb.digest not in ("", text_digest(text)):
            raise SettingsError("That is not what was shown: nothing was kept.", hint=f"/keep {verb.name}")
        kept = await asyncio.to_thread(keep_function, verb.name, text)
        self._drafts.clear()
        self._renew_tools()
        version = f", version {kept.head.version}" if kept.head.version > 1 else ""
        hint = f"Every session can use it: /use {kept.name}, or the model by itself. /skills lists all."
        session.notice("info", f"Kept: {safe_text(kept.signature)}{version}.", hint)

    async def _test(self, name: str) -> None:
        function = await asyncio.to_thread(_usable, name)
        tested, words = await self._run_fresh(function.code, function.head.example)
        self._session().notice("info" if tested == PASSED else "warning", f"{name}: {words}")

    async def _run_fresh(self, code: str, example: str) -> tuple[str, str]:
        """Run it in a fresh kernel, as the person's own code: how that went for the file, and in a sentence."""
        kernel = self._kernels.fresh_kernel()
        source = f"{code}\n\n# An example\n{example}\n" if example else code
        try:
            block = await self._session().run_code("python", expressible(source), kernel)
        finally:
            await kernel.close()
        if block.state == "ok":
            what = "its example ran" if example else "it has no example, so it was only defined"
            return PASSED, f"The test in a fresh kernel passed: {what}."
        why = _why_failed(block)
        return f"failed: {why}", f"The test in a fresh kernel failed: {why}."

    # -- lists

    async def _tell_all(self, problem: str = "", *, names: bool = False) -> None:
        skills = await asyncio.to_thread(tuple, list_records(self._find_trusted))
        self._tell(SkillsFound(skills=skills, problem=problem, names=names))

    def _change(self, verb: ChangeSkill) -> None:
        match verb.kind, verb.change:
            case "function", "remove":
                self._removed[verb.name] = found = find_function(verb.name)
                remove_function(found.name)
            case "function", "restore":
                if verb.name not in self._removed:
                    raise SettingsError(f"{one_line(verb.name)[:80]} was not removed in this session.")
                removed = self._removed.pop(verb.name)
                keep_function(removed.name, removed.text, agreed=removed.agreed)
            case "skill", "remove":
                set_skill_aside(verb.name)
            case "skill", "restore":
                restore_skill(verb.name)
            case _:
                raise TypeError(verb.change)
        self._renew_tools()


def _python_cells(blocks: Sequence[Block]) -> list[str]:
    """Sources that ran to their end in the kernel of Python, in order."""
    return [
        block.source
        for block in blocks
        if isinstance(block, CodeBlock) and block.language == "python" and block.state == "ok" and not block.apart
    ]


def _last_defined(cells: Sequence[str]) -> str:
    for cell in reversed(cells):
        if names := defined_names(cell):
            return names[-1]
    raise CannotKeep("no function or class was defined there by code that ran to its end.")


def _kept_before(name: str) -> KeptFunction | None:
    try:
        return find_function(name)
    except SettingsError:
        return None


def _usable(name: str) -> KeptFunction:
    """The function, as the person agreed to it; SettingsError."""
    function = find_function(name)
    if function.wrong or not function.agreed:
        why = function.wrong or NOT_AGREED
        raise SettingsError(f"{name} {why}: it is not used.", hint="Look at it in /skills.")
    return function


def _why_failed(block: ActionBlock) -> str:
    error = next((one for one in reversed(block.outputs) if isinstance(one, ErrorOutput)), None)
    if block.state == "error" and error is not None:
        return one_line(safe_text(f"{error.name}: {error.value}"))[:200]
    return {"interrupted": "it was interrupted", "died": "the kernel ended"}.get(block.state, "it could not be run")


def _changed_by_hand(job: DraftFunction) -> tuple[str, str, str, tuple[str, ...]]:
    try:
        found = read_function(job.name, job.text, functions_dir() / f"{job.name}.py")
    except WrongFunction as error:
        raise SettingsError(f"Not kept: {one_line(job.name)[:80]} {error}.") from error
    return found.name, found.code, found.head.example, ()


def _changes(before: str, now: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "as it is kept", "as it would be", lineterm="")
    return "\n".join(lines)
