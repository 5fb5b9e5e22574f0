"""Makes the recordings of what tools can do: real runs of the program, against a model that is a script.

python tests/support/capability_runs.py [NAME ...]      writes tests/recordings/NAME.jsonl, all without a name

What stands in a recording of the machine that made it (folders, ports, the Python) is replaced by plain names.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from msgspec.structs import replace

from oi_tui.app.build import local_client
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import DecisionRequested, InputRequested, NoticeAdded, TurnEnded
from oi_tui.app.engine.core.settings import FunctionsSection, ModelSection, Settings
from oi_tui.app.engine.core.settings_section import WebSection
from oi_tui.app.engine.core.tool_replies import ServersFound
from oi_tui.app.engine.core.tool_verbs import FindServers, UndoChanges
from oi_tui.app.engine.core.verbs import Answer, AnyVerb, Decide, Open, Submit
from oi_tui.app.engine.models.scripted import ScriptedAnswer, ScriptedCall
from oi_tui.app.engine.skills.kept_functions import PASSED, FunctionHead, function_file, keep_function
from support.front import Front
from support.ports import free_port
from support.script import Script
from support.terminal import clean_env

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))
RECORDINGS = Path(__file__).parents[1] / "recordings"


def call(tool: str, said: str, /, **arguments: object) -> ScriptedAnswer:
    """An answer that is a text and a call."""
    return ScriptedAnswer(text=said, calls=(ScriptedCall(tool=tool, arguments=arguments),), chunk=40)


class Capability(NamedTuple):
    """One recording."""

    name: str
    prompt: str
    answers: tuple[str | ScriptedAnswer, ...]
    prepare: Callable[[Path, Path], None] = lambda home, folder: None
    """Is given the person's home and the working folder."""
    options: tuple[str, ...] = ()
    """Of `oi-tui run`."""
    has_server: bool = False
    """Whether there is an MCP server, which has to be ready first."""
    said: tuple[AnyVerb, ...] = ()
    """What the person does at each question, and behind the last one: then it is a session in which they are asked."""


def notes(home: Path, folder: Path) -> None:
    (folder / "notes.md").write_text("# Notes\n\nThe harbour opens at seven.\nBring a rope.\n")
    (folder / "tide.csv").write_text("hour,metres\n6,1.4\n12,3.2\n")


SKILL = """\
---
name: tide-tables
description: Reads tide tables and says when a boat can leave.
---
Read the table with the csv module. A boat needs two metres of water.
"""


def skill(home: Path, folder: Path) -> None:
    notes(home, folder)
    place = home / "tide-tables"
    place.mkdir()
    (place / "SKILL.md").write_text(SKILL)
    subprocess.run([OI_TUI, "skills", "add", "--yes", str(place)], env=clean_env(home), check=True, timeout=60)


DEPTH = '''\
import csv


def depth(hour: int) -> float:
    """How deep the water is at an hour, in metres."""
    return float(next(row["metres"] for row in csv.DictReader(open("tide.csv")) if int(row["hour"]) == hour))
'''


def kept_function(home: Path, folder: Path) -> None:
    notes(home, folder)
    data = home / "data" / "oi-tui"
    data.mkdir(parents=True)
    keep_function("depth", function_file(FunctionHead(kept="2026-11-24", tested=PASSED), DEPTH), data / "functions")


LIMITS = FunctionsSection(deny=(r"os\.system", r"subprocess\..*", "shell:.*"))


def limits(home: Path, folder: Path) -> None:
    settings(home, f"[functions]\ndeny = {json.dumps(LIMITS.deny)}\n")


def settings(home: Path, text: str) -> None:
    config = Path(clean_env(home)["XDG_CONFIG_HOME"]) / "oi-tui"
    config.mkdir(parents=True, exist_ok=True, mode=0o700)
    (config / "config.toml").write_text(text)


def schema(home: Path, folder: Path) -> None:
    notes(home, folder)
    fields = {"hour": {"type": "integer"}, "metres": {"type": "number"}}
    (folder / "highest.json").write_text(json.dumps({"type": "object", "properties": fields, "required": [*fields]}))


PAGE = b"""<html><head><title>Tides</title></head><body><h1>Tides</h1>
<p>The water is highest at <b>twelve</b>, with 3.2 metres.</p></body></html>"""

