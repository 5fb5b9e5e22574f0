"""A session that really ran, as a notebook that really runs: by Jupyter's own program, with the same results."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import pytest_asyncio

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.events import AnyEvent, InputRequested
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.testing import FakeModel
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import blocks_of
from support.turns import play

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

ANSWERS = (
    "The *sum* first.\n\n```python\nimport os\nx = sum(range(10))\nprint('sum', x)\nx\n```",
    "Now a mistake.\n\n```python\nprint('before')\nundefined + x\n```",
    "```python\nfrom IPython.display import HTML, display\ndisplay(HTML('<b>45</b>'))\nx + 1\n```",
    "```python\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n```",
    "```python\nimport pandas as pd\npd.DataFrame({'city': ['Köln', 'Bonn'], 'n': [3, 4]})\n```",
    "```bash\nfor n in 1 2; do echo line $n; done\n```",
    "Done: `45`.",
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ran(
    tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]
) -> AsyncIterator[list[AnyEvent]]:
    """The events of a session with real kernels and a scripted model."""
    kernels = Kernels(Launch(cwd=tmp_path_factory.mktemp("cwd"), environ=kernel_environ))
    session = Session(kernels=kernels, settings=LoopSection(approve="auto"), model=FakeModel(*ANSWERS))
    try:
        events = await play(session, session.run("Add up."), limit=120)
    finally:
        for kernel in kernels.started_kernels():
            await kernel.close()
    yield events


def _executed(notebook: bytes, folder: Path) -> dict[str, Any]:
    """The notebook after `jupyter execute`, which stops at the first error that is not expected."""
    pytest.importorskip("nbclient", reason="`jupyter execute` comes with nbclient, which the dev extra installs")
    there, done = folder / "session.ipynb", folder / "done.ipynb"
    there.write_bytes(notebook)
    programs = Path(sys.executable).parent
    environ = {"HOME": str(folder), "PATH": f"{programs}:{os.environ['PATH']}", "JUPYTER_PLATFORM_DIRS": "1"}
    command = [str(programs / "jupyter"), "execute", str(there), f"--output={done}", "--timeout=60"]
    ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=150, check=False)
    assert ended.returncode == 0, ended.stderr
    executed: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
    return executed


def _told(notebook: dict[str, Any]) -> list[tuple[str, str]]:
    """What the cells gave, without what differs from run to run: pixels, paths in tracebacks, how text is cut."""
    told: list[tuple[str, str]] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        for output in cell["outputs"]:
            match output:
                case {"output_type": "stream", "name": name, "text": text}:
                    before = told.pop()[1] if told and told[-1][0] == name else ""
                    told.append((name, before + "".join(text)))
                case {"output_type": "error", "ename": name, "evalue": value}:
                    told.append((name, value))
                case {"output_type": kind, "data": data}:
                    told.append((kind, "image/png" if "image/png" in data else "".join(data["text/plain"])))
    return told


async def test_jupyter_execute_runs_an_exported_session_to_the_same_results(
    ran: list[AnyEvent], tmp_path: Path
) -> None:
    data = export_session(ran, "ipynb")
    notebook = json.loads(data)
    nbformat.validate(notebook)
    told = _told(notebook)
    assert ("stdout", "sum 45\n") in told
    assert ("NameError", "name 'undefined' is not defined") in told
    assert ("display_data", "image/png") in told
    assert ("stdout", "line 1\nline 2\n") in told
    done = await asyncio.to_thread(_executed, data, tmp_path)
    nbformat.validate(done)
    assert _told(done) == told


async def test_jupyter_execute_goes_through_a_notebook_whose_code_asked_for_input(
    kernel_environ: dict[str, str], tmp_path: Path
) -> None:
    asks = "import getpass\nname, word = input('name? '), getpass.getpass()\nprint('hello', name)"
    model = FakeModel(f"```python\n{asks}\n```", "```python\nprint(6 * 7)\n```", "Done.")
    kernels = Kernels(Launch(cwd=tmp_path, environ=kernel_environ))
    session = Session(kernels=kernels, settings=LoopSection(approve="auto"), model=model)
    answers: list[asyncio.Task[bool]] = []

    def answer(event: AnyEvent) -> None:
        if isinstance(event, InputRequested):
            answers.append(asyncio.create_task(session.answer(event.request_id, "Ada")))

    try:
        events = await play(session, session.run("Greet."), answer, limit=60)
        assert await asyncio.gather(*answers) == [True, True]
    finally:
        for kernel in kernels.started_kernels():
            await kernel.close()
    data = export_session(events, "ipynb")
    assert ("stdout", "hello Ada\n42\n") in _told(json.loads(data))
    done = await asyncio.to_thread(_executed, data, tmp_path)
    assert _told(done) == _told(json.loads(data))  # the one that asked was not run, and keeps what it gave
    assert blocks_of(import_session(data, "x").events) == blocks_of(events)


async def test_a_session_that_ran_comes_back_from_its_notebook(ran: list[AnyEvent]) -> None:
    assert blocks_of(import_session(export_session(ran, "ipynb"), "x").events) == blocks_of(ran)


async def test_without_images_it_is_small(ran: list[AnyEvent]) -> None:
    for kind in ("ipynb", "md", "html", "lmc"):
        data = export_session(ran, kind, images=False)
        assert b"iVBOR" not in data
        assert len(data) < len(export_session(ran, kind)) - 5_000
