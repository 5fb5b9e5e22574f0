"""Files whose functions are tools: what is read off them, who agrees to them, and where they run."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionRequested,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    ProgressReported,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Progress, RichOutput, StreamOutput
from oi_tui.app.engine.core.tool_replies import ToolsFound
from oi_tui.app.engine.core.tool_verbs import FindTools, ReadToolFiles
from oi_tui.app.engine.core.verbs import Decide, Open, Submit
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.records import RunBegan, Surroundings
from oi_tui.app.engine.sandbox.profile import Profile, RungChoice
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.tools.file_calls import FileCalls, kernel_of, run_cell, trial_cell
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, RunCall, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.tools.tool_file import ToolFile, WrongToolFile, declared_tools
from oi_tui.app.engine.tools.tool_runner import ToolRunner
from oi_tui.app.engine.tools.toolbox import Toolbox
from oi_tui.app.guide.pages import guide_page
from oi_tui.plugins.decisions_file import plugin_decisions, tool_file_decisions
from oi_tui.plugins.description import consent_lines
from oi_tui.plugins.tool_files import enabled_tool_files, find_tool_file, find_tool_files, tool_file_troubles
from support.enclosure import why_no_rung
from support.front import Front, engine
from support.plugin_packages import plugin_home
from support.sessions import seal_telling
from support.silent_output import SilentOutput
from support.tool_calls import answer, call, calls, make, tool
from support.turns import play

HINTS = '''
from __future__ import annotations
import typing as t
from pathlib import Path

open({mark!r}, "w").write("it ran")

def ring(
    times: int,
    how: "t.Literal['soft', 'loud']" = "soft",
    where: Path | None = None,
    names: t.Annotated[list[str], "Who hears it."] = (),
    *,
    extra: dict[str, float] | None = None,
    anything: t.Any = None,
) -> str:
    """Ring a bell.

    Args:
        times: How often.
    """

async def wait(seconds: float):
    """Wait."""

def helper(x):
    return x

def _private(x: int):
    """No tool."""

class Bell:
    def ring(self):
        """No tool either."""
'''


def test_G15_what_a_function_takes_is_read_off_its_hints_and_docstring_and_nothing_runs(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    ring, wait = declared_tools(HINTS.replace("{mark!r}", repr(str(mark)))).functions
    assert not mark.exists()
    assert (ring.name, ring.description, ring.output, ring.is_async) == ("ring", "Ring a bell.", "", False)
    assert ring.schema == {
        "type": "object",
        "properties": {
            "times": {"type": "integer", "description": "How often."},
            "how": {"enum": ["loud", "soft"], "default": "soft"},
            "where": {"anyOf": [{"type": "string", "description": "A path."}, {"type": "null"}], "default": None},
            "names": {"type": "array", "items": {"type": "string"}, "description": "Who hears it."},
            "extra": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}],
                "default": None,
            },
            "anything": {"default": None},
        },
        "additionalProperties": False,
        "required": ["times"],
    }
    assert (wait.name, wait.is_async, wait.signature) == ("wait", True, "wait(seconds: float)")


def test_G15_the_guides_example_works_as_it_stands_there() -> None:
    page = guide_page("tools")
    assert page is not None
    code, _ = re.findall(r"```python\n(.*?)```", page.text, re.DOTALL)
    [count] = declared_tools(code).functions
    assert (count.name, count.schema["required"]) == ("count_words", ["path"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(", "is no Python"),
        ("x = 1", "has no public function with a docstring"),
        ("def f(x):\n    'Do.'", "argument x has no type hint"),
        ("def f(*x: int):\n    'Do.'", "takes arguments without a name"),
        ("def f(x: int, /):\n    'Do.'", "takes arguments without a name"),
        ("def f(x: complex):\n    'Do.'", "has the hint complex; known are str"),
        ("def f(x: Literal[None]):\n    'Do.'", "Literal of something else"),
        ("def f(x: 'int |'):\n    'Do.'", "which is no Python"),
        ("def größe(x: int):\n    'Do.'", "whose name is none for a tool"),
        ("\n".join(f"def f{n}():\n    'Do.'" for n in range(51)), "more than 50 functions"),
        ("#" * 200_001, "more than 200,000 characters"),
        ("(" * 5_000, "is no Python"),
        ("x = '\0'", "is no Python"),
    ],
)
def test_G15_a_file_that_can_be_none_says_why(text: str, why: str) -> None:
    with pytest.raises(WrongToolFile, match=why):
        declared_tools(text)


CLASSES = '''
import enum
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, Union

class Colour(enum.Enum):
    """Of a buoy."""
    RED = "red"
    GREEN = "green"

class Grade(enum.IntEnum):
    LOW = enum.auto()
    HIGH = enum.auto()

@dataclass
class Buoy:
    colour: Colour
    depth: float = 2
    names: list[str] = field(default_factory=list)

@dataclass
class Light(Buoy):
    flashes: int = 1

class Place(TypedDict):
    name: str
    chart: NotRequired[Path]

class Position(NamedTuple):
    north: float
    east: float

def tell(
    buoys: list[Buoy],
    light: Optional[Light] = None,
    place: Place = {"name": "here"},
    position: "Position | None" = None,
    grade: Grade = Grade.LOW,
    day: date | None = None,
    price: Union[Decimal, None] = None,
    charts: dict[str, Path] = {},
    pair: tuple[int, str] = (0, ""),
    tags: set[str] = frozenset(),
    flag: bool | str = False,
) -> str:
    """Tell all."""
    return repr([buoys, light, place, position, grade, day, price, charts, pair, tags, flag])
'''


async def test_G15_classes_of_the_file_are_what_a_function_takes_and_gets(tmp_path: Path) -> None:
    declared = declared_tools(CLASSES)
    [tell] = declared.functions
    taken, classes = tell.schema["properties"], tell.schema["$defs"]
    assert taken["buoys"] == {"type": "array", "items": {"$ref": "#/$defs/Buoy"}}
    assert sorted(classes["Colour"]["enum"]) == ["green", "red"]
    assert classes["Grade"]["enum"] == [1, 2]
    assert classes["Buoy"]["required"] == ["colour"]
    assert classes["Light"]["properties"]["flashes"] == {"type": "integer", "default": 1}
    assert classes["Place"]["required"] == ["name"]
    assert tell.schema["required"] == ["buoys"]
    kernels = Kernels(Launch(cwd=tmp_path))
    runner = ToolRunner(FileCalls(kernels).tool(ToolFile("tools/tell.py", "/t/tell.py", CLASSES, declared), tell))
    given = {
        "buoys": [{"colour": "red"}, {"colour": "green", "depth": 3, "names": ["Ann"]}],
        "light": {"colour": "green", "flashes": 4},
        "place": {"name": "quay", "chart": "q.png"},
        "position": [54.3, 10.1],
        "grade": 2,
        "day": "2026-11-24",
        "price": "1.50",
        "charts": {"a": "a.png"},
        "pair": [1, "x"],
        "tags": ["x"],
        "flag": "yes",
    }
    try:
        said = await called(runner, given)
        assert said == (
            "[[Buoy(colour=<Colour.RED: 'red'>, depth=2, names=[]), "
            "Buoy(colour=<Colour.GREEN: 'green'>, depth=3.0, names=['Ann'])], "
            "Light(colour=<Colour.GREEN: 'green'>, depth=2, names=[], flashes=4), "
            "{'name': 'quay', 'chart': PosixPath('q.png')}, Position(north=54.3, east=10.1), <Grade.HIGH: 2>, "
            "datetime.date(2026, 11, 24), Decimal('1.50'), {'a': PosixPath('a.png')}, (1, 'x'), {'x'}, 'yes']"
        )
        assert "'blue' is not one of" in await called(runner, {"buoys": [{"colour": "blue"}]})
        assert "False]" in await called(runner, {"buoys": []}), "what is left out has the function's own default"
    finally:
        await kernels.close()


async def called(runner: ToolRunner, arguments: dict[str, object]) -> str:
    """The text of what a call gives, or of what went wrong."""
    said: list[str] = []

    def take(event: AnyEvent) -> None:
        match getattr(event, "output", event):
            case RichOutput(data=data):
                said.append(data["text/plain"])
            case ErrorOutput(value=value):
                said.append(value)
            case _:
                pass

    async with asyncio.timeout(60):
        await runner.run(as_json(arguments).decode(), "b1", take)
    return "".join(said)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("class C:\n    x: int\ndef f(x: C):\n    'Do.'", "is no enumeration, dataclass, TypedDict or NamedTuple"),
        ("class C(NamedTuple):\n    x: 'C'\ndef f(x: C):\n    'Do.'", "a class that holds itself"),
        ("@dataclass\nclass C(Other):\n    x: int\ndef f(x: C):\n    'Do.'", "a class that is made of Other"),
        ("class C(Enum):\n    x = go()\ndef f(x: C):\n    'Do.'", "whose x is neither a text nor a whole number"),
        ("class C(Enum):\n    mro = 1\ndef f(x: C):\n    'Do.'", "a class that cannot be read"),
        ("class A(B): pass\nclass B(A): pass\ndef f(x: A):\n    'Do.'", "is no enumeration, dataclass"),
        (f"def f(x: Literal[{', '.join(map(str, range(9_000)))}]):\n    'Do.'", "more words than fit into a request"),
        ("CAPABILITIES = {'writes': go()}\ndef f():\n    'Do.'", "is not one dict, written out and set once"),
        ("CAPABILITIES = {}\nCAPABILITIES = {'writes': False}\ndef f():\n    'Do.'", "set once"),
        ("CAPABILITIES = {'reads': True}\ndef f():\n    'Do.'", "no dict of writes, destroys, network, repeatable"),
        ("CAPABILITIES = {'writes': 0}\ndef f():\n    'Do.'", "with True or False"),
    ],
)
def test_G15_a_class_or_a_declaration_that_cannot_be_read_is_named(text: str, why: str) -> None:
    with pytest.raises(WrongToolFile, match=why):
        declared_tools(text)


def test_G15_a_default_that_has_no_value_is_none_that_is_told() -> None:
    [found] = declared_tools("def f(x: int = {[]: 1}):\n    'Do.'").functions  # before anybody agreed to the file
    assert found.schema["properties"] == {"x": {"type": "integer"}}


# -- who agrees to it -----------------------------------------------------------------------------------

SAFE = 'open({mark!r}, "w").write("it ran")\n\ndef ring() -> str:\n    """Ring."""\n    return "ding"\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person's home, a folder with tools, and the mark that a file leaves which runs."""
    with plugin_home(tmp_path / "home", monkeypatch):
        for folder in (tmp_path / "home" / "config" / "oi-tui" / "tools", tmp_path / "work" / ".oi" / "tools"):
            folder.mkdir(parents=True)
            (folder / "bell.py").write_text(SAFE.replace("{mark!r}", repr(str(tmp_path / "mark"))))
        yield tmp_path