PORT = free_port()
"""Of the page that is fetched."""


def page(home: Path, folder: Path) -> None:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE if self.path == "/tide.html" else b"")

        def log_message(self, *told: object) -> None:
            """Nothing: what the program says is what counts."""

    Thread(target=HTTPServer(("127.0.0.1", PORT), Pages).serve_forever, daemon=True).start()


def server(home: Path, folder: Path) -> None:
    settings(home, "")
    shutil.copy(Path(__file__).with_name("mcp_server.py"), folder)
    program = {"command": sys.executable, "args": ["mcp_server.py", "good", "starts"]}
    listed = Path(clean_env(home)["XDG_CONFIG_HOME"]) / "oi-tui" / "mcp.json"
    listed.write_text(json.dumps({"mcpServers": {"shelf": program}}))


COUNTER = '''
from pathlib import Path

CAPABILITIES = {"writes": False}


def count_words(path: Path, output) -> int:
    """Count the words of a text file."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        output.report(number, len(lines), line[:20])
    return sum(len(line.split()) for line in lines)
'''


def tool_file(home: Path, folder: Path) -> None:
    notes(home, folder)
    place = Path(clean_env(home)["XDG_CONFIG_HOME"]) / "oi-tui" / "tools"
    place.mkdir(parents=True, mode=0o700)
    (place / "count_words.py").write_text(COUNTER)
    enable = [OI_TUI, "tools", "enable", "--yes", "count_words"]
    subprocess.run(enable, env=clean_env(home), cwd=folder, check=True, timeout=60)


STEPS = [
    {"text": "Read the tide table", "state": "done"},
    {"text": "Say when a boat can leave", "state": "doing", "done_when": "an hour is named"},
]

CAPABILITIES = (
    Capability(
        "tools-that-read",
        "What is in this folder, and where is the harbour mentioned?",
        (
            ScriptedAnswer(
                text="I look.",
                calls=(
                    ScriptedCall(tool="list_files", arguments={}),
                    ScriptedCall(tool="search_files", arguments={"pattern": "harbour"}),
                ),
            ),
            "Two files; notes.md mentions the harbour in line 3.",
        ),
        prepare=notes,
    ),
    Capability(
        "files-edit-and-undo",
        "The harbour opens at nine now",
        (
            call("edit_file", "I change it.", path="notes.md", old="seven", new="nine"),
            "The notes say nine.",
        ),
        prepare=notes,
        said=(Decide(request_id="", verdict="run"), UndoChanges(scope="turn")),
    ),
    Capability(
        "code-and-undo",
        "The harbour opens at nine now, and note the rope elsewhere",
        (
            "```python\nfrom pathlib import Path\nnotes = Path('notes.md')\n"
            "notes.write_text(notes.read_text().replace('seven', 'nine'))\n"
            "Path('rope.md').write_text('A rope.\\n')\n```",
            "The notes say nine, and rope.md names the rope.",
        ),
        prepare=notes,
        said=(Decide(request_id="", verdict="run"), UndoChanges(scope="turn")),
    ),
    Capability(
        "tool-file",
        "How many words have the notes?",
        (call("count_words", "I count them.", path="notes.md"), "Ten."),
        prepare=tool_file,
        said=(Decide(request_id="", verdict="run"),),
    ),
    Capability(
        "web-page",
        "What does the page say about the tide?",
        (
            call("fetch_url", "I read it.", url=f"http://127.0.0.1:{PORT}/tide.html"),
            "The water is highest at twelve.",
        ),
        prepare=page,
        said=(Decide(request_id="", verdict="run"),),
    ),
    Capability(
        "mcp-server",
        "Have the server say ahoy",
        (call("shelf__echo", "I ask it.", text="ahoy"), "It says ahoy."),
        prepare=server,
        has_server=True,
        said=(Decide(request_id="", verdict="run"),),
    ),
    Capability(
        "ask-and-plan",
        "When can a boat leave?",
        (
            call("plan", "Two steps.", steps=STEPS),
            call("ask_user", "", question="How much water does the boat need?", choices=["2 metres", "3 metres"]),
            call("plan", "", steps=[{**step, "state": "done"} for step in STEPS]),
            "At twelve: the water is 3.2 metres deep.",
        ),
        prepare=notes,
        said=(Answer(request_id="", text="2 metres"),),
    ),
    Capability(
        "skill",
        "When can a boat leave?",
        (
            call("load_skill", "There is a skill for that.", name="tide-tables"),
            "```python\nimport csv\nfor row in csv.DictReader(open('tide.csv')):\n    if float(row['metres']) >= 2:\n"
            "        print(row['hour'])\n```",
            "At twelve.",
        ),
        prepare=skill,
    ),
    Capability(
        "kept-function",
        "How deep is the water at twelve?",
        (
            call("find_functions", "Maybe you kept something for that.", query="depth of water"),
            call("load_function", "", name="depth"),
            "```python\ndepth(12)\n```",
            "3.2 metres.",
        ),
        prepare=kept_function,
    ),
    Capability(
        "limited-functions",
        "Which files are here?",
        (
            "```python\nimport os\nos.system('ls')\n```",
            "```python\nimport os\nprint(os.listdir())\n```",
            "There is none.",
        ),
        prepare=limits,
    ),
    Capability(
        "structured-answer",
        "When is the water highest?",
        (
            "```python\nimport csv\nprint(max(csv.DictReader(open('tide.csv')), key=lambda row: row['metres']))\n```",
            "At twelve, 3.2 metres.",
            '{"hour": "twelve", "metres": "3.2 m"}',
            '{"hour": "12", "metres": "3,2"}',
        ),
        prepare=schema,
        options=("--schema", "highest.json"),
    ),
)


