"""Kernels and libraries as people have them: xeus-python, bash_kernel, bokeh, altair, tqdm.notebook, ipywidgets."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.environments.discovery import usable_environment
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.text.mime import plain_text
from oi_tui.widgets.timeline.outputs.json import JsonOutline
from support.kernelspecs import install_kernelspec
from support.runs import collect

pytestmark = pytest.mark.thorough

SERVERS = Path(os.environ.get("OI_TUI_SERVERS", ""), "bin")
PYTHON = SERVERS / "python"
ARGUMENTS = ("-f", "{connection_file}")

LIBRARIES = {
    "bokeh": (
        "from bokeh.plotting import figure, show\nfrom bokeh.io import output_notebook\noutput_notebook()\n"
        "drawing = figure()\ndrawing.line([1, 2], [3, 4])\nshow(drawing)",
        "[JavaScript, which only a browser runs]",
    ),
    "altair": ("import altair\naltair.Chart(altair.Data(values=[{'a': 1}])).mark_bar().encode(x='a:Q')", "alt.Chart("),
    "tqdm": ("from tqdm.notebook import tqdm\nfor _ in tqdm(range(3)):\n    pass\nprint('done')", "done"),
    "ipywidgets": ("import ipywidgets\nipywidgets.IntSlider(value=7, description='size')", "size: 7"),
}


def need(package: str) -> None:
    """Skip, loudly, where the package is not in the environment of the foreign servers."""
    if not list(SERVERS.parent.glob(f"lib/python3*/site-packages/{package}")):
        pytest.skip(f"NOT TESTED: {package} is not installed; make check-servers does that")


@pytest_asyncio.fixture(params=["without a sandbox", "in the sandbox"])
async def kernels(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Kernels]:
    """All kernelspecs of those packages, under the names that they give themselves."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    for name, arguments in {
        "xpython": ("-m", "xpython_launcher"),
        "xpython-raw": ("-m", "xpython_launcher", "--raw"),
        "bash": ("-m", "bash_kernel"),
    }.items():
        install_kernelspec(tmp_path / "jupyter", name, (str(PYTHON), *arguments, *ARGUMENTS))
    work = tmp_path / "work"
    work.mkdir()
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    sandbox = Profile(mode="workspace-write", workspace=work, home=Path.home())
    pool = Kernels(
        Launch(cwd=work, environ=environ, sandbox=sandbox if request.param == "in the sandbox" else None),
    )
    yield pool
    await pool.close()


@pytest.mark.parametrize("name", ["xpython", "xpython-raw"])
async def test_R15_xeus_python_runs_without_our_part(name: str, kernels: Kernels) -> None:
    need("xpython_launcher.py")
    kernel = kernels.get(name)
    assert isinstance(kernel, JupyterKernel)
    told: list[AnyEvent] = []
    await kernel.run("x = 41", "b", told.append)
    assert ["not IPython's own" in event.title for event in told if isinstance(event, NoticeAdded)] == [True]
    run = await collect(kernel, "print('said'); x + 1")
    assert run.text() == "said\n"
    assert run.result == "42"
    assert "division by zero" in (await collect(kernel, "1/0")).error.value
    assert (await collect(kernel, "x")).result == "41"


async def test_R15_bash_kernel_runs_beside_our_shell(kernels: Kernels) -> None:
    need("bash_kernel")
    label = kernels.canonical("jupyter:bash")
    assert label == "jupyter:bash"
    assert kernels.canonical("bash") == "shell"
    kernel = kernels.get(label)
    assert (await collect(kernel, "word=theirs; echo $word")).text() == "theirs\n"
    assert (await collect(kernel, "echo again $word")).text() == "again theirs\n"


@pytest.mark.parametrize("library", LIBRARIES)
async def test_R15_plots_and_widgets_are_shown_readably(library: str, tmp_path: Path) -> None:
    need(library)
    source, wanted = LIBRARIES[library]
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    prefix = str(SERVERS.parent)
    python = usable_environment(prefix, tmp_path, environ, trusted=True)
    pool = Kernels(Launch(cwd=tmp_path, environ=environ, python=python))
    try:
        run = await collect(pool.get("python"), source)
    finally:
        await pool.close()
    assert run.finished.status == "ok", run.outputs
    told = [plain_text(output) for output in run.outputs]
    assert wanted in "".join(told)
    assert all(len(text) < 500 for text in told)
    rich = [output for output in run.outputs if isinstance(output, RichOutput)]
    assert all(JsonOutline.of(output) is None for output in rich if "application/javascript" in output.data)
