"""A real bash: state, exit codes, questions, floods, and that nothing hangs or is left behind."""

import asyncio
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import InputRequested, OutputAdded
from oi_tui.app.engine.core.outputs import StreamOutput, Tail
from oi_tui.app.engine.kernels.base import Kernel, RunResult
from oi_tui.app.engine.kernels.output_cap import TAIL_CHARACTERS
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.testing import asks
from support.runs import abandon, collect, interrupted, prints, started

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

MakeShell = Callable[..., ShellKernel]

ASK_ON_TERMINAL = "t = open('/dev/tty', 'r+b', 0); t.write(b'Name? '); print('Hello', t.readline().decode().strip())"
GETPASS = "import getpass; print(len(getpass.getpass('Key: ')))"
OK = RunResult(status="ok", exit_code=0)


def in_python(code: str) -> str:
    """A command that runs this Python."""
    return f'{shlex.quote(sys.executable)} -c "{code}"'


async def test_a_command_gives_its_output_and_exit_code(shell: Kernel) -> None:
    run = await collect(shell, "echo hello")
    assert run.events == [OutputAdded(block_id="", output=StreamOutput(name="stdout", text="hello\n")), OK]


async def test_directory_variables_and_functions_last(shell: Kernel) -> None:
    await collect(shell, 'cd /usr; word=kept; greet() { echo "$word by $1"; }')
    assert (await collect(shell, "pwd; greet me")).text() == "/usr\nkept by me\n"


async def test_R8_stderr_is_told_from_stdout(shell: Kernel) -> None:
    run = await collect(shell, "echo out; echo err >&2")
    assert (run.text("stdout"), run.text("stderr")) == ("out\n", "err\n")


async def test_L8_the_source_runs_byte_for_byte(shell: Kernel) -> None:
    run = await collect(shell, "\ncat <<'END'\n\ta  'b' \"c\" \\ $HOME !!\n\nEND\necho line $LINENO")
    assert run.text() == "\ta  'b' \"c\" \\ $HOME !!\n\nline 6\n"


async def test_text_that_is_not_utf8_is_replaced(shell: Kernel) -> None:
    assert (await collect(shell, r"printf 'a\xffb'; printf '\xc3'; sleep 0.05; printf '\xa9'")).text() == "a\ufffdbé"


@pytest.mark.parametrize(("source", "code"), [("false", 1), ("(exit 3)", 3), ("no-such-command", 127), ("if then", 2)])
async def test_a_failed_command_is_an_error_with_its_exit_code(shell: Kernel, source: str, code: int) -> None:
    assert (await collect(shell, source)).finished == RunResult(status="error", exit_code=code)


async def test_R10_a_command_without_input_does_not_hang(shell: Kernel) -> None:
    run = await collect(shell, "cat; read -r line; echo $?")
    assert run.text() == "1\n"


async def test_R10_a_question_on_the_terminal_is_asked(shell: Kernel) -> None:
    run = await collect(shell, in_python(ASK_ON_TERMINAL), "Ada")
    assert asks("Name? ") in run.events
    assert run.text() == "Hello Ada\n"
    assert "Ada" not in run.text("stderr")


async def test_R10_a_password_is_asked_for_as_one(shell: Kernel) -> None:
    run = await collect(shell, in_python(GETPASS), "secret")
    assert asks("Key: ", password=True) in run.events
    assert run.text() == "6\n"
    assert "secret" not in repr(run.events)


async def test_R10_a_password_is_asked_for_where_the_prompt_went_to_stderr(shell: Kernel) -> None:
    run = await collect(shell, "read -rs -p 'PIN: ' pin </dev/tty; echo ${#pin}", "1234")
    assert asks("PIN: ", password=True) in run.events
    assert run.text() == "4\n"


async def test_an_answer_that_nobody_waits_for_is_not_run_as_a_command(shell: Kernel, tmp_path: Path) -> None:
    answers = f"touch {tmp_path}/executed"
    run = await collect(shell, "printf 'Sure? ' >/dev/tty; sleep 0.6", answers)
    assert run.finished == OK
    asked = await collect(shell, in_python(ASK_ON_TERMINAL), "Ada")
    assert asked.text() == "Hello Ada\n"  # nor is it taken for the answer to a later question
    assert list(tmp_path.iterdir()) == []


