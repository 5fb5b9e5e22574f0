"""The command line as a program of its own: flags, exit codes, what goes to stdout and what to stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import HEADLESS_LIMIT, KernelSection, Settings
from oi_tui.app.flags import Flags, plain_flags, with_time_limit
from oi_tui.app.frontend.client import ProcessClient
from oi_tui.app.options import common
from support.openai_server import OpenAIServer, Turn
from support.script import Script

CODE = "I'll add.\n\n```python\nprint(40 + 2)\n```\n"


def oi_tui(
    env: dict[str, str], *args: str, data: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "oi_tui.app.cli", *args],
        env=env,
        input=data,
        capture_output=True,
        timeout=100,
        check=False,
        cwd=cwd,
        start_new_session=True,  # no controlling terminal: there is nobody to ask
    )


def on(server: OpenAIServer) -> list[str]:
    return ["-m", "openai/scripted", "--api-base", server.url, "--api-key", "x"]


@pytest.mark.kernel
def test_a_task_prints_the_final_answer_on_stdout_and_the_rest_on_stderr(
    clean_env: dict[str, str], openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.script(Turn(text=CODE), Turn(text="It is 42."))
    done = oi_tui(clean_env, "run", "--yes", *on(openai_server), "add", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"It is 42.\n"
    narration = done.stderr.decode()
    assert "print(40 + 2)" in narration
    assert "\n42\n" in narration
    assert "42" in json.dumps(openai_server.requests[1])


@pytest.mark.kernel
def test_L1_json_prints_message_language_chunks_one_a_line(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("I multiply.\n\n```python\na = 6\nb = 7\nprint(a * b)\n```", "It is 42.")
    done = oi_tui(clean_env, *script.arguments, "run", "--yes", "--json", "add", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    chunks = [json.loads(line) for line in done.stdout.splitlines()]
    assert all("role" in chunk and "type" in chunk for chunk in chunks)
    for kind, count in (("code", 1), ("console", 1), ("message", 2)):
        runs = [c for c in chunks if c["type"] == kind and c["role"] != "user"]
        assert sum(c.get("start", False) for c in runs) == count, (kind, runs)
        assert sum(c.get("end", False) for c in runs) == count, (kind, runs)
    output = "".join(c["content"] for c in chunks if c.get("format") == "output")
    assert output == "42\n"
    assert [c["content"] for c in chunks if c.get("format") == "active_line"] == ["1", "2", "3"]


def test_without_anybody_to_ask_nothing_runs_and_the_exit_code_says_so(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("```python\nopen('made', 'w')\n```")
    done = oi_tui(clean_env, "run", *script.arguments, "make a file", cwd=tmp_path)
    assert done.returncode == 7
    assert b"nobody" in done.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.kernel
@pytest.mark.parametrize(("flags", "code"), [(("--yes",), 7), (("--yes", "--allow-destructive"), 0)])
def test_what_destroys_is_refused_with_its_own_words_and_exit_code_unless_a_flag_permits_it(
    flags: tuple[str, ...], code: int, clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    (tmp_path / "build").mkdir()
    script.write("```bash\nrm -rf build\n```", "I see.")
    done = oi_tui(clean_env, "run", *flags, *script.arguments, "clean up", cwd=tmp_path)
    assert done.returncode == code, done.stderr.decode()
    assert (tmp_path / "build").exists() == (code == 7)
    assert done.stdout == b"I see.\n"
    if code == 7:
        assert b"Not finished: there is nobody to approve it" in done.stderr
        assert b"--allow-destructive" in done.stderr
        assert "--allow-destructive" in json.dumps(script.requests[1])


STUBBORN = """\
import time
while True:
    try: time.sleep(60)
    except BaseException: pass
