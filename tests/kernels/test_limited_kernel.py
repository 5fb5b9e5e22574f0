"""Limited functions in a real kernel: what no reading of a source saw is stopped by the audit hook, and said."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.preparation import limit_functions
from oi_tui.app.engine.policy.function_patterns import fixed_begins
from support.runs import Collected, collect

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]


def said(run: Collected) -> str:
    return "".join(output.text for output in run.outputs if isinstance(output, StreamOutput))


async def started(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str], cell: str) -> JupyterKernel:
    kernel = JupyterKernel(Launch(cwd=tmp_path_factory.mktemp("cwd"), environ=environ, cells_at_start=(cell,)))
    await kernel.start()
    return kernel


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def denying(tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]) -> AsyncIterator[Kernel]:
    """A kernel in which some functions are denied."""
    cell = limit_functions((), (r"os\.system", r"subprocess\..*", r"socket\..*", r"ctypes\..*", "csv & c.*"), ())
    kernel = await started(tmp_path_factory, kernel_environ, cell)
    yield kernel
    await kernel.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def allowing(tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]) -> AsyncIterator[Kernel]:
    """A kernel in which some functions are allowed, and nothing else."""
    allow = (r"json\..*", r"zipfile\..*", r"xml\.dom\..*")
    begins = [begin for entry in allow for begin in fixed_begins(entry)]
    kernel = await started(tmp_path_factory, kernel_environ, limit_functions(allow, (), begins))
    yield kernel
    await kernel.close()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("getattr(__import__('o' + 's'), 'sys' + 'tem')('touch made')", "os.system"),
        ('exec(\'import subprocess; subprocess.run(["touch", "made"])\')', "subprocess.Popen"),
        (
            "import threading, os\nt = threading.Thread(target=os.system, args=('touch made',))\nt.start(); t.join()",
            "os.",
        ),
        ("s = __import__('socket')\ns.create_connection(('127.0.0.1', 1))", "socket."),
        ("import sys\nsys.modules.pop('csv', None)\nimport csv", "csv"),
        # text that says it is something else
        (
            "class S(str):\n    __str__ = lambda self: 'json'\nimport sys; sys.modules.pop('csv', None)\n"
            "__import__(S('csv'))",
            "csv",
        ),
        # a module's name with a will of its own, in the globals of what is executed
        (
            "import os\nclass N:\n    def __str__(self):\n        os.system('touch made')\n        return 'json'\n"
            "exec('os.system(\"true\")', {'__name__': N(), 'os': os})",
            "os.system",
        ),
        # a module in name only
        ("import sys; sys.modules.pop('csv', None)\nexec('import csv', {'__name__': 'json'})", "csv"),
        # the cell is further away than one looks
        (
            "import sys, socket\nspace = {'__name__': 'x', 's': socket}\nsys.setrecursionlimit(5000)\n"
            "exec('def f(n):\\n return f(n - 1) if n else s.create_connection((\"127.0.0.1\", 1))', space)\n"
            "space['f'](1500)",
            "socket.",
        ),
        # no cell at all leads to it
        (
            "import threading, socket\ns = socket.socket()\n"
            "t = threading.Thread(target=s.connect, args=(('127.0.0.1', 1),))\nt.start(); t.join()",
            "socket.",
        ),
        ("import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", "socket.socket.sendto"),
        ("import socket\nsocket.getaddrinfo('localhost', 80)", "socket.getaddrinfo"),
        ("import ctypes\nctypes.CDLL(None).system(b'touch made')", "ctypes.CDLL"),
        ("import ctypes\nctypes.pythonapi.system(b'touch made')", "ctypes.CDLL"),
        ("import pickle\npickle.loads(b\"cos\\nsystem\\n(S'touch made'\\ntR.\")", "os.system"),
    ],
)
async def test_D7_what_is_denied_is_stopped_in_the_kernel_however_it_was_reached(
    denying: Kernel, source: str, name: str
) -> None:
    run = await collect(denying, source)
    assert f"[oi-tui stopped what [functions] does not allow: {name}" in said(run)
    assert "made" not in said(await collect(denying, "import os; print(os.listdir())"))


async def test_D7_the_rest_of_the_kernel_works_as_before(denying: Kernel) -> None:
    source = (
        "import json, tempfile\nwith open('x.json', 'w') as f:\n    json.dump([1], f)\nprint(open('x.json').read())"
    )
    run = await collect(denying, source)
    assert (run.finished.status, said(run).strip()) == ("ok", "[1]")
    run = await collect(denying, "1/0")
    assert run.finished.status == "error"
    assert "stopped" not in said(run)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("eval('open')('x.txt', 'w')", "open"),
        ("import imaplib", "imaplib"),
        ("import os; os.popen('ls').read()", "open"),
        ("import os; os.fork()", "os.fork"),
        ("import urllib.request", "urllib.request"),
        ("get_ipython().system('touch made')", "os.fork"),
        ("exec('import imaplib', {'__name__': 'json'})", "imaplib"),
        ("exec('open(\"x.txt\", \"w\")', {'__name__': 'IPython'})", "open"),
        ("import json\njson.codecs.open('x.txt', 'w')", "open"),
    ],
)
async def test_D7_what_is_not_allowed_is_stopped_in_the_kernel(allowing: Kernel, source: str, name: str) -> None:
    run = await collect(allowing, source)
    assert f"[oi-tui stopped what [functions] does not allow: {name}" in said(run)
    assert run.finished.status == "error"


async def test_D7_allowed_libraries_import_and_open_what_they_need(allowing: Kernel) -> None:
    source = "import json, zipfile, xml.dom.minidom\nz = zipfile.ZipFile('a.zip', 'w')\nz.writestr('b', '')\nz.close()"
    run = await collect(allowing, f"{source}\nprint(zipfile.ZipFile('a.zip').namelist())")
    assert (run.finished.status, said(run).strip()) == ("ok", "['b']")