def enable(name: str, folder: Path | None = None) -> None:
    found = find_tool_file(name, folder)
    assert found is not None
    tool_file_decisions().decide(found.name, "enabled", found.digest)


def told(folder: Path | None) -> list[str]:
    return [trouble.title for trouble in tool_file_troubles(folder)]


def test_G16_a_new_or_changed_file_has_no_tools_until_the_person_agrees_and_is_told_of(place: Path) -> None:
    own, theirs = (
        place / "home" / "config" / "oi-tui" / "tools" / "bell.py",
        place / "work" / ".oi" / "tools" / "bell.py",
    )
    assert [one.name for one in find_tool_files(None)] == ["tools/bell.py"], "an untrusted folder brings none"
    assert told(place / "work") == [
        "tools/bell.py has tools that are not enabled: ring().",
        f"{theirs} has tools that are not enabled: ring().",
    ]
    assert told(place / "work") == [], "once"
    assert list(enabled_tool_files(place / "work")) == []
    enable("tools/bell.py")
    [file] = enabled_tool_files(place / "work")
    assert (file.origin, file.text, [one.name for one in file.declared.functions]) == (
        "tools/bell.py",
        own.read_text(),
        ["ring"],
    )
    assert tool_file_decisions().all()[str(theirs)].state == "told"
    assert plugin_decisions().all() == {}
    own.write_text(own.read_text() + "\n# changed\n")
    assert list(enabled_tool_files(place / "work")) == []
    assert told(None) == ["The tools of tools/bell.py are left out: it has changed since you enabled it."]
    own.write_text("def ring(x):\n    'Ring.'\n")
    [trouble] = tool_file_troubles(None)
    assert "whose argument x has no type hint" in trouble.title
    assert "oi-tui tools enable tools/bell.py" in trouble.hint
    assert not (place / "mark").exists()