def record(one: Capability) -> bytes:
    """One run of the program; what it recorded, in plain names."""
    with tempfile.TemporaryDirectory() as place:
        home, folder = Path(place) / "home", Path(place) / "work"
        home.mkdir()
        folder.mkdir()
        one.prepare(home, folder)
        script = Script(home)
        script.write(*one.answers)
        path = Path(place) / "run.jsonl"
        if one.said:
            os.environ.clear()
            os.environ.update(clean_env(home))
            asyncio.run(_play(one, script.name, folder, path))
        else:
            task = [OI_TUI, *script.arguments, "run", "--yes", *one.options, "--record", str(path), one.prompt]
            subprocess.run(task, env=clean_env(home), cwd=folder, check=True, timeout=120, stdin=subprocess.DEVNULL)
        data = path.read_bytes()
        for there, plain in ((folder, "/tmp/work"), (home, "/home/you"), (place, "/tmp")):
            data = data.replace(str(there).encode(), plain.encode())
        data = re.sub(rb"(Python [\d.]+)( in [^\"]*)?(?=\")", rb"\1", data)
        return re.sub(rb"127\.0\.0\.1:\d+", b"127.0.0.1:8000", data)


async def _play(one: Capability, model: str, folder: Path, path: Path) -> None:
    """The engine of the program in this process, and a person who says what is to be said."""
    web = WebSection(private=(f"127.0.0.1:{PORT}",))
    settings = Settings(model=ModelSection(name=model, titles=False), web=web)
    front = Front(local_client(Configure(settings=settings, cwd=str(folder), trusted=True), path))
    await front.client.send(Open())
    if one.has_server:
        await front.client.send(FindServers())
        await front.until(
            lambda reply: isinstance(reply, ServersFound) and [s.state for s in reply.servers] == ["ready"]
        )
    await front.client.send(Submit(text=one.prompt))
    for verb in one.said:
        match verb:
            case Decide():
                asked = await front.until_event(DecisionRequested)
                verb = replace(verb, request_id=asked.request_id, source=asked.source)
            case Answer():
                verb = replace(verb, request_id=(await front.until_event(InputRequested)).request_id)
            case _:
                await front.until_event(TurnEnded)
        await front.client.send(verb)
    await front.until_event(NoticeAdded if isinstance(one.said[-1], UndoChanges) else TurnEnded)
    await front.client.close()


if __name__ == "__main__":
    for capability in CAPABILITIES:
        if capability.name in sys.argv[1:] or not sys.argv[1:]:
            (RECORDINGS / f"{capability.name}.jsonl").write_bytes(record(capability))
            print(capability.name)
