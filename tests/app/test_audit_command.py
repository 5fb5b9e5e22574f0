"""`oi-tui audit`: the log in words and as it is, and whether it is as it was written."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import CodeFinished, CodeStarted
from oi_tui.app.engine.log.audit.account import in_words
from oi_tui.app.engine.log.audit.fold import source_digest
from oi_tui.app.engine.log.audit.log import AuditLog
from oi_tui.app.engine.log.audit.records import (
    AnyRecord,
    ConversationWasCleared,
    DecisionWasMade,
    FilesWereLeft,
    InputWasAnswered,
    InputWasAsked,
    InstructionsWere,
    KernelBegan,
    KernelWasStopped,
    LinesWereLost,
    LogBody,
    NetworkWasRefused,
    NoticeWasGiven,
    RefusalsWereCounted,
    RunBegan,
    RunEnded,
    RunWasRefused,
    SecretsWereWithheld,
    SessionBegan,
    SessionLeft,
    SettingsWere,
    Surroundings,
    WriteWasInterrupted,
)
from oi_tui.app.engine.log.store import Store

SOURCE = "print(40 + 2)\nmore()"
SHA256 = source_digest(SOURCE)
SHORT = SHA256[:12]

BEGAN = RunBegan(
    block_id="b",
    language="python",
    sha256=SHA256,
    generation=2,
    author="assistant",
    cwd="/work",
    sandbox="workspace-write",
    network="none",
    approval="ask",
    proof="self-test passed",
)
DECIDED = DecisionWasMade(
    block_id="b",
    language="python",
    sha256=SHA256,
    verdict="run",
    decider="person",
    latency=2.14,
    reason="\x1b]0;evil\x07looks \u202egood",
    labels=("deletes files, line 3",),
)
IN_WORDS: dict[str, AnyRecord] = {
    "the session was opened again · /work · no sandbox · approval: ask · m": SessionBegan(
        surroundings=Surroundings(cwd="/work", sandbox="danger-full-access"), model="m", approval="ask", resumed=True
    ),
    "instructions of the person: those of the settings": InstructionsWere(),
    f"instructions of the person: {SHORT}": InstructionsWere(sha256=SHA256),
    "settings: approval auto · m": SettingsWere(model="m", approval="auto"),
    f"python 2 runs {SHORT} · sandbox workspace-write, network none, self-test passed": BEGAN,
    f"{SHORT} ended: error after 1.50 s · ValueError · exit code 1 · 12,000 characters of output · 9 more dropped": (
        RunEnded(
            block_id="b",
            sha256=SHA256,
            status="error",
            duration=1.5,
            exit_code=1,
            error="ValueError",
            output_characters=12_000,
            dropped_characters=9,
        )
    ),
    f"{SHORT} was not run · The disk is full.": RunWasRefused(
        block_id="b", language="python", sha256=SHA256, why="The disk is full."
    ),
    "3 files changed · run later: a.pth and 1 more": FilesWereLeft(
        block_id="b", changed=3, later=("a.pth",), later_count=2
    ),
    "1 file changed": FilesWereLeft(block_id="b", changed=1),
    "the sandbox refused the network: example.org:443 · not on the list": NetworkWasRefused(
        block_id="b", host="example.org:443", why="not on the list"
    ),
    "the network was refused 1,012 times: example.org:443 × 1,000, b:80 × 2 and 10 more": RefusalsWereCounted(
        block_id="b", count=1012, hosts=(("example.org:443", 1000), ("b:80", 2))
    ),
    "the network was refused 1 time after the run had ended: b:80 × 1": RefusalsWereCounted(
        block_id="b", count=1, hosts=(("b:80", 1),), late=True
    ),
    "python 1 started · no sandbox": KernelBegan(language="python", generation=1, sandbox="danger-full-access"),
    "python 1 interrupted by the person": KernelWasStopped(language="python", generation=1, how="interrupting"),
    "the code asked for a password": InputWasAsked(block_id="b", request_id="r", password=True),
    "no answer: the run was stopped": InputWasAnswered(block_id="b", request_id="r", cancelled=True),
    "withheld from the model: 3 × TOKEN, OpenAI key": SecretsWereWithheld(
        block_id="b", count=3, names=("TOKEN", "OpenAI key")
    ),
    "error: It broke.": NoticeWasGiven(level="error", title="It broke."),
    "the conversation was cleared": ConversationWasCleared(),
    "the line before this one has no end (7 bytes of it are there)": WriteWasInterrupted(characters=7),
    "lines up to 9 had vanished from the log while it was open": LinesWereLost(seq=9, sha256=SHA256),
    "the session was closed": SessionLeft(),
}


def oi_tui(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "oi_tui.app.cli", "audit", *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def folder(clean_env: dict[str, str]) -> Path:
    """Logs of two sessions, the older of which begins with `aa` and is in the store too."""
    state = Path(clean_env["XDG_STATE_HOME"]) / "oi-tui" / "audit"
    for session, records in (("aa11", (DECIDED, BEGAN)), ("bb22", (SessionLeft(),))):
        log = AuditLog(state, session)
        log.add([LogBody(at=1_700_000_000.0, session=session, record=record) for record in records])
        log.seal()
        log.close()
    older = time.time() - 100
    os.utime(next(state.glob("*-aa11.jsonl")), (older, older))
    data = Path(clean_env["XDG_DATA_HOME"]) / "oi-tui"
    data.mkdir()
    store = Store(data / "sessions.db")
    store.create("aa11", 1.0, "/work")
    store.append(
        "aa11",
        [
            CodeStarted(block_id="b", language="python"),
            CodeFinished(block_id="b", language="python", source=SOURCE),
        ],
    )
    store.close()
    return state


@pytest.mark.parametrize("words", IN_WORDS)
def test_every_record_can_be_told_in_a_line(words: str) -> None:
    assert in_words(IN_WORDS[words]) == words


def test_the_log_is_shown_a_line_a_record_with_nothing_that_a_terminal_obeys(
    clean_env: dict[str, str], folder: Path
) -> None:
    shown = oi_tui(clean_env, "show", "aa")
    assert shown.returncode == 0, shown.stderr
    head, decided, ran = shown.stdout.splitlines()
    assert head.startswith("Session aa11 · ")
    said = f"python {SHORT} may run · decided by the person after 2.1 s · looks good · deletes files, line 3"
    assert decided.partition("  ")[2] == said
    assert ran.endswith("self-test passed · print(40 + 2)")
    assert "\x1b" not in shown.stdout


def test_the_newest_log_is_meant_where_none_is_named_and_json_is_what_is_in_it(
    clean_env: dict[str, str], folder: Path
) -> None:
    shown = oi_tui(clean_env, "show", "--json")
    (record,) = [json.loads(line) for line in shown.stdout.splitlines()]
    assert (record["session"], record["seq"], record["record"]) == ("bb22", 1, {"type": "SessionLeft"})
    hostile = oi_tui(clean_env, "show", "--json", "aa")
    assert hostile.stdout.isascii()


def test_verify_says_what_is_wrong_and_where_by_its_exit_code_too(clean_env: dict[str, str], folder: Path) -> None:
    good = oi_tui(clean_env, "verify", "--all")
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.splitlines() == [
        "aa11: intact · 2 lines",
        "bb22: intact · 1 line",
        "heads.jsonl: intact · 2 lines",
    ]
    log = next(folder.glob("*-aa11.jsonl"))
    log.write_text(log.read_text().replace("deletes files", "prints words!"))
    bad = oi_tui(clean_env, "verify", "aa")
    assert bad.returncode == 1
    assert bad.stdout.splitlines()[:2] == [
        "aa11: NOT AS IT WAS WRITTEN · 2 lines",
        "  line 1, edited: it is not what the next line says it was",
    ]


def test_verify_misses_a_log_however_it_is_named_and_finds_others_intact(
    clean_env: dict[str, str], folder: Path
) -> None:
    next(folder.glob("*-aa11.jsonl")).unlink()
    for named in ((), ("--all",), ("aa",)):
        gone = oi_tui(clean_env, "verify", *named)
        assert gone.returncode == 1
        assert "  line 1, missing: the whole log is gone; the heads know of it" in gone.stdout.splitlines()
    assert oi_tui(clean_env, "verify", "bb").returncode == 0


def test_verify_finds_a_session_whose_text_is_not_what_ran_and_asks_nothing_of_one_that_was_deleted(
    clean_env: dict[str, str], folder: Path
) -> None:
    with closing(sqlite3.connect(Path(clean_env["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db")) as database, database:
        database.execute("UPDATE events SET event = replace(event, '40 + 2', '40 + 3') WHERE session_id = 'aa11'")
    bad = oi_tui(clean_env, "verify", "aa")
    assert bad.returncode == 1
    assert bad.stdout.splitlines()[:2] == [
        "aa11: NOT AS IT WAS WRITTEN · 2 lines",
        "  line 2, rewritten: the session has another source for this run than the one that ran",
    ]
    with closing(sqlite3.connect(Path(clean_env["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db")) as database, database:
        database.execute("UPDATE events SET event = 'nonsense' WHERE session_id = 'aa11'")
    torn = oi_tui(clean_env, "verify", "aa")
    assert torn.returncode == 1
    assert "it cannot be compared with its session: Session aa11 cannot be read." in torn.stdout
    with closing(sqlite3.connect(Path(clean_env["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db")) as database, database:
        database.execute("DELETE FROM events")
    assert oi_tui(clean_env, "verify", "aa").returncode == 0


def test_a_log_that_is_not_there_is_said_in_plain_words(clean_env: dict[str, str], folder: Path) -> None:
    for name, words in (("zz", "There is no audit log of a session that begins with 'zz'."), ("", "begins with ''")):
        missing = oi_tui(clean_env, "show", name)
        assert missing.returncode == 5
        assert words in missing.stderr
    other = clean_env | {"XDG_STATE_HOME": str(folder / "empty")}
    nothing = oi_tui(other, "verify")
    assert nothing.returncode == 5
    assert "The first run starts one." in nothing.stderr
