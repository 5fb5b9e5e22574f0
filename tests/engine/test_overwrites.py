"""Work that nobody committed is asked about before a session writes over it, and the session's own is not."""

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.agent import own_files
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, DecisionRequested, ExecutionStarted, TurnEnded
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Confinement, Language, PermissionMode, Reach
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.losses import NO_LOOK, Loss, Target
from oi_tui.app.engine.policy.rules import Base, short_form
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, Happenings
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolOutput
from oi_tui.app.engine.trust.unsaved_work import CHANGED, UnsavedWork
from support.kinds import of
from support.turns import play

BASE = Base(cwd="/work", home="/home/me")
POLICY = Policy(mode="unlessDestructive", base=BASE)
CORPUS = Path(__file__).parent / "policy_corpus"
WORK = ", whose changes are not committed"


def decided(language: Language, source: str, policy: Policy = POLICY, **more: Any) -> PolicyDecision:
    """As the session does: the source is read, what it would overwrite is looked at, and it is decided again. In
    the folder, `notes.md` has changes."""
    request = PolicyRequest(language, source, **more)
    found = decide(request, policy, "auto")
    meant = {
        one: f"/work/{one.source.rpartition('/')[2]}" if one.path == "/work" else one.path for one in found.targets
    }
    losses = tuple(Loss(one, path, WORK) for one, path in meant.items() if path == "/work/notes.md")
    return decide(request._replace(losses=losses), policy, "auto")


def corpus(name: str) -> list[tuple[Language, str]]:
    """The sources of a file of the corpus, with their language."""
    return [
        (language, line.replace("⏎", "\n"))
        for language in ("shell", "python")
        for line in (CORPUS / f"{name}_{language}.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("# ")
    ]


@pytest.mark.parametrize(("language", "source"), corpus("overwrites"))
def test_what_would_overwrite_work_is_asked_about_by_its_name_and_what_permits_it(
    language: Language, source: str
) -> None:
    found = decided(language, source)
    assert (found.verdict, found.ground) == ("ask", "harm")
    assert "it overwrites notes.md, whose changes are not committed, line " in found.by
    assert "permitted by --allow-destructive or a rule" in found.by
    assert decided(language, source, Policy(base=BASE)).verdict == "allow"
    assert (
        decided(language, source, Policy(mode="unlessDestructive", base=BASE, allow_destructive=True)).verdict
        == "allow"
    )


@pytest.mark.parametrize(("language", "source"), corpus("keeps"))
def test_what_keeps_it_or_cannot_be_told_from_the_source_runs_unasked(language: Language, source: str) -> None:
    assert decided(language, source).verdict == "allow"


def test_patterns_are_looked_at_as_patterns_and_copies_of_folders_as_trees() -> None:
    def targets(language: Language, source: str) -> Sequence[tuple[str, bool, str, bool]]:
        found = decide(PolicyRequest(language, source), POLICY, "auto").targets
        return [(one.path, one.pattern, one.source, one.tree) for one in found]

    assert targets("shell", "sed -i s/a/b/ src/*.py") == [("/work/src/*.py", True, "", False)]
    assert targets("shell", 'for f in *.py; do sed -i s/a/b/ "$f"; done') == [("/work/*.py", True, "", False)]
    assert targets("shell", "cp -r a/* b") == [("/work/b", True, "/work/a/*", True)]
    assert targets("shell", "rsync -a a/ b/") == [("/work/b", False, "/work/a", True)]
    every = "from pathlib import Path\nfor p in sorted(Path('src').rglob('*.py')):\n    p.write_text(x)"
    assert targets("python", every) == [("/work/src/**/*.py", True, "", False)]
    assert targets("python", "import glob\nfor p in glob.glob('*.py'):\n    open(p, 'w')") == [
        ("/work/*.py", True, "", False)
    ]


def test_a_rule_permits_an_overwrite_and_other_modes_show_it_beside_the_question() -> None:
    rule = short_form("Shell(cp a notes.md)", "allow")
    assert (
        decided("shell", "cp a notes.md", Policy(mode="unlessDestructive", base=BASE, rules=(rule,))).verdict == "allow"
    )
    asked = decided("shell", "cp a notes.md", Policy(mode="default", base=BASE))
    assert asked.labels[0] == "overwrites notes.md, whose changes are not committed, line 1"


def test_names_of_files_are_told_without_their_tricks_and_not_without_end() -> None:
    target = Target("/work/x", 3)
    loss = Loss(target, "/work/a\x1b[31m\nb" + "c" * 500, WORK)
    by = decide(PolicyRequest("shell", "ls", losses=(loss, loss._replace(path="/x"))), POLICY, "auto").by
    assert "\x1b" not in by
    assert "\n" not in by
    assert len(by) < 400
    assert "and 1 more file, whose changes" in by


def test_sources_made_to_take_long_are_read_in_time() -> None:
    twice = "a = 'x'\n" + "a = a + a + a\n" * 2_000 + "open(a, 'w')"
    shell = "a=x\n" + "a=$a$a$a\n" * 2_000 + "echo > $a"
    many = "\n".join(f"p{i} = p{i + 1} / p{i + 1}" for i in range(500)) + "\nopen(p0, 'w')"
    for language, source in (("python", twice), ("shell", shell), ("python", many)):
        assert len(decide(PolicyRequest(language, source), POLICY, "auto").targets) <= 1_000


# -- in a session -------------------------------------------------------------------------------------------


def bash(source: str) -> str:
    return f"I'll do it.\n\n```bash\n{source}\n```\n"


def run_in(folder: Path, source: str) -> Happenings:
    """What a shell would do, done by one."""
    done = subprocess.run(["bash", "-c", source], cwd=folder, check=False)
    return [RunResult(status="ok" if done.returncode == 0 else "error")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository without a commit: all that is in it is work of the person."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "notes.md").write_text("work of a week")
    return tmp_path


def make(folder: Path, *answers: str, mode: PermissionMode = "unlessDestructive", **more: Any) -> Session:
    kernel = FakeKernel(
        lambda source: run_in(folder, source), language="shell", confinement=Confinement(sandboxed=True)
    )
    policy = Policy(mode=mode, base=Base(cwd=str(folder), home="/home/me"))
    settings = LoopSection(approve="auto", max_repeats=100)
    arguments: dict[str, Any] = {"can_ask": True, "policy": policy, "look": UnsavedWork(), **more}
    arguments.setdefault("kernels", FakeKernels(shell=kernel))
    return Session(settings=settings, model=FakeModel(*answers), **arguments)


async def deciders(session: Session, prompt: str = "go", verdict: Verdict = "run") -> tuple[list[str], list[str]]:
    """Who decided about each action, and what was asked."""

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict=verdict))

    events = await play(session, session.run(prompt), react)
    return [made.decider for made in of(DecisionMade, events)], [asked.why for asked in of(DecisionRequested, events)]


