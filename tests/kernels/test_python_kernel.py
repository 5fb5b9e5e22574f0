"""A real Python kernel: what a run gives, and that nothing of one run gets into another."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    OutputAdded,
    OutputsCleared,
    OutputUpdated,
)
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.kernels.base import Kernel, RunResult
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.output_cap import TAIL_CHARACTERS
from oi_tui.app.engine.kernels.spec import KernelSpec
from oi_tui.app.engine.testing import asks
from support.kernel_places import HERE_ALONE
from support.runs import Collected, abandon, collect, interrupted, prints, started

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

LATER = "import asyncio; _task = asyncio.get_running_loop().call_later({delay}, print, {text!r})"

LATE_STDIN = """\
import os, threading
from ipykernel.kernelapp import IPKernelApp

class Late(IPKernelApp):
    def init_sockets(self):
        super().init_sockets()
        here = f"{self.ip}-{self.stdin_port}"
        os.rename(here, here + ".hidden")
        threading.Timer(1, os.rename, (here + ".hidden", here)).start()

Late.launch_instance()
"""
"""A kernel whose stdin socket can be reached a second after the others."""


def without_lines(run: Collected) -> list[AnyEvent | RunResult]:
    """Its events without the lines that it was at: they are reported where a run takes long, as on a busy machine."""
    return [event for event in run.events if not isinstance(event, ActiveLineChanged)]


async def test_the_value_of_the_last_expression_is_a_result(python: Kernel) -> None:
    run = await collect(python, "1 + 1")
    assert without_lines(run) == [
        OutputAdded(block_id="", output=RichOutput(data={"text/plain": "2"}, is_result=True)),
        RunResult(status="ok"),
    ]
    assert python.state == "idle"


@HERE_ALONE  # elsewhere others start it
async def test_a_kernel_starts_without_a_debugger_and_code_can_have_one_all_the_same(python: Kernel) -> None:
    run = await collect(
        python,
        "import gc, sys\nfrom importlib.util import find_spec\n"
        "('debugpy' in sys.modules, find_spec('debugpy') is not None, gc.isenabled(), sys.argv[0][-21:])",
    )
    assert run.result == "(False, True, True, 'ipykernel_launcher.py')"


async def test_state_lasts_from_run_to_run(python: Kernel) -> None:
    await collect(python, "kept = 41")
    assert (await collect(python, "kept + 1")).result == "42"


async def test_R1_an_interrupt_stops_the_cell_within_two_seconds(python: Kernel) -> None:
    run, means = await interrupted(python, "print('ready', flush=True)\nwhile True: pass", prints("ready"))
    assert means == "signal"  # each rung has two seconds, so the first one was enough
    assert run.finished == RunResult(status="interrupted")
    assert run.error.name == "KeyboardInterrupt"


async def test_R1_R2_nothing_of_an_interrupted_flood_is_in_the_next_cell(python: Kernel) -> None:
    flood, means = await interrupted(python, "while True: print('first' * 30)", prints("first"))
    assert (flood.finished.status, means) == ("interrupted", "signal")
    run = await collect(python, "print('second')")
    assert run.text() == "second\n"
    assert run.finished.status == "ok"


async def test_R2_what_a_finished_cell_prints_later_is_not_in_the_next_one(python: Kernel) -> None:
    await collect(python, LATER.format(delay=0.05, text="late"))
    run = await collect(python, "import asyncio\nawait asyncio.sleep(0.3)\nprint('next')")
    assert run.text() == "next\n"


async def test_k21_an_interrupt_ends_a_top_level_await(python: Kernel) -> None:
    source = "import asyncio\nprint('ready', flush=True)\nawait asyncio.sleep(60)"
    run, means = await interrupted(python, source, prints("ready"))
    assert means == "signal"
    assert run.finished.status == "interrupted"


async def test_an_interrupt_ends_a_subprocess_that_the_cell_waits_for(python: Kernel) -> None:
    source = "import subprocess\nprint('ready', flush=True)\nsubprocess.run(['sleep', '60'])"
    run, means = await interrupted(python, source, prints("ready"))
    assert (run.finished.status, means) == ("interrupted", "signal")


async def test_without_a_run_there_is_nothing_to_interrupt(python: Kernel) -> None:
    assert await python.interrupt() == "nothing_ran"
    assert (await collect(python, "'alive'")).result == "'alive'"


async def test_a_run_that_is_abandoned_is_interrupted(python: Kernel) -> None:
    async with asyncio.timeout(10):
        await abandon(await started(python, "print('ready', flush=True)\nwhile True: pass"))
    assert python.state == "idle"
    assert (await collect(python, "'free'")).result == "'free'"


async def test_R4_input_asks_and_takes_the_answer(python: Kernel) -> None:
    run = await collect(python, "name = input('name? ')\nprint(f'Hello {name}')", "Ada")
    assert asks("name? ") in run.events
    assert run.text() == "Hello Ada\n"


async def test_R4_a_question_right_after_the_start_arrives(make_python: Callable[..., JupyterKernel]) -> None:
    argv = (sys.executable, "-c", LATE_STDIN, "-f", "{connection_file}")
    kernel = make_python(spec=KernelSpec(name="late", argv=argv))
    run = await collect(kernel, "input('name? ')", "Ada")
    assert run.result == "'Ada'"


async def test_R5_a_data_frame_has_a_text_table_that_is_not_folded(python: Kernel) -> None:
    pytest.importorskip("pandas")
    run = await collect(python, "import pandas as pd\npd.DataFrame({f'column_{i:02}': [i] for i in range(10)})")
    header, row = run.result.splitlines()
    assert "column_00" in header
    assert "column_09" in header
    assert row.split() == ["0", *map(str, range(10))]


async def test_R7_a_display_is_updated_in_place(python: Kernel) -> None:
    run = await collect(
        python, "from IPython.display import display\nhandle = display(1, display_id='d')\nhandle.update(2)"
    )
    shown = RichOutput(data={"text/plain": "1"}, display_id="d")
    changed = RichOutput(data={"text/plain": "2"}, display_id="d")
    assert without_lines(run) == [
        OutputAdded(block_id="", output=shown),
        OutputUpdated(block_id="", display_id="d", output=changed),
        RunResult(status="ok"),
    ]


async def test_R7_a_display_of_an_earlier_run_can_be_updated(python: Kernel) -> None:
    await collect(python, "from IPython.display import display\nhandle = display(1, display_id='e')")
    run = await collect(python, "handle.update(2)")
    assert [event.display_id for event in run.events if isinstance(event, OutputUpdated)] == ["e"]


async def test_R7_clear_output_clears_at_once(python: Kernel) -> None:
    run = await collect(python, "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)")
    assert without_lines(run) == [
        OutputAdded(block_id="", output=StreamOutput(name="stdout", text="1\n")),
        OutputsCleared(block_id=""),
        OutputAdded(block_id="", output=StreamOutput(name="stdout", text="2\n")),
        RunResult(status="ok"),
    ]


async def test_R7_clear_output_with_wait_clears_only_when_something_comes(python: Kernel) -> None:
    never = await collect(python, "print(1)\nclear_output(wait=True)")
    assert OutputsCleared(block_id="") not in never.events
    run = await collect(python, "print(1)\nclear_output(wait=True)\nprint(2)")
    assert without_lines(run)[1] == OutputsCleared(block_id="")


async def test_R8_stderr_is_told_from_stdout(python: Kernel) -> None:
    run = await collect(python, "import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (run.text("stdout"), run.text("stderr")) == ("out\n", "err\n")


async def test_output_of_subprocesses_belongs_to_the_cell(python: Kernel) -> None:
    for number in range(10):
        run = await collect(python, f"import subprocess\n_ = subprocess.run(['echo', 'number {number}'])")
        assert run.text() == f"number {number}\n"


L8_SOURCE = '''\

def documented():
    """A docstring

    with a blank line."""
    return documented.__doc__

text = """one