"""


@pytest.mark.kernel
@pytest.mark.parametrize("endless", ["while True: pass", STUBBORN], ids=["endless", "stubborn"])
def test_R14_a_cell_that_never_ends_is_ended_at_its_time_limit_and_the_exit_code_says_so(
    endless: str, clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write(f"```python\nprint('begun', flush=True)\n{endless}\n```", "I see.")
    done = oi_tui(clean_env, "run", "--yes", "--time-limit", "1", *script.arguments, "go", cwd=tmp_path)
    assert done.returncode == 8, done.stderr.decode()
    assert done.stdout == b"I see.\n"
    assert "Not finished: code reached its time limit" in done.stderr.decode()
    told = script.requests[1]["messages"][-1]["content"]
    assert "begun" in told
    assert "[cut off: it reached its time limit]" in told


def test_R14_without_a_screen_a_cell_has_a_time_limit_unless_another_was_said() -> None:
    setup = Configure(settings=Settings(), cwd="/", can_ask=False)
    assert with_time_limit(setup).settings.kernel.time_limit == HEADLESS_LIMIT
    said = Configure(settings=Settings(kernel=KernelSection(time_limit=0.0)), cwd="/", can_ask=False)
    assert with_time_limit(said) == said


def test_standard_input_is_data(clean_env: dict[str, str], script: Script, tmp_path: Path) -> None:
    script.write("Two lines.")
    done = oi_tui(clean_env, "run", *script.arguments, "how many lines?", data=b"one\ntwo\n", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    prompt = script.requests[0]["messages"][-1]["content"]
    assert prompt.startswith("how many lines?")
    assert "one\ntwo" in prompt
    path = Path(prompt.split("is in the file ")[1].split(". It begins")[0])
    assert path.read_bytes() == b"one\ntwo\n"


def test_l11_l13_a_spent_budget_ends_even_what_must_be_completed_with_exit_code_eight(
    script: Script, clean_env: dict[str, str], tmp_path: Path
) -> None:
    script.write("I am thinking about it.")
    done = oi_tui(clean_env, "run", *script.arguments, "--complete", "--max-tokens", "1", "add", cwd=tmp_path)
    assert done.returncode == 8
    assert b"Stopped before the next request: this session has spent" in done.stderr
    assert len(script.requests) == 1


@pytest.mark.parametrize("name", ["openrouter/no-such-model", "no-such-model", "anthropic/no-such-model"])
def test_L11_a_model_of_unknown_price_is_not_asked_while_money_is_limited(
    name: str, openai_server: OpenAIServer, clean_env: dict[str, str], tmp_path: Path
) -> None:
    openai_server.owner = "openai"
    server = ["-m", name, "--api-base", openai_server.url, "--api-key", "x"]
    done = oi_tui(clean_env, "run", *server, "--max-cost", "0.5", "hi", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (8, b"")
    assert f"the price of {name} is not known, so the budget of $0.50" in " ".join(done.stderr.decode().split())
    assert openai_server.requests == []


def test_l13_what_must_be_completed_prints_its_result_and_that_it_is_done(
    script: Script, clean_env: dict[str, str], tmp_path: Path
) -> None:
    script.write("It is 2.", "The task is done.")
    done = oi_tui(clean_env, "run", *script.arguments, "--complete", "add", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.decode().split("\n") == ["It is 2.", "", "The task is done.", ""]


def test_without_a_screen_a_resume_that_names_none_lists_the_newest_and_says_how(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("It is 2.")
    oi_tui(clean_env, "run", *script.arguments, "add one and one", cwd=tmp_path)
    for options in ((), ("--linear",), ("--", "and now?")):
        done = oi_tui(clean_env, *script.arguments, "--resume", *options, cwd=tmp_path)
        assert done.returncode == 2
        said = done.stderr.decode()
        assert "Which session?" in said
        assert "oi-tui --resume ID" in said
        assert "add one and one" in said


MISTAKES = [
    (["run", "--approve", "maybe", "x"], 2, "maybe"),
    (["run", "--yes", "--approve", "never", "x"], 2, "contradict"),
    (["run", "--resume", "nope", "x"], 5, "No session"),
    (["--resume"], 2, "There is no session to resume yet."),
    (["run"], 2, "nothing to do"),
    (["sesions", "of", "last", "week"], 2, "needs a terminal"),
    (["sesions", "list"], 2, "no command 'sesions'. Did you mean sessions?"),
    (["models", "remove", "nope"], 6, "nope"),
    (["--nonsense"], 2, "No such option"),
    (["run", "--api-base", "http://127.0.0.1:9/v1", "x"], 2, "needs a model"),
    (["hello"], 2, "needs a terminal"),
    (["adit"], 2, "no command 'adit'. Did you mean audit?"),
    (["replai", "a file"], 2, "no command 'replai'. Did you mean replay?"),
    (["replai", "--instant", "a file"], 2, "no command 'replai'. Did you mean replay?"),
    (["trsut", "."], 2, "no command 'trsut'. Did you mean trust?"),
    (["rust", "or", "a file"], 2, "needs a terminal"),
    (["reply", "kindly"], 2, "needs a terminal"),
    (["rnu", "the", "tests"], 2, "no command 'rnu'. Did you mean run?"),
    (["runn"], 2, "no command 'runn'. Did you mean run?"),
    (["runs", "and", "wickets"], 2, "needs a terminal"),
    (["--", "adit"], 2, "needs a terminal"),
    (["run", "--cwd", "/no/such/folder", "x"], 2, "not a folder"),
    (["run", "--profile", "nope", "x"], 2, "no profile"),
]

EACH = """
import json, os, sys
from oi_tui.app import cli
told = []
for args in json.loads(sys.argv[1]):
    ours, theirs = os.pipe()
    if not os.fork():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(theirs, 2)
        os.close(ours)
        sys.argv = ["oi-tui", *args]
        cli.main()
    os.close(theirs)
    with open(ours, encoding="utf-8") as said:
        words = said.read()
    told.append([os.waitstatus_to_exitcode(os.wait()[1]), words])