async def test_R10_ten_megabytes_are_bounded_and_counted(shell: Kernel) -> None:
    run = await collect(shell, "yes | head -c 10000000; echo end")
    tail = run.tail()
    assert len(run.text()) == 100_000
    assert len(tail.text) <= TAIL_CHARACTERS
    assert tail.text.startswith("y\n")
    assert tail.text.endswith("y\nend\n")
    assert len(run.text()) + tail.left_out_characters + len(tail.text) == 10_000_004
    assert tail.left_out_lines * 2 == tail.left_out_characters
    assert Path(run.whole.path).stat().st_size == 10_000_004
    assert run.whole.missing == ""
    assert run.finished == OK


async def test_R8_an_error_behind_a_flood_is_not_lost_in_it(shell: Kernel) -> None:
    run = await collect(shell, "yes | head -c 1000000; echo failed >&2")
    assert run.tail("stderr") == Tail(text="failed\n")


async def test_R10_exit_is_reported_and_the_next_run_has_a_fresh_shell(make_shell: MakeShell) -> None:
    shell = make_shell()
    run = await collect(shell, "word=lost; echo before; exit 3")
    assert run.text() == "before\n"
    assert run.finished.status == "error"
    assert run.finished.exit_code == 3
    assert "fresh" in run.finished.detail
    assert shell.state == "dead"
    again = await collect(shell, 'echo "[$word]"')
    assert again.text() == "[]\n"
    assert again.finished == OK
    assert shell.generation == 2