async def test_U28_an_overwrite_is_asked_about_once_and_then_the_file_is_the_sessions_own(folder: Path) -> None:
    session = make(
        folder, *map(bash, ("echo 1 > notes.md", "echo 2 > notes.md", "cp notes.md b", "mv b notes.md")), "Done."
    )
    who, asked = await deciders(session)
    assert who == ["person", "mode", "mode", "mode"]
    [why] = asked
    assert why.startswith(
        "asked because of what it does: it overwrites notes.md, which is not under version control, line 1"
    )


async def test_what_the_person_changes_meanwhile_is_work_again(folder: Path) -> None:
    session = make(
        folder, bash("echo 1 > new.md"), "Done.", bash("echo 2 > new.md"), "Done.", bash("rm new.md"), "Done."
    )
    assert (await deciders(session))[0] == ["mode"]
    (folder / "new.md").write_text("mine now")
    assert (await deciders(session))[0] == ["person"]
    (folder / "new.md").write_text("mine again")
    assert (await deciders(session))[0] == ["person"]


async def test_a_file_that_was_made_may_be_added_to_and_then_deleted(folder: Path) -> None:
    session = make(folder, *map(bash, ("echo 1 > new.md", "echo 2 >> new.md", "echo 3 > new.md", "rm new.md")), "Done.")
    assert (await deciders(session))[0] == ["mode"] * 4


async def test_a_run_that_only_adds_to_a_file_does_not_make_it_the_sessions_own(folder: Path) -> None:
    nothing = "if false; then echo > notes.md; fi"
    session = make(folder, bash("echo 1 >> notes.md"), bash(nothing), bash("echo 2 > notes.md"), "Done.")
    assert (await deciders(session))[0] == ["mode", "person", "person"]
    session = make(folder, bash("echo 1 >> notes.md"), bash("echo 2 > notes.md"), "Done.")
    assert (await deciders(session))[0] == ["mode", "person"]