two"""
print(documented().count("\\n"), text.count("\\n"))
%precision 3
1 / 0
'''


async def test_L8_code_runs_byte_for_byte_with_its_line_numbers(python: Kernel) -> None:
    run = await collect(python, L8_SOURCE)
    assert run.text() == "2 3\n"
    assert run.error.name == "ZeroDivisionError"
    (frame,) = (part for part in run.error.traceback if "1 / " in part or "/ \x1b" in part or "14" in part)
    assert "14" in frame  # the line of the shown source, the blank first one counted


async def test_L8_the_line_that_runs_is_reported_and_nothing_else_of_it_is_seen(python: Kernel) -> None:
    source = "\n\nimport time\ndef slow():\n    time.sleep(0.4)\n\nslow()\ntime.sleep(0.4)\n"
    run = await collect(python, source)
    assert run.lines == [3, 4, 7, 5, 8]
    assert run.outputs == []


async def test_L8_a_quick_cell_of_one_line_reports_none(python: Kernel) -> None:
    assert (await collect(python, "x = 1")).lines == []
    assert (await collect(python, "x = 1\ny = 2")).lines == [1, 2]


async def test_the_namespace_holds_nothing_of_ours(python: Kernel) -> None:
    run = await collect(python, "[n for n in globals() if 'oi' in n or 'install' in n or 'cap' in n]")
    assert run.result == "[]"


async def test_output_beyond_the_cap_is_counted_and_kept_on_disk(python: Kernel) -> None:
    run = await collect(python, "print('x' * 150_000, end='')\nprint('y' * 50_000, end='')\n1/0")
    assert len(run.text()) == 100_000
    tail = run.tail()
    assert tail.text == "y" * TAIL_CHARACTERS
    assert tail.left_out_characters == 100_000 - TAIL_CHARACTERS
    path = Path(run.whole.path)
    assert path.read_text() == "x" * 150_000 + "y" * 50_000
    assert path.stat().st_mode & 0o777 == 0o600
    assert run.error.name == "ZeroDivisionError"  # the error is shown all the same


async def test_R6_a_picture_behind_a_flood_is_shown(python: Kernel) -> None:
    run = await collect(python, "print('x' * 200_000)\n'the result'")
    assert run.result == "'the result'"


KEEP = "import sys\ntype(sys.stdout).write.__globals__['KEEP'] = {}"
"""Another limit of the part of ours that is in the kernel."""


async def test_k08_a_flood_is_bounded_in_the_kernel_and_counted_to_the_last_character(python: Kernel) -> None:
    await collect(python, KEEP.format(3_000_000))
    flood = "for n in range(70): print(str(n) * 333_333)\nprint('end')\nsys.stderr.write('error')"
    run = await collect(python, flood)
    tail, written = run.tail(), (10 + 2 * 60) * 333_333 + 70 + 4
    came = len(run.text()) + tail.left_out_characters + len(tail.text)
    if "IOPub data rate exceeded" in run.tail("stderr").text:
        # A Jupyter server passes on 1 MB a second, drops the rest, and says so itself among the errors of the code.
        assert came < written
    else:
        assert came == written
        assert run.text().count("\n") + tail.left_out_lines + tail.text.count("\n") == 71
        assert tail.text.endswith("69\nend\n")
        assert run.tail("stderr").text == "error"
        assert "kernel" in run.whole.missing
    assert Path(run.whole.path).stat().st_size < 3_100_000
    after = await collect(python, "print('x')")
    assert after.text() == "x\n"
    await collect(python, KEEP.format(1_000_000_000))


async def test_text_comes_before_the_result_whether_it_was_flushed_or_not(python: Kernel) -> None:
    run = await collect(python, "for n in range(50):\n    print(n, end=' ', flush=n % 2 == 0)\nn")
    assert (run.text(), run.result) == ("".join(f"{n} " for n in range(50)), "49")


async def test_k08_a_flood_does_not_stay_in_the_memory_of_the_kernel(python: Kernel) -> None:
    await collect(python, "for _ in range(70): print('x' * 999_999)")
    resident = await collect(python, "import psutil\npsutil.Process().memory_info().rss < 400_000_000")
    assert resident.result == "True"


FORGED = """
_k = get_ipython().kernel
def _forge(kind, content):
    _k.session.send(_k.iopub_socket, kind, content, parent=_k.get_parent())