async def test_R10_a_background_job_does_not_outlive_the_shell(make_shell: MakeShell) -> None:
    shell = make_shell()
    run = await collect(shell, "sleep 600 & echo $!; nohup sleep 600 >/dev/null 2>&1 & echo $!; echo $$")
    pids = [int(pid) for pid in run.text().split()]
    assert len(pids) == 3
    assert all(psutil.pid_exists(pid) for pid in pids)
    await shell.close()
    assert [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"] == []
    await shell.close()


async def test_R10_what_a_background_job_writes_later_is_not_in_the_next_run(shell: Kernel) -> None:
    await collect(shell, "(sleep 0.1; echo late; echo late >&2) 2>&2 &")
    run = await collect(shell, "wait; echo next")
    assert run.text() == "next\n"
    assert "late\n" not in run.text("stderr").splitlines(keepends=True)


@pytest.mark.parametrize("source", ["sleep 60", "while :; do :; done", "yes", "sleep 60 | cat", "cat </dev/tty"])
async def test_R1_an_interrupt_stops_the_command_and_keeps_the_shell(shell: Kernel, source: str) -> None:
    await collect(shell, "word=kept")
    run, means = await interrupted(shell, f"echo ready; {source}; echo not reached", prints("ready"))
    assert means == "signal"
    assert run.finished == RunResult(status="interrupted", exit_code=130)
    assert "not reached" not in run.text()
    after = await collect(shell, "echo $word")
    assert (after.text(), after.text("stderr")) == ("kept\n", "")


@pytest.mark.parametrize("shells", ["here"], indirect=True)
async def test_R1_a_shell_of_a_program_that_was_started_in_the_background_can_be_interrupted(
    make_shell: MakeShell,
) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as `sh -c 'oi-tui … &'` has it, and a child inherits it
    try:
        shell = make_shell()
        await shell.start()
    finally:
        signal.signal(signal.SIGINT, before)
    run, means = await interrupted(shell, "echo ready; sleep 60", prints("ready"))
    assert (run.finished.status, means) == ("interrupted", "signal")


async def test_R1_a_question_can_be_interrupted(shell: Kernel) -> None:
    run, means = await interrupted(shell, in_python(GETPASS), lambda event: isinstance(event, InputRequested))
    assert (run.finished.status, means) == ("interrupted", "signal")
    visible = await collect(shell, in_python(ASK_ON_TERMINAL), "Ada")
    assert asks("Name? ") in visible.events  # the terminal shows again what is typed


async def test_a_job_that_ignores_the_interrupt_is_killed_and_the_shell_kept(make_shell: MakeShell) -> None:
    shell = make_shell()
    await collect(shell, "word=kept")
    run, means = await interrupted(shell, "(trap '' INT; echo ready; sleep 60)", prints("ready"))
    assert means == "kill"
    assert run.finished.status == "interrupted"
    assert (await collect(shell, "echo $word")).text() == "kept\n"


async def test_k20_a_shell_that_ignores_everything_is_replaced(make_shell: MakeShell) -> None:
    shell = make_shell()
    run, means = await interrupted(shell, "trap '' INT; echo ready; while :; do :; done", prints("ready"))
    assert means == "restart"
    assert run.finished.status == "interrupted"
    assert "state is lost" in run.finished.detail
    assert (await collect(shell, "echo well")).text() == "well\n"


async def test_R3_a_shell_that_is_killed_is_reported(make_shell: MakeShell) -> None:
    shell = make_shell()
    await shell.start()
    async with asyncio.timeout(2):
        run = await collect(shell, "kill -9 $$")
    assert run.finished.status == "died"
    assert "signal 9" in run.finished.detail
    assert (await collect(shell, "echo well")).finished == OK


async def test_a_cell_that_takes_over_the_prompt_does_not_hang_the_shell(shell: Kernel) -> None:
    assert (await collect(shell, "PROMPT_COMMAND=; PS1='> '; echo 1")).text() == "1\n"
    run, _ = await interrupted(shell, "echo ready; sleep 60", prints("ready"))
    assert run.finished.status == "interrupted"
    assert (await collect(shell, "echo 2")).text() == "2\n"


@pytest.mark.parametrize("shells", ["here"], indirect=True)
async def test_keys_are_not_in_the_shells_environment(make_shell: MakeShell, kernel_environ: dict[str, str]) -> None:
    shell = make_shell(environ={**kernel_environ, "OPENAI_API_KEY": "k", "PLAIN": "p"})
    assert (await collect(shell, 'echo "[$OPENAI_API_KEY] [$PLAIN]"')).text() == "[] [p]\n"


@pytest.mark.parametrize("shells", ["here"], indirect=True)
async def test_a_runtime_folder_may_have_a_space_in_its_name(
    make_shell: MakeShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TemporaryDirectory(prefix="a 'b ", dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        shell = make_shell()
        assert (await collect(shell, "echo well")).text() == "well\n"
        await shell.close()


@pytest.mark.parametrize("shells", ["here"], indirect=True)
async def test_a_missing_folder_is_named(make_shell: MakeShell, tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="gone"):
        await make_shell(cwd=tmp_path / "gone").start()


async def test_a_restart_forgets_everything(make_shell: MakeShell) -> None:
    shell = make_shell()
    await collect(shell, "word=lost")
    await shell.restart()
    assert (await collect(shell, 'echo "[$word]"')).text() == "[]\n"
    assert shell.generation == 2


async def test_a_run_that_is_abandoned_is_interrupted(make_shell: MakeShell) -> None:
    shell = make_shell()
    async with asyncio.timeout(10):
        await abandon(await started(shell, "echo ready; sleep 60"))
    assert shell.state == "idle"
    assert (await collect(shell, "echo free")).text() == "free\n"


FILL = "head -c {count} /dev/zero | tr '\\0' x > {where}"


@pytest.mark.parametrize("where", ["/dev/tty", '"$(declare -f __oi_end | grep -o "/[^ ;]*/ends")"'])
async def test_K39_a_fill_without_line_ends_takes_linear_time(shell: Kernel, where: str) -> None:
    async def processor_seconds(count: int) -> float:
        begun = time.process_time()
        run = await collect(shell, FILL.format(count=count, where=where) + "; echo > " + where)
        assert run.finished == OK
        return time.process_time() - begun

    small = await processor_seconds(1_000_000)
    large = await processor_seconds(16_000_000)
    assert large < 64 * max(small, 0.01)  # quadratic would be 256 times as much
    assert (await collect(shell, "echo heard")).text() == "heard\n"