@pytest.mark.parametrize("spoil", ["link", "others", "record"])
def test_G16_a_file_that_others_could_have_written_has_no_tools(place: Path, spoil: str) -> None:
    own = place / "home" / "config" / "oi-tui" / "tools" / "bell.py"
    enable("bell")
    assert list(enabled_tool_files(None))
    match spoil:
        case "link":
            own.rename(place / "elsewhere.py")
            own.symlink_to(place / "elsewhere.py")
        case "others":
            own.chmod(0o666)
        case _:
            (place / "home" / "data" / "oi-tui" / "plugins.toml").write_text("[tools\n")
    assert list(enabled_tool_files(None)) == []
    if spoil != "record":
        assert ("is a link" if spoil == "link" else "go-w") in told(None)[0]
    else:
        with pytest.raises(SettingsError):
            tool_file_decisions().all()


def test_G16_decisions_about_plugins_and_about_tools_are_kept_beside_each_other(place: Path) -> None:
    plugin_decisions().decide("tale", "enabled", "1")
    enable("bell")
    plugin_decisions().decide("tale", "disabled", "2")
    assert plugin_decisions().all().keys() == {"tale"}
    assert tool_file_decisions().all().keys() == {"tools/bell.py"}


def test_G16_no_file_takes_the_name_of_another_tool(place: Path) -> None:
    enable("bell")
    [ring] = FileCalls(FakeKernels()).take(tuple(enabled_tool_files(None))) or []
    box = Toolbox([tool(name="ring"), ring])
    found = box.find("ring")
    assert found is not None
    assert found.origin == ""
    assert [one.origin for one in box.left_out] == ["tools/bell.py"]


