"""Row R13: where each piece of code ran is on record, and told: after a resume and a fork, in files and reruns."""

import json
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, ExecutionFinished, ExecutionStarted, KernelChanged
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.session_records import ExportFormat
from oi_tui.app.engine.core.verbs import Fork, Open
from oi_tui.app.engine.formats.export import plain_transcript
from oi_tui.app.engine.kernels.base import public_place
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.kernel import remote_kernel
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import OPENED, blocks_of, code, prompt
from support.front import Front, engine
from support.kinds import of
from support.rebuilds import codes, rebuild, resumed

HERE, THERE = "Python 3.12.4 in .venv", "python3 on hub.example.org"


def kernels_in(place: str) -> FakeKernels:
    kernel = FakeKernel()
    kernel.place = place
    return FakeKernels(python=kernel)


async def ran_in(tmp_path: Path, place: str) -> str:
    """A session on record in which two sources ran there."""
    model = FakeModel("```python\na = 1\n```\n\n```python\nprint(a)\n```", "Done.")
    async with engine(tmp_path, model, kernels=kernels_in(place)) as front:
        await front.client.send(Open())
        await front.turn("go")
        return front.transcript.session_id


def ran_at(block_id: str, place: str, language: str = "python") -> list[AnyEvent]:
    return [
        *code(block_id, f"run({block_id!r})", language),
        DecisionMade(block_id=block_id, verdict="run", decider="person", source=f"run({block_id!r})"),
        ExecutionStarted(block_id=block_id, generation=1, place=place),
        ExecutionFinished(block_id=block_id, status="ok", duration=0.25),
    ]


MOVED: list[AnyEvent] = [
    OPENED,
    *prompt("u", "go"),
    *ran_at("c1", HERE),
    *ran_at("c2", "", "shell"),
    *ran_at("c3", HERE),
    *ran_at("c4", THERE),
    *ran_at("c5", THERE),
]


async def test_R13_a_rebuild_somewhere_else_says_where_it_ran_first_and_where_now(tmp_path: Path) -> None:
    session_id = await ran_in(tmp_path, HERE)
    async with engine(tmp_path, FakeModel(), kernels=kernels_in(THERE)) as front:
        await resumed(front, session_id)
        assert [block.place for block in codes(front)] == [HERE, HERE]
        summary = await rebuild(front, *codes(front))
        assert summary.hint == f"First run in {HERE}; now in {THERE}."
        assert [block.place for block in codes(front)] == [HERE, HERE]  # the record stays what it was


async def test_R13_a_rebuild_in_the_same_place_says_nothing_of_it(tmp_path: Path) -> None:
    session_id = await ran_in(tmp_path, HERE)
    async with engine(tmp_path, FakeModel(), kernels=kernels_in(HERE)) as front:
        await resumed(front, session_id)
        assert (await rebuild(front, *codes(front))).hint == ""


async def test_R13_a_front_end_knows_before_a_rebuild_where_code_would_run(tmp_path: Path) -> None:
    session_id = await ran_in(tmp_path, HERE)
    async with engine(tmp_path, FakeModel(), kernels=kernels_in(THERE)) as front:
        await resumed(front, session_id)
        while not (told := _told(front)):
            await front.until(lambda reply: isinstance(reply, Batch))
        assert [(event.language, event.state, event.detail) for event in told] == [("python", "cold", THERE)]


def _told(front: Front) -> list[KernelChanged]:
    """What was said of kernels since the session was resumed."""
    live = [event for reply in of(Batch, front.replies) if not reply.replay for event in reply.events]
    return of(KernelChanged, live)


async def test_R13_a_fork_keeps_where_code_ran(tmp_path: Path) -> None:
    model = FakeModel("```python\na = 1\n```", "Done.")
    async with engine(tmp_path, model, kernels=kernels_in(HERE)) as front:
        await front.client.send(Open())
        await front.turn("go")
        await front.client.send(Fork(block_id=codes(front)[0].id, place="after"))
        before = front.transcript.session_id
        await front.until(lambda _: front.transcript.session_id != before)
        assert [block.place for block in codes(front)] == [HERE]
        while not (told := _told(front)) or told[-1].detail != HERE:
            await front.until(lambda reply: isinstance(reply, Batch))


@pytest.mark.parametrize("format", ["ipynb", "lmc"])
def test_R13_files_that_can_be_read_back_keep_where_each_cell_ran(format: ExportFormat) -> None:
    data = export_session(MOVED, format)
    back = blocks_of([OPENED, *import_session(data, f"x.{format}").events])
    assert [block.place for block in of(CodeBlock, back)] == [HERE, "", HERE, THERE, THERE]


def test_R13_a_notebook_says_of_each_cell_where_it_ran_and_names_the_kernel_where_it_was_one() -> None:
    notebook: dict[str, Any] = json.loads(export_session(MOVED, "ipynb"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    told = [cell["metadata"]["oi_tui"]["block"].get("place", "") for cell in cells]
    assert told == [HERE, "", HERE, THERE, THERE]
    assert notebook["metadata"]["kernelspec"]["display_name"] == "Python 3 (ipykernel)"
    same: dict[str, Any] = json.loads(export_session([*MOVED[:-12], *code("c6", "refused()")], "ipynb"))
    assert same["metadata"]["kernelspec"]["display_name"] == HERE


@pytest.mark.parametrize("format", ["md", "html"])
def test_R13_files_for_people_say_where_code_ran_once_for_each_change(format: ExportFormat) -> None:
    text = export_session(MOVED, format).decode()
    assert text.count(HERE) == 1
    assert text.count(THERE) == 1
    assert text.index("c1") < text.index(THERE) < text.index("c4") or format == "html"


def test_R13_a_session_as_text_says_where_code_ran_once_for_each_change() -> None:
    lines = plain_transcript(blocks_of(MOVED)).splitlines()
    heads = [line for line in lines if line.endswith(":")]
    assert heads == [f"python ({HERE}):", "shell:", "python:", f"python ({THERE}):", "python:"]


def test_R13_where_code_ran_is_safe_to_print_and_bounded() -> None:
    events = [OPENED, *ran_at("c1", f"\x1b[2Ja\nb\u202e{'x' * 5_000}")]
    text = plain_transcript(blocks_of(events))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (HERE, HERE),
        (THERE, THERE),
        (
            "python3 at https://me:pa55@hub.example.org:8888/user/me/?token=abc123#x",
            "python3 at https://hub.example.org:8888/user/me/",
        ),
        ("python3 at ssh://me@node7:22 now", "python3 at ssh://node7:22 now"),
        ("https://abc123@@hub/", "https://hub/"),
        ("python3 at https://hub/?token=abc123 and https://b:c@d/", "python3 at https://hub/ and https://d/"),
    ],
)
def test_R13_addresses_are_told_without_secrets(place: str, told: str) -> None:
    assert public_place(place) == told


def test_R13_a_kernel_on_a_server_is_told_without_the_secrets_of_its_address() -> None:
    server = KnownServer(url="https://me:pa55@hub.example.org/user/me/?token=abc123", kernel="x?token=abc123")
    kernel = remote_kernel(Launch(cwd=Path("/work")), server)
    assert "pa55" not in kernel.place
    named = KnownServer(url="https://hub.example.org/", kernel="http://me:pa55@hub/?token=abc123")
    assert remote_kernel(Launch(cwd=Path("/work")), named).place == "http://hub/ on hub.example.org"