_forge("stream", {"name": "stdout", "text": 12345})
_forge("stream", {"name": "printer", "text": "x"})
_forge("display_data", {"data": "text", "metadata": None})
_forge("display_data", {"data": {"text/plain": None}})
_forge("update_display_data", {"data": {"text/plain": "1"}, "transient": {"display_id": 3}})
_forge("error", {"ename": None, "evalue": [], "traceback": 5})
_forge("oi_tui_line", {"line": 10**9})
_forge("oi_tui_line", {"line": "one"})
_forge("oi_tui_skipped", {"name": "stdout", "characters": -4, "lines": 0})
_forge("oi_tui_skipped", {"name": "stdout", "characters": 1, "lines": 2})
_forge("status", {"execution_state": {}})
_forge("unheard_of", {})
print("done")
"""


async def test_k28_messages_of_the_wrong_shape_are_ignored(python: Kernel) -> None:
    run = await collect(python, FORGED)
    assert run.text() == "done\n"
    assert run.finished.status == "ok"
    assert not any(isinstance(event, OutputUpdated) for event in run.events)
    reached = [event.line for event in run.events if isinstance(event, ActiveLineChanged)]
    assert all(line is None or line <= len(FORGED.splitlines()) for line in reached), "the true ones are among them"


async def test_L1_each_statement_is_reported_behind_what_the_one_before_printed(python: Kernel) -> None:
    run = await collect(python, 'print("a")\n\nfor n in range(2):\n    print(n)\nimport sys\nprint("b")')
    told: list[int | str | None] = []
    for event in run.events:
        match event:
            case ActiveLineChanged(line=line):
                told.append(line)
            case OutputAdded(output=StreamOutput(text=text)):
                told.append(text)
    assert told == [1, "a\n", 3, "0\n1\n", 5, 6, "b\n"]


async def test_L1_a_failing_statement_is_the_last_that_is_reported(python: Kernel) -> None:
    run = await collect(python, "a = 1\n1 / 0\na = 2")
    assert [event.line for event in run.events if isinstance(event, ActiveLineChanged)] == [1, 2]
    assert run.finished.status == "error"


MALFORMED = """
_s = get_ipython().kernel.iopub_socket
_mark = b"<IDS|MSG>"
for _parts in ([b"no delimiter"], [_mark], [_mark, b"bad"] + [b"{}"] * 4, [_mark, b""] + [b"{"] * 4):
    _s.send_multipart(_parts)