# -- where it runs --------------------------------------------------------------------------------------

BELL = '''
import asyncio
import time
from pathlib import Path

CALLS = []

def ring(times: int) -> str:
    """Ring.

    >>> ring(2)
    'dingding'
    """
    CALLS.append(times)
    return "ding" * times

def rung() -> list[int]:
    """How often it was rung."""
    return CALLS

async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"

def block(seconds: float) -> None:
    """Block."""
    print("blocks")
    time.sleep(seconds)

def read(path: Path) -> str:
    """Read a file."""
    return path.read_text()

def fail(path: Path) -> None:
    """Fail."""
    import statistics
    statistics.mean(map(float, [path.read_text()]))

def write(path: Path) -> None:
    """Write a file."""
    path.write_text("x")

def connect(port: int) -> None:
    """Connect to this machine."""
    import socket
    socket.create_connection(("127.0.0.1", port), timeout=5)

def question() -> str:
    """Ask."""
    return "you said " + input("Well?")

def name_of_module() -> str:
    """Where it is."""
    return __name__.partition("_file_")[0]
'''
FILE = ToolFile("tools/bell.py", "/nowhere/tools/bell.py", BELL, declared_tools(BELL))


class Bells:
    """Calls of one session's file of tools."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self._calls = FileCalls(kernels)

    def runner(self, name: str) -> ToolRunner:
        return ToolRunner(self._calls.tool(FILE, next(one for one in FILE.declared.functions if one.name == name)))

    async def call(self, name: str, answer: str | None = None, **arguments: object) -> tuple[RunResult, str]:
        said: list[str] = []
        runner, answers = self.runner(name), list[asyncio.Task[None]]()

        def take(event: AnyEvent) -> None:
            match getattr(event, "output", event):
                case StreamOutput(text=text):
                    said.append(text)
                case RichOutput(data=data):
                    said.append(data["text/plain"])
                case ErrorOutput(value=value):
                    said.append(value)
                case InputRequested() if answer is not None:
                    answers.append(asyncio.ensure_future(runner.answer(answer)))
                case _:
                    pass

        async with asyncio.timeout(60):
            result = await runner.run(as_json(arguments).decode(), "b1", take)
        return result, "".join(said)


async def test_G17_functions_run_in_a_kernel_of_their_own_in_the_sandbox_of_code(tmp_path: Path) -> None:
    if why := why_no_rung("space"):
        pytest.skip(why)
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work, home):
        folder.mkdir()
    (home / "secret").write_text("secret")
    profile = Profile(mode="workspace-write", workspace=work, home=home, hidden=(home,), rung="space")
    kernels = Kernels(Launch(cwd=work, sandbox=profile))
    bells = Bells(kernels)
    held = bells.runner("ring").confinement
    assert (held.sandboxed, held.offline) == (True, True)
    assert bells.runner("ring").place.startswith("Python")
    try:
        assert await bells.call("ring", times=2) == (RunResult(status="ok"), "dingding")
        assert (await bells.call("rung"))[1] == json.dumps([2], indent=2), "the module lives on"
        assert (await bells.call("wait", seconds=0.01))[1] == "waited"
        assert (await bells.call("question", "yes"))[1] == "you said yes"
        assert (await bells.call("name_of_module"))[1] == "oi_tui_tool"
        assert (await bells.call("write", path="in.txt"))[0].status == "ok"
        assert (work / "in.txt").read_text() == "x"
        failed, why = await bells.call("read", path=str(home / "secret"))
        assert failed.status == "error"
        assert why.startswith("FileNotFoundError")
        assert len(why.splitlines()) == 1, "the tool is not what has to be mended"
        failed, why = await bells.call("fail", path="in.txt")
        assert why.startswith("File /nowhere/tools/bell.py"), "the traceback begins in the file"
        assert (why.count("File "), why.splitlines()[-1]) == (1, "ValueError: could not convert string to float: 'x'")
        assert BELL not in why
        await bells.call("write", path=str(home / "out.txt"))
        assert not (home / "out.txt").exists()
        with socket.create_server(("127.0.0.1", 0)) as server:
            assert (await bells.call("connect", port=server.getsockname()[1]))[0].status == "error"
        assert "do not fit at times" in (await bells.call("ring", times="two"))[1]
        assert kernels.started_kernels() == (), "none of those that run code"
        await kernels.restart()
        assert (await bells.call("rung"))[1] == "[]", "a restart of all kernels is one of this"
    finally:
        await kernels.close()
    assert kernels.tool_kernel(writes=True, network=False).state == "cold"


READER = """
import os
import socket
from pathlib import Path

