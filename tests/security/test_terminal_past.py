"""T1 and T3 at the sinks of what was: past sessions, earlier prompts, runs that are repeated, variables, recordings,
and the folder that a first start looks at. Read as in `test_terminal_sinks.py`: the raw output of the program.

What is kept is as hostile as what was told: here it is put into the files as somebody else would have written it.
"""

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputKept,
    OutputTailMoved,
    RerunFinished,
    RerunStarted,
    RetryScheduled,
    SecretsWithheld,
    SessionOpened,
    SettingsChanged,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Tail, WholeOutput
from oi_tui.app.engine.log.audit.log import AuditLog
from oi_tui.app.engine.log.audit.records import LogBody, NoticeWasGiven, SessionBegan, Surroundings
from oi_tui.app.engine.log.store import Store
from oi_tui.plugins.session_files import export_session, import_session
from support.hostile import (
    CONTROLS,
    HOSTILE,
    STRINGS,
    assert_clean,
    hostile,
    hostile_line,
    hostile_name,
    leave,
    seen_line,
)
from support.question import wait_armed
from support.sessions import code, printed, prose, recording, turn
from support.terminal import Terminal

pytestmark = pytest.mark.pty

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a hostile name."""
    work = tmp_path / hostile_name("work")
    work.mkdir()
    return work


@pytest.fixture
def start(terminal: Callable[..., Terminal], clean_env: dict[str, str], folder: Path) -> Callable[..., Terminal]:
    """Starts the program in that folder, with a model that nobody asks."""

    def started(*arguments: str, **changed: str) -> Terminal:
        env = {name: value for name, value in (clean_env | changed).items() if value}
        return terminal([OI_TUI, *arguments], env=env, cwd=folder, columns=120, rows=40, timeout=15)

    return started


MODEL = ("-m", "openai/scripted", "--api-base", "http://127.0.0.1:9", "--api-key", "x")

RUN = """\
import json, pathlib
evil, look = json.loads(pathlib.Path("evil.json").read_text())
print("in-now " + evil + "\\nafter" + "-now")
row = {"name": "odd", "type": f"in-type {look} after-type", "shape": f"in-shape {look}", "peek": f"in-peek {look}"}
told = {"oi_tui_variables_reply": {"variables": [row]}}
told["oi_tui_peek_reply"] = {"text": f"in-look {evil}" + "\\nafter" + "-look"}
session = get_ipython().kernel.session
send = session.send
def lie(stream, kind, content=None, *more, **others):
    return send(stream, kind, told.get(str(kind), content), *more, **others)