print("done")
"""


@HERE_ALONE  # Of frames like these a server's own reading breaks (jupyter_server 2.21, Enterprise Gateway 3.3).
async def test_k27_malformed_frames_are_ignored(python: Kernel) -> None:
    run = await collect(python, MALFORMED)
    assert run.text() == "done\n"
    assert (await collect(python, "2 * 21")).result == "42"


async def test_k25_interrupts_between_runs_do_no_harm(python: Kernel) -> None:
    run = await collect(python, "import os\nos.getpid()")
    for _ in range(20):
        os.kill(int(run.result), signal.SIGINT)
    assert (await collect(python, "'alive'")).result == "'alive'"


READER = """
import asyncio, os, sys
from pathlib import Path
from oi_tui.app.engine.core.events import OutputUpdated
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from support.runs import collect

UPDATES = '''
import subprocess
from IPython.display import display
handle = display("0", display_id="d")
script = "kill -STOP {pid}; echo on; for n in $(seq 20); do test -e done || sleep 0.1; done; kill -CONT {pid}"
pause = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
pause.stdout.readline()
for number in range(4000): handle.update(str(number))
print("after", flush=True)
open("done", "w").close()
'''

async def main():
    kernel = JupyterKernel(Launch(cwd=Path.cwd()))
    run = await collect(kernel, UPDATES.replace("{pid}", str(os.getpid())))
    updates = [event.output.data["text/plain"] for event in run.events if isinstance(event, OutputUpdated)]
    await kernel.close()
    print(updates[-1] + run.text(), end="")

asyncio.run(main())
"""
"""A program that gets no time while its kernel shows more than zmq keeps for it, which is a thousand messages."""


async def test_R7_the_last_update_is_not_lost_while_this_process_stands_still(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    reading = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", READER),
        cwd=tmp_path,
        env=kernel_environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        told, _ = await reading.communicate()
    assert told.decode() == "'3999'after\n"