print(json.dumps(told))
"""
"""Runs the program with each of several command lines, in a process of its own that need not import it again."""


@pytest.mark.parametrize("mistakes", [MISTAKES[:8], pytest.param(MISTAKES[8:], marks=pytest.mark.thorough)])
def test_a_mistake_is_said_in_plain_words_with_its_exit_code(
    mistakes: list[tuple[list[str], int, str]], clean_env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "a file").touch()
    asked = json.dumps([args for args, _, _ in mistakes])
    done = subprocess.run(
        [sys.executable, "-c", EACH, asked],
        env=clean_env, input=b"", capture_output=True, timeout=100, check=True, cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    for (args, code, message), (exit_code, words) in zip(mistakes, json.loads(done.stdout), strict=True):
        assert (exit_code, message in words) == (code, True), (args, words)
        assert "Traceback" not in words, args


def test_L10_nobody_listening_is_exit_code_three_with_what_to_do(clean_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    settings = Path(clean_env["XDG_CONFIG_HOME"]) / "oi-tui" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[model]\nretries = 0\n")
    done = oi_tui(clean_env, "run", "-m", "anything", "--api-base", "http://127.0.0.1:9/v1", "x", cwd=tmp_path)
    assert done.returncode == 3
    assert "http://127.0.0.1:9/v1" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_L21_a_data_folder_that_cannot_be_written_is_a_clear_error(clean_env: dict[str, str], tmp_path: Path) -> None:
    done = oi_tui(clean_env | {"XDG_DATA_HOME": "/proc"}, "run", "-m", "openai/x", "hello", cwd=tmp_path)
    assert done.returncode == 1
    assert "Cannot write in /proc/oi-tui" in done.stderr.decode()


def test_sessions_are_listed_for_people_and_for_programs(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("Hello.")
    oi_tui(clean_env, "run", *script.arguments, "greet me", cwd=tmp_path)
    listed = oi_tui(clean_env, "sessions").stdout.decode()
    assert "greet me" in listed
    (record,) = json.loads(oi_tui(clean_env, "sessions", "--json").stdout)
    assert (record["title"], record["cwd"]) == ("greet me", str(tmp_path))
    script.write("You said: greet me.")
    again = oi_tui(clean_env, "run", *script.arguments, "--resume", record["id"][:6], "what did I say?", cwd=tmp_path)
    assert again.stdout == b"You said: greet me.\n", again.stderr.decode()
    assert "greet me" in json.dumps(script.requests[-1])


def test_commands_that_run_no_code_load_neither_the_screen_nor_the_engine(clean_env: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from oi_tui.app import cli\n"
        "for words in (['--help'], ['sessions'], ['usage'], ['skills', 'list'], ['tools', 'new', 'mine']):\n"
        "    try: cli.program(words, prog_name='oi-tui')\n"
        "    except SystemExit: pass\n"
        "dear = ('textual', 'litellm', 'jupyter_client', 'zmq', 'pandas', 'oi_tui.app.build')\n"
        "print([m for m in dear if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, env=clean_env
    )
    assert "There are no sessions yet." in done.stderr
    assert "Written: " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_bytes_that_are_no_text_are_replaced_in_a_task_and_refused_as_a_folder(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("Hello.")
    done = oi_tui(clean_env, "run", *script.arguments, os.fsdecode(b"caf\xe9"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert script.requests[0]["messages"][-1]["content"] == "caf\ufffd"
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    done = oi_tui(clean_env, "run", *script.arguments, "--cwd", str(folder), "x")
    assert (done.returncode, b"not UTF-8" in done.stderr) == (2, True), done.stderr


def test_L21_an_embedded_model_that_is_not_here_is_exit_code_six(clean_env: dict[str, str], tmp_path: Path) -> None:
    names = oi_tui(clean_env, "models", "list", "--provider", "local").stdout.decode().replace("▸", " ").split("\n")
    done = oi_tui(clean_env, "run", "-m", f"local/{names[0].split()[0]}", "x", cwd=tmp_path)
    assert done.returncode == 6, done.stderr.decode()


def test_T1_what_programs_read_holds_nothing_that_a_terminal_obeys(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("a\x9b31m\u202eb \N{GRINNING FACE}")
    done = oi_tui(clean_env, "run", "--json", *script.arguments, "x", cwd=tmp_path)
    assert done.stdout.isascii()
    content = "".join(
        c.get("content", "") for c in map(json.loads, done.stdout.splitlines()) if c["role"] == "assistant"
    )
    assert content == "a\x9b31m\u202eb \N{GRINNING FACE}"


def test_an_answer_that_stdout_cannot_encode_is_written_all_the_same(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    script.write("žluť")
    done = oi_tui(clean_env | {"PYTHONIOENCODING": "ascii"}, "run", *script.arguments, "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"\\u017elu\\u0165\n"), done.stderr


async def test_L21_an_engine_whose_log_cannot_be_written_is_an_error_in_plain_words(tmp_path: Path) -> None:
    setup = Configure(settings=Settings(), cwd=str(tmp_path))
    with pytest.raises(OiTuiError, match="could not be started"):
        await ProcessClient.start(setup, log=tmp_path)


MANY_AND_A_HOOK = """```python
import os
os.makedirs("x")
for number in range({count}):
    open(f"x/{{number}}", "w").close()
os.makedirs("objects")
open("HEAD", "w").write("ref: refs/heads/main")
open("config", "w").write("[core]")
```"""


@pytest.mark.kernel
def test_U20_what_runs_later_is_told_on_stderr_before_the_task_ends(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script.write(MANY_AND_A_HOOK.format(count=51_000), "Done.")
    done = oi_tui(clean_env, *script.arguments, "run", "--yes", "go", cwd=work)
    narration = done.stderr.decode()
    assert done.returncode == 0, narration
    assert "config (git takes its folder for a repository)" in narration
    assert "files were looked at" in narration


def test_that_no_code_can_run_for_want_of_an_audit_log_is_said_at_the_start(
    clean_env: dict[str, str], script: Script, tmp_path: Path
) -> None:
    state = Path(clean_env["XDG_STATE_HOME"], "oi-tui")
    state.mkdir(parents=True)
    (state / "audit").write_text("in the way")
    done = oi_tui(clean_env, *script.arguments, "run", "hello", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"Hello.\n")
    why = f"and the folder {state / 'audit'} could not be made"
    assert f"No code can run here: what runs is written down before, {why}" in done.stderr.decode()


PLAIN: tuple[list[str], ...] = (
    [],
    ["-m", "openai/x"],
    ["--model", "a", "--cwd", "/tmp", "-m", "b"],
    ["--api-base", "", "--kernel", "x@\udce9"],
)
NOT_PLAIN = (
    ["hello"],
    ["-m"],
    ["-mx"],
    ["--model=x"],
    ["-m", "-x"],
    ["--yes"],
    ["--", "x"],
    ["--version"],
    ["-m", "x", "run"],
)


@pytest.mark.parametrize("words", PLAIN, ids=str)
def test_a_plain_command_line_means_what_it_means_to_the_library(words: list[str]) -> None:
    seen: list[Flags] = []

    @click.command()
    @common
    def probe(flags: Flags) -> None:
        seen.append(flags)

    probe.main(words, standalone_mode=False)
    assert [plain_flags(words)] == seen


@pytest.mark.parametrize("words", NOT_PLAIN, ids=str)
def test_any_other_command_line_is_left_to_the_library(words: list[str]) -> None:
    assert plain_flags(words) is None