session.send = lie
"""
"""Prints something else than is on record, and makes a kernel that says of its variables what it likes."""


@pytest.fixture
def past(clean_env: dict[str, str], folder: Path) -> Path:
    """A database with a session that is hostile wherever it has text, also where ours would have cleaned it."""
    path = Path(clean_env["XDG_DATA_HOME"], "oi-tui", "sessions.db")
    path.parent.mkdir(mode=0o700)
    (folder / "evil.json").write_text(json.dumps([HOSTILE, "\x1b]0;PWNED\x07\x1b[6n\x9b2J\u202e[b]"]))
    said = NoticeAdded(
        block_id="n1", level="warning", title=hostile("notice"), hint=hostile("hint"), details=hostile("details")
    )
    with closing(Store(path)) as store:
        store.create("past", 1.0, str(folder))
        ran = code("c0", RUN, printed(f"needle {hostile('then')}"))
        inside = (prose("p1", hostile("prose")), ran, code("c1", f"1 # {hostile_line('source')}"))
        store.append("past", turn("u1", hostile_line("asked"), *inside))
        store.remember(f"draft:{folder}", hostile_line("draft"))
        told = export_session([said], "ipynb")
        store.append("past", import_session(told, "hostile.ipynb").events)
    with closing(sqlite3.connect(path)) as database, database:
        tags = json.dumps([hostile_line("tag")])
        database.execute(
            "UPDATE sessions SET title = ?, tags = ?, model = ?", (hostile_line("t"), tags, hostile_line("m"))
        )
        database.execute(
            "UPDATE texts SET text = ? WHERE text LIKE '%needle%'",
            (f"in-h \x1b]0;PWNED\x07\x1b[6nneedle{CONTROLS} out-h",),
        )
    return path


@pytest.mark.kernel
def test_T1_T3_past_sessions_earlier_prompts_repeated_runs_and_variables(
    start: Callable[..., Terminal], past: Path
) -> None:
    shown = start(*MODEL)
    shown.wait_for(seen_line("draft"))  # the engine has told something: the panels are there
    shown.send("\x15\x12")  # ctrl+u, ctrl+r
    shown.wait_for(seen_line("asked"))
    shown.send("\r")
    shown.wait_gone("Earlier prompts")
    shown.wait_for(seen_line("asked"))
    shown.send("\x02")
    shown.wait_for(seen_line("t"))
    shown.wait_for(seen_line("tag"))
    shown.wait_for("in-work [b] after-work")
    shown.send("needle")
    shown.wait_for("in-h needle out-h")
    shown.send("\x1b[B")
    shown.wait_for("space look")
    shown.send(" ")
    for mark in (seen_line("t"), "after-prose", "after-then", "# in-source <U+001B>]52;c;"):
        shown.wait_for(mark)
    shown.send("r")
    shown.wait_for("keep it")
    shown.send("\x1b")
    shown.wait_gone("keep it")
    shown.send("#")
    shown.wait_for("keep it")
    shown.send("\x1b")
    shown.wait_gone("keep it")
    shown.send("\r")
    shown.wait_for("From the file: in-notice")
    shown.wait_for("after-hint")
    shown.send("\x15/rebuild\r")
    wait_armed(shown, "enter run 2")
    shown.send("\x1b[B")
    shown.wait_for("<U+001B>")
    shown.send("\r")
    shown.wait_for("run again: ✗ refused")
    shown.send("\t")
    shown.wait_for("tab back")
    shown.send("G")  # what comes is followed from here on
    shown.wait_for("Re-ran 2 of 2")
    shown.send("G")
    shown.wait_for(re.compile("▌.*Re-ran 2 of 2"))
    shown.send("\r")
    shown.wait_for("--- then")
    shown.send("G")
    shown.wait_for("+++ now")
    shown.wait_for("after-now")
    shown.send("E")  # change the prompt, on a new branch
    shown.wait_for("i Forked.")
    shown.wait_for(re.compile(f"› .*{re.escape(seen_line('asked'))}"))
    shown.send("\x1bOQ")  # f2
    for mark in ("in-type [b] after-type", "in-shape [b]", "in-peek [b]"):
        shown.wait_for(mark)
    shown.click("type to filter")
    shown.send("odd")
    shown.wait_for(re.compile("│ odd *$", re.MULTILINE))
    shown.send("\r")
    shown.wait_for("after-look")
    leave(shown)


def test_T1_T3_the_folder_of_a_first_start_and_what_it_brings_along(
    start: Callable[..., Terminal], folder: Path
) -> None:
    rules, settings = folder / ".oi" / "permissions.toml", folder / ".oi" / "config.toml"
    rules.parent.mkdir()
    rules.write_text(f"deny = [{toml(f'Python(in-rule {STRINGS}[b]x[/b] after-rule)')}]\n")
    settings.write_text("[loop]\nmax_steps = 3\n")
    shown = start(*MODEL, OI_TUI_SANDBOX="")
    for mark in ("<U+001B>]0;PWNED<U+0007>", "[b] after-work?", "[b]x[/b] after-rule)", "loop.max_steps = 3"):
        shown.wait_for(mark)
    shown.send("o")
    wait_armed(shown, "enter choose")
    shown.send("\r")
    shown.wait_for("Ask, or")
    settings.write_text(f"[{toml(hostile_line('section'))}]\n{toml(hostile_line('key'))} = 1\n")
    shown.send("/sandbox\r")
    shown.wait_for("in-section")
    shown.send("\x1b")
    shown.wait_for("Ask, or")
    leave(shown)


def toml(text: str) -> str:
    """A quoted string of TOML in which nothing is hidden."""
    return json.dumps(text).replace("\\udb40\\udc41", "\\U000e0041")


def test_T1_T3_a_recording_that_somebody_else_made(
    start: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path
) -> None:
    language = hostile_line("la")
    source = f"1 # {hostile_line('source')}"
    file = recording(
        tmp_path / f"{hostile_name('file')}.jsonl",
        SessionOpened(session_id="s", created=1.0, cwd=hostile_line("cwd"), model=hostile_line("m"), approval="ask"),
        SettingsChanged(model=hostile_line("m"), approval="ask", api_base=hostile_line("base")),
        TurnStarted(block_id="u1", text=hostile("prompt"), files=(hostile_line("given"),)),
        StepStarted(number=1),
        *prose("p1", hostile("prose")),
        SecretsWithheld(block_id="p1", names=(hostile_line("secret"),)),
        CodeStarted(block_id="c1", language=language),
        CodeFinished(block_id="c1", language=language, source=source),
        DecisionMade(block_id="c1", verdict="run", decider="rule", source=source, reason=hostile("rule")),
        ExecutionStarted(block_id="c1", generation=1),
        OutputAdded(block_id="c1", output=printed(hostile("printed"))),
        OutputTailMoved(block_id="c1", name="stdout", tail=Tail(text=hostile("tail"), left_out_characters=9)),
        OutputKept(block_id="c1", whole=WholeOutput(path=hostile_line("path"), missing=hostile_line("missing"))),
        OutputAdded(block_id="c1", output=ErrorOutput(name=hostile_line("error"), value=hostile("value"))),
        ExecutionFinished(block_id="c1", status="error", duration=0.1),
        RerunStarted(block_id="c1", generation=1),
        RerunFinished(block_id="c1", outcome="differs", difference=hostile("difference")),
        KernelChanged(language=hostile_line("la"), state="dead", generation=1, detail=hostile("dead")),
        TurnEnded(reason="model_error", detail=hostile("detail")),
        TurnStarted(block_id="u2", text=hostile("next")),
        StepStarted(number=1),
        RetryScheduled(delay=1.0, why=hostile("retry")),
        CodeStarted(block_id="c2", language=language),
        CodeFinished(block_id="c2", language=language, source=source),
        DecisionRequested(
            request_id="d1",
            block_id="c2",
            language=language,
            source=source,
            sha256=hostile_line("sha"),
            why=hostile("why"),
            labels=(hostile_line("label"),),
        ),
        program=HOSTILE,
        cwd=hostile_line("cwd"),
    )
    shown = start("replay", "--instant", str(file))
    shown.wait_for("The recording of")
    for mark in (seen_line("label"), "after-why", f"{seen_line('la')} ✗ dead", "after-m ·", "after-next"):
        shown.wait_for(mark)
    wait_armed(shown)
    shown.send("?")
    shown.wait_for("it may do more")
    shown.send("?")  # its lines are the timeline's again
    shown.wait_gone("it may do more")
    shown.send("\t")
    shown.send("g")
    for name in ("prompt", "given", "prose", "rule", "printed", "tail", "error", "value", "next"):
        shown.wait_for(f"in-{name}" if name == "rule" else f"after-{name}")
    shown.send("X")
    shown.wait_for(re.compile(f"▌✗ {re.escape(seen_line('la'))}"))
    shown.send("\r")
    shown.wait_for("after-missing")
    shown.send("\x11")
    shown.wait_for("y leave")
    shown.send("y")
    shown.wait_exit()
    assert_clean(shown)


COMMANDS = """
import sys
from oi_tui.app.cli import program
for argv in {argvs!r}:
    print("$", *argv[:2])
    try:
        program(argv, standalone_mode=False)
    except SystemExit as end:
        print("ended with", end.code)