CAPABILITIES = {"writes": False, "network": %s, "repeatable": True}

def read(path: Path) -> str:
    \"\"\"Read a file.\"\"\"
    return path.read_text()

def write(path: Path) -> str:
    \"\"\"Write a file, though it says that it does not.\"\"\"
    CAPABILITIES["writes"] = True
    for change in (lambda: path.write_text("x"), lambda: os.unlink("kept"), lambda: os.rename("kept", "lost")):
        try:
            change()
        except OSError as error:
            print(type(error).__name__)
    return "ended"

def connect(port: int) -> None:
    \"\"\"Connect to this machine.\"\"\"
    socket.create_connection(("127.0.0.1", port), timeout=5)
"""


@pytest.mark.parametrize("rung", ["space", "lock"])
async def test_G20_a_file_that_declares_that_it_only_reads_cannot_write(tmp_path: Path, rung: RungChoice) -> None:
    if why := why_no_rung(rung):
        pytest.skip(why)
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work, home):
        folder.mkdir()
    (work / "kept").write_text("kept")
    profile = Profile(mode="workspace-write", workspace=work, home=home, network="full", rung=rung)
    kernels = Kernels(Launch(cwd=work, sandbox=profile))
    reader = FileCalls(kernels)
    file = ToolFile("tools/reader.py", "/nowhere/reader.py", READER % False, declared_tools(READER % False))
    tools = {one.name: reader.tool(file, one) for one in file.declared.functions}
    assert tools["write"].capabilities == Capabilities(writes=False, network=False, repeatable=True)
    assert tools["write"].confinement.offline
    writer = FileCalls(kernels).tool(FILE, FILE.declared.functions[0])
    assert (writer.capabilities.writes, writer.capabilities.network) == (True, False), "no network undeclared"
    reaches = file._replace(declared=declared_tools(READER % True))
    assert reader.tool(reaches, reaches.declared.functions[0]).capabilities.network
    try:
        assert await called(ToolRunner(tools["read"]), {"path": "kept"}) == "kept"
        assert (await called(ToolRunner(tools["write"]), {"path": "new"})).endswith("ended")
        assert sorted(one.name for one in work.iterdir()) == ["kept"]
        assert (work / "kept").read_text() == "kept"
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            assert "Error" in await called(ToolRunner(tools["connect"]), {"port": port})
    finally:
        await kernels.close()


def test_G20_what_no_sandbox_holds_a_file_to_counts_for_nothing(tmp_path: Path) -> None:
    open_to_all = Profile(mode="danger-full-access", workspace=tmp_path, home=tmp_path)
    file = ToolFile("tools/reader.py", "/nowhere/reader.py", READER % False, declared_tools(READER % False))
    for launch in (Launch(cwd=tmp_path), Launch(cwd=tmp_path, sandbox=open_to_all)):
        found = FileCalls(Kernels(launch)).tool(file, file.declared.functions[0])
        assert (found.capabilities.writes, found.capabilities.network) == (True, True)


def test_G20_what_a_file_declares_is_shown_before_it_is_enabled_and_belongs_to_what_was_agreed(place: Path) -> None:
    own = place / "home" / "config" / "oi-tui" / "tools" / "bell.py"
    own.write_text('CAPABILITIES = {"writes": False}\n' + own.read_text())
    enable("bell")
    found = find_tool_file("bell", None)
    assert found is not None
    assert consent_lines(found)[0] == "Declares: only reads: the sandbox lets it write no file; no network"
    own.write_text(own.read_text().replace("False", "True", 1))
    assert list(enabled_tool_files(None)) == []
    found = find_tool_file("bell", None)
    assert found is not None
    assert consent_lines(found)[0] == "Declares: may write where your code may; no network"
    own.write_text(own.read_text().replace("True", 'True, "destroys": False, "repeatable": True', 1))
    found = find_tool_file("bell", None)
    assert found is not None
    assert consent_lines(found)[0].endswith(
        "no network; says that it deletes nothing and a repeated call does no more, which nothing enforces"
    )


COUNTER = '''
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from oi_tui.plugins.api import ToolOutput

def count(times: int, output) -> str:
    """Count."""
    for number in range(times):
        output.report(number + 1, times, f"at {number}")
    output.print("counted\\n")
    return "all"

async def wait(told: ToolOutput) -> None:
    """Wait."""
    told.report(0.5)
    told.show({"text": "shown"})

def lie(output) -> None:
    """Lie."""
    output.report(float("nan"))

def call_code() -> None:
    """Call what only code calls."""
    import computer
    computer.ask("for your password")

def forge() -> None:
    """Forge."""
    from IPython.display import display
    for told in ({"done": "much"}, {"done": 1, "total": "x"}, [], None, {"done": 1, "message": "m" * 5000}):
        display({"application/vnd.oi-tui.progress+json": told}, raw=True)
'''


async def test_G21_a_function_of_a_file_says_how_far_it_is_as_one_of_a_plugin_does(tmp_path: Path) -> None:
    file = ToolFile("tools/counter.py", "/nowhere/counter.py", COUNTER, declared_tools(COUNTER))
    kernels = Kernels(Launch(cwd=tmp_path))
    calls = FileCalls(kernels)
    tools = {one.name: calls.tool(file, one) for one in file.declared.functions}
    assert [*tools["count"].schema["properties"]] == ["times"]
    assert tools["wait"].schema["properties"] == {}

    async def call(name: str, **arguments: object) -> tuple[str, list[Progress], str]:
        reports: list[Progress] = []
        said: list[str] = []

        def take(event: AnyEvent) -> None:
            match event:
                case ProgressReported(progress=progress) if progress is not None:
                    reports.append(progress)
                case OutputAdded(output=StreamOutput(text=text)):
                    said.append(text)
                case OutputAdded(output=RichOutput(data=data)):
                    said.append(str(data.get("text/plain", data)))
                case OutputAdded(output=ErrorOutput(value=value)):
                    said.append(value)
                case _:
                    pass

        async with asyncio.timeout(60):
            result = await ToolRunner(tools[name]).run(as_json(arguments).decode(), "b1", take)
        return result.status, reports, "".join(said)

    try:
        for times in (3, 1_000):
            status, reports, said = await call("count", times=times)
            assert (status, said) == ("ok", "counted\nall")
            assert reports[-1] == Progress(done=times, total=times, message=f"at {times - 1}")
        assert (await call("wait"))[1:] == ([Progress(done=0.5)], "{'text': 'shown'}")
        status, reports, said = await call("lie")
        assert (status, reports) == ("error", [])
        assert "progress is a finite number" in said
        status, reports, said = await call("forge")
        assert (status, said, len(reports)) == ("ok", "", 1), "what is no progress is nothing"
        assert len(reports[0].message) == 1_000
        status, _, said = await call("call_code")
        assert (status, said.rpartition("\n")[2]) == (
            "error",
            "ComputerError: A tool of a file cannot call code or the model.",
        )
    finally:
        await kernels.close()


async def test_G22_what_is_enabled_or_disabled_counts_at_once_and_says_so(place: Path) -> None:
    own = place / "home" / "config" / "oi-tui" / "tools" / "bell.py"
    model = FakeModel("One.", "Two.", "Three.")

    async def hear(front: Front, *, prompt: str = "") -> list[str]:
        """What notices say, after the person decided or sent a prompt."""
        seen = len(front.events)
        await front.client.send(Submit(text=prompt) if prompt else ReadToolFiles())
        if prompt:
            await front.until_event(TurnEnded)
        await front.client.send(FindTools())
        await front.until(lambda reply: isinstance(reply, ToolsFound))
        return [event.title for event in front.events[seen:] if isinstance(event, NoticeAdded)]

    async with engine(place, model, find_tool_files=lambda: enabled_tool_files(None)) as front:
        await front.client.send(Open())
        assert await hear(front, prompt="Hello") == []
        enable("bell")
        assert await hear(front) == ["The model may call now, of tools/bell.py: ring."]
        assert await hear(front) == [], "once"
        found = find_tool_file("bell", None)
        assert found is not None
        tool_file_decisions().decide(found.name, "disabled", found.digest)
        assert await hear(front) == ["The model can no longer call, of tools/bell.py: ring."]
        enable("bell")
        assert await hear(front, prompt="Another program enabled it") == [
            "The model may call now, of tools/bell.py: ring."
        ]
        assert "ring" in [spec.name for spec in model.requests[-1].tools]
        own.write_text(own.read_text() + "\n# changed\n")
        assert await hear(front, prompt="It changed") == ["The model can no longer call, of tools/bell.py: ring."]
        assert "ring" not in [spec.name for spec in model.requests[-1].tools]


async def test_G17_a_call_is_interrupted_and_the_next_one_runs(tmp_path: Path) -> None:
    bells = Bells(Kernels(Launch(cwd=tmp_path)))
    runner, began = bells.runner("block"), asyncio.Event()
    try:
        running = asyncio.ensure_future(runner.run('{"seconds": 60}', "b1", lambda event: began.set()))
        async with asyncio.timeout(60):
            await began.wait()
            waiting = asyncio.ensure_future(bells.call("ring", times=1))
            assert await runner.interrupt() == "signal"
            assert (await running).status == "interrupted"
            assert (await waiting)[1] == "ding"
            kernel = kernel_of(bells.kernels, FILE)
            await run_cell(kernel, trial_cell(FILE), heard := Heard(), FILE.place)
            assert heard.text == "1 example, 0 failed\n"
            broken = FILE._replace(text=BELL.replace("'dingding'", "'dong'"))
            with pytest.raises(ToolFailed, match="1 of 1 failed"):
                await run_cell(kernel, trial_cell(broken), heard, FILE.place)
            assert "Expected:\n    'dong'\nGot:\n    'dingding'" in heard.text
    finally:
        await bells.kernels.close()


class Heard(SilentOutput):
    """What a trial says."""

    def __init__(self) -> None:
        self.text = ""

    def print(self, text: str) -> None:
        self.text += text


def reader_tools(kernels: Kernels) -> dict[str, Tool]:
    """Tools of two files that read, of which one has the network."""
    calls, found = FileCalls(kernels), dict[str, Tool]()
    for name, network in (("near", False), ("far", True)):
        text = (READER % network).replace("def read(", f"def {name}(")
        file = ToolFile(f"tools/{name}.py", f"/nowhere/{name}.py", text, declared_tools(text))
        found[name] = calls.tool(file, next(one for one in file.declared.functions if one.name == name))
    return found


async def test_G5_a_call_of_a_file_that_reads_runs_beside_others_and_those_in_its_kernel_come_after_it() -> None:
    """Each with its own time limit: none of it passes while a call waits for the kernel."""
    running, most = set[str](), set[frozenset[str]]()

    def run(name: str) -> RunCall:
        async def note(arguments: Arguments, output: ToolOutput) -> str:
            running.add(name)
            await asyncio.sleep(0)
            most.add(frozenset(running))
            running.remove(name)
            return "ok"

        return note

    schema = {"type": "object", "properties": {}}
    made = [
        Tool(
            name=name,
            description="",
            schema=schema,
            run=run(name),
            capabilities=Capabilities(writes=False),
            kernel=kernel,
        )
        for name, kernel in (("a", "files"), ("b", "files"), ("c", ""), ("d", ""))
    ]
    names = ("a", "c", "b", "d", "a")
    deltas = [delta for index, name in enumerate(names) for delta in call("{}", name, index)]
    session = make(FakeModel(answer(*deltas), "Done."), *made)
    await play(session, session.run("go"))
    assert [block.state for block in calls(session)] == ["ok"] * len(names)
    assert most >= {frozenset("ac"), frozenset("bd")}
    assert not [one for one in most if {"a", "b"} <= one]
    tools = reader_tools(Kernels(Launch(cwd=Path("/"))))
    assert tools["near"].kernel != tools["far"].kernel != ""


async def test_G17_the_audit_log_has_the_sandbox_of_the_kernel_that_a_call_runs_in(tmp_path: Path) -> None:
    async def nothing(arguments: Arguments, output: ToolOutput) -> None:
        """As if it had run in its kernel."""

    profile = Profile(mode="workspace-write", workspace=tmp_path, home=tmp_path, network="full", rung="space")
    kernels = Kernels(Launch(cwd=tmp_path, sandbox=profile))
    tools = reader_tools(kernels) | {"ring": FileCalls(kernels).tool(FILE, FILE.declared.functions[0])}
    asked = {"near": '{"path": "x"}', "far": '{"path": "x"}', "ring": '{"times": 1}'}
    deltas = [delta for index, name in enumerate(asked) for delta in call(asked[name], name, index)]
    session = make(FakeModel(answer(*deltas), "Done."), *(replace(one, run=nothing) for one in tools.values()))
    fold = AuditFold(Surroundings(cwd="/", sandbox="workspace-write", network="full"), str)
    began: list[RunBegan] = []

    def take(event: AnyEvent) -> None:
        fold.take(event, 0.0)
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    session._runs._seal = seal_telling(lambda started, block: began.append(fold.begin(started, block, 0.0)))
    session.emitter.observers = (take,)
    async with asyncio.timeout(10):
        await session.run("go")
    assert [(one.tool, one.sandbox, one.network) for one in began] == [
        ("near", "read-only", "none"),
        ("far", "read-only", "full"),
        ("ring", "workspace-write", "none"),
    ]