async def test_a_folder_that_an_earlier_cell_changed_to_is_looked_in_too(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("work")
    session = make(folder, bash("cd src"), bash("echo > a.py"), "Done.")
    who, asked = await deciders(session)
    assert who == ["mode", "person"]
    assert "it overwrites src/a.py, which" in asked[0]


async def test_where_nobody_can_be_asked_an_overwrite_is_refused_and_the_model_is_told_the_file_and_the_flag(
    folder: Path,
) -> None:
    session = make(folder, bash("echo 1 > notes.md"), "I see.", can_ask=False)
    events = await play(session, session.run("go"))
    assert not of(ExecutionStarted, events)
    [made] = of(DecisionMade, events)
    assert "it overwrites notes.md, which is not under version control" in made.reason
    assert "--allow-destructive" in made.reason
    assert of(TurnEnded, events)[0].reason == "done"
    assert (folder / "notes.md").read_text() == "work of a week"


async def test_a_disk_that_does_not_answer_counts_as_a_loss(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hangs:
        """A look that ends when it is told to."""

        def __init__(self) -> None:
            self.loop, self.end = asyncio.get_running_loop(), asyncio.Event()

        def list_files(self, targets: Sequence[Target]) -> Sequence[str]:
            return ()

        def find_losses(self, targets: Sequence[Target]) -> Sequence[Loss]:
            asyncio.run_coroutine_threadsafe(self.end.wait(), self.loop).result(10)
            return ()

    monkeypatch.setattr(own_files, "SECONDS", 0.05)
    look = Hangs()
    who, asked = await deciders(make(folder, bash("echo 1 > notes.md"), "Done.", look=look))
    look.end.set()
    assert who == ["person"]
    assert "took too long to find out" in asked[0]


async def test_an_interrupt_during_the_look_ends_the_turn_and_runs_nothing(folder: Path) -> None:
    class Interrupts:
        """A look in the middle of which the person presses Esc."""

        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()
            self.session: Session | None = None

        def list_files(self, targets: Sequence[Target]) -> Sequence[str]:
            return ()

        def find_losses(self, targets: Sequence[Target]) -> Sequence[Loss]:
            assert self.session is not None
            self.loop.call_soon_threadsafe(self.session.interrupt)
            return ()

    look = Interrupts()
    look.session = make(folder, bash("echo 1 > notes.md"), "Done.", look=look)
    events = await play(look.session, look.session.run("go"))
    assert not of(ExecutionStarted, events)
    assert of(TurnEnded, events)[0].reason == "interrupted"


def test_words_are_the_same_where_nobody_could_tell() -> None:
    assert CHANGED == WORK


REACH = Reach(writes=("/work",), kept=("/work/.git",), reads=("/work", "/usr"))


@pytest.mark.parametrize(
    ("language", "source"),
    [
        *(("shell", "mv notes.md /tmp"), ("shell", "mv notes.md ~/backup/"), ("shell", "mv -f notes.md /dev/shm/x")),
        *(("shell", "sudo mv notes.md /tmp/x"), ("python", "import shutil\nshutil.move('notes.md', '/tmp/x')")),
        *(("python", "import os\nos.rename('notes.md', '/tmp/x')"), ("python", "!mv notes.md /tmp")),
        ("python", "from pathlib import Path\nPath('notes.md').rename('/tmp/x')"),
    ],
)
def test_U28_what_is_moved_to_where_a_sandbox_keeps_nothing_is_lost(language: Language, source: str) -> None:
    found = decided(language, source, confinement=Confinement(sandboxed=True, reach=REACH))
    assert "it loses notes.md, whose changes are not committed, line " in found.by
    assert decided(language, source).verdict == "allow"
    inside = source.replace("/tmp", "/work/old").replace("~/backup", "old").replace("/dev/shm", "old")
    assert decided(language, inside, confinement=Confinement(sandboxed=True, reach=REACH)).verdict == "allow"


def test_U28_what_a_tool_is_told_to_write_is_looked_at_too() -> None:
    async def write(arguments: Arguments, output: ToolOutput) -> str:
        return str((arguments, output))

    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    may = Capabilities(writes=True, destroys=False)
    tool = Tool(name="edit", description="", schema=schema, run=write, capabilities=may)
    request = PolicyRequest("", '{"path": "notes.md"}', tool="edit", reading=tool.facts('{"path": "notes.md"}'))
    [target] = decide(request, POLICY, "auto").targets
    found = decide(request._replace(losses=(Loss(target, target.path, WORK),)), POLICY, "auto")
    assert found.by.startswith("what it does: it overwrites notes.md, whose changes are not committed (permitted by")


@pytest.mark.parametrize("first_elsewhere", [True, False])
async def test_what_a_session_wrote_on_one_machine_is_not_its_own_on_another(
    folder: Path, first_elsewhere: bool
) -> None:
    there = folder / "there"
    there.mkdir()
    for place in (folder, there):
        (place / "new.md").write_text("work of the person")

    def run(source: str) -> Happenings:
        return run_in(there if kernel.elsewhere else folder, source)

    kernel = FakeKernel(run, language="shell", confinement=Confinement(sandboxed=True))
    answers = bash("echo 1 > new.md"), "Done.", bash("rm new.md"), "Done."
    session = make(folder, *answers, look=NO_LOOK, kernels=FakeKernels(shell=kernel))
    kernel.elsewhere = first_elsewhere
    assert await deciders(session) == (["mode"], [])
    kernel.elsewhere = not first_elsewhere
    decided, [why] = await deciders(session)
    assert decided == ["person"]
    assert "deletes" in why