"""


def test_T1_T3_what_the_commands_print_of_what_was(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], past: Path, folder: Path, tmp_path: Path
) -> None:
    with closing(AuditLog(Path(clean_env["XDG_STATE_HOME"], "oi-tui", "audit"), "past")) as log:
        surroundings = Surroundings(cwd=str(folder), sandbox=hostile_line("box"), network=hostile_line("net"))
        began = SessionBegan(surroundings=surroundings, model=hostile_line("m"), approval="ask")
        log.add([LogBody(at=1.0, session="past", record=began)])
        log.add([LogBody(at=1.0, session="past", record=NoticeWasGiven(level="error", title=hostile("title")))])
    file = recording(tmp_path / f"{hostile_name('file')}.jsonl", *turn("u1", "x", code("c1", f"1 # in-run {HOSTILE}")))
    notebook = tmp_path / f"{hostile_name('notebook')}.ipynb"
    notebook.write_bytes(export_session(turn("u1", hostile("prompt")), "ipynb", title=hostile_line("imported")))
    argvs = [
        ["sessions"],
        ["sessions", "search", "needle"],
        ["sessions", "show", "past"],
        ["sessions", "import", str(notebook)],
        ["audit", "show", "past"],
        ["replay", "--verify", str(file)],
    ]
    command = [sys.executable, "-c", COMMANDS.format(argvs=argvs)]
    shown = terminal(command, env=clean_env, cwd=folder, columns=120, rows=150, timeout=15)
    shown.wait_for("after-work? [y/N]:")
    shown.send("y\r")
    shown.wait_for("ended with 1")
    shown.wait_exit()
    for mark in (
        *(
            seen_line("t"),
            "in-h needle out-h",
            "…",
            "in-work [b] after-work",
            "after-prose",
            "after-then",
            "after-hint",
        ),
        *(seen_line("imported"), seen_line("box"), "after-title", "<U+001B>]0;open", "in-file [b] after-file.jsonl"),
        "✗ refused  python · 1 # in-run",
    ):
        assert mark in shown.screen.replace("\n", ""), mark
    assert_clean(shown)
