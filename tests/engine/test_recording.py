"""Recordings: what is in them, what is not, what is made of damaged ones, and that the loop does it again."""

from itertools import count
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.client import LocalClient
from oi_tui.app.engine.blocks import Block, CodeBlock
from oi_tui.app.engine.errors import ModelError, StoreError
from oi_tui.app.engine.events import AnyEvent, InputRequested, TurnEnded
from oi_tui.app.engine.kernels.base import InputWanted, RunFinished
from oi_tui.app.engine.protocol import Configure
from oi_tui.app.engine.recording.form import VERSION, Header, Recording, Tape, read_recording
from oi_tui.app.engine.recording.replaying import events_of, resimulated
from oi_tui.app.engine.recording.tapping import TappedEngine, TappedKernels, TappedModels, tapped_send
from oi_tui.app.engine.redaction import Redactor
from oi_tui.app.engine.service import Engine
from oi_tui.app.engine.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels, printed
from oi_tui.app.engine.transcript import Transcript
from oi_tui.app.engine.verbs import Answer, Open, Submit
from support.front import Front

SECRET = "sk-verysecretkey-0123456789"
CODE = "I will add.\n\n```python\n1+1\n```"


def header() -> Header:
    return Header(format="oi-tui/recording", version=VERSION, created=0.0, approve="ask")


async def recorded(path: Path, model: FakeModel, kernel: FakeKernel, *verdicts: str, answer: str = "") -> Transcript:
    """One turn with these decisions, recorded; returns what the front end saw."""
    tape = Tape(path, header(), Redactor({"TOKEN": SECRET}), count().__next__)
    settings = Settings(model=ModelSection(name="fake/model", titles=False), loop=LoopSection(approve="ask"))
    client = LocalClient(
        lambda send: TappedEngine(
            Engine(
                Configure(settings=settings, cwd="/work", api_key=SECRET),
                models=TappedModels(FakeModels(model), tape),
                kernels=TappedKernels(FakeKernels(python=kernel), tape),
                store=None,
                send=tapped_send(send, tape),
            ),
            tape,
        )
    )
    front = Front(client)
    await client.send(Open())
    await client.send(Submit(text="add"))
    for verdict in verdicts:
        await front.decide(verdict)
    if answer:
        asked = await front.until_event(InputRequested)
        assert isinstance(asked, InputRequested)
        await client.send(Answer(request_id=asked.request_id, text=answer))
    await front.until(lambda _: any(isinstance(event, TurnEnded) for event in front.events))
    await client.close()
    return front.transcript


def fold(events: list[AnyEvent]) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def comparable(blocks: list[Block]) -> list[Block]:
    """Without what is another each time."""
    same = []
    for block in blocks:
        changes = {"id": ""} | ({"duration": None} if isinstance(block, CodeBlock) else {})
        same.append(msgspec.structs.replace(block, **changes))
    return same


async def test_what_the_front_end_saw_is_in_it_and_the_loop_makes_the_same_of_it_today(tmp_path: Path) -> None:
    seen = await recorded(tmp_path / "r", FakeModel(CODE, CODE, "It is 2."), FakeKernel(), "run", "skip")
    recording = read_recording(tmp_path / "r")
    assert fold(list(events_of(recording))).blocks == seen.blocks
    assert comparable(fold(await resimulated(recording)).blocks) == comparable(seen.blocks)


async def test_a_model_that_failed_fails_again(tmp_path: Path) -> None:
    failure = ModelError("server", "Out of order.", hint="Wait.")
    seen = await recorded(tmp_path / "r", FakeModel([failure]), FakeKernel())
    assert comparable(fold(await resimulated(read_recording(tmp_path / "r"))).blocks) == comparable(seen.blocks)


async def test_secrets_and_what_was_typed_for_running_code_are_not_in_it(tmp_path: Path) -> None:
    script = {
        "1+1": [printed(f"{SECRET}\n"), InputWanted(prompt="Password: ", password=True), RunFinished(status="ok")]
    }
    await recorded(tmp_path / "r", FakeModel(CODE, "Done."), FakeKernel(script), "run", answer="hunter2-typed")
    text = (tmp_path / "r").read_text(encoding="utf-8")
    assert SECRET not in text
    assert "hunter2-typed" not in text
    assert "[secret withheld: TOKEN]" in text
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o600


async def test_times_are_told_from_the_beginning_and_go_on(tmp_path: Path) -> None:
    await recorded(tmp_path / "r", FakeModel("Hello."), FakeKernel())
    times = [line.at for line in read_recording(tmp_path / "r").lines]
    assert times == sorted(times)
    assert times[0] < times[-1]


async def test_a_recording_is_never_written_over_another_file(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("dear diary")
    with pytest.raises(StoreError, match="cannot be recorded to"):
        Tape(tmp_path / "mine", header(), Redactor(), count().__next__)
    assert (tmp_path / "mine").read_text() == "dear diary"


async def good(tmp_path: Path) -> bytes:
    await recorded(tmp_path / "good", FakeModel(CODE, "Done."), FakeKernel(), "run")
    return (tmp_path / "good").read_bytes()


async def test_a_recording_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    data = await good(tmp_path)
    (tmp_path / "cut").write_bytes(data[:-20])
    whole, cut = read_recording(tmp_path / "good"), read_recording(tmp_path / "cut")
    assert cut.lines == whole.lines[:-1]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: b"", "is no recording"),
        (lambda data: b"\x89PNG\r\n", "is no recording"),
        (lambda data: b"[" * 100_000, "is no recording"),
        (lambda data: data.replace(b'"version":1', b'"version":99', 1), "newer oi-tui"),
        (lambda data: data.replace(b'"at"', b'"when"', 2), "line 2"),
        (lambda data: data.replace(b'"type":"Told"', b'"type":"Nonsense"', 1), "no line of a recording"),
    ],
)
async def test_what_is_no_recording_is_said_in_plain_words(tmp_path: Path, spoil: object, said: str) -> None:
    assert callable(spoil)
    (tmp_path / "bad").write_bytes(spoil(await good(tmp_path)))
    with pytest.raises(StoreError, match=said):
        read_recording(tmp_path / "bad")


async def test_a_loop_that_asks_more_than_then_is_noticed(tmp_path: Path) -> None:
    await recorded(tmp_path / "r", FakeModel(CODE, "Done."), FakeKernel(), "run")
    recording = read_recording(tmp_path / "r")
    shorter = msgspec.structs.replace(recording, lines=without_last_answer(recording))
    with pytest.raises(StoreError, match="asked once more"):
        await resimulated(shorter)


def without_last_answer(recording: Recording) -> tuple[object, ...]:
    last = max(n for n, line in enumerate(recording.lines) if type(line.what).__name__ == "ModelBegan")
    return tuple(
        line
        for number, line in enumerate(recording.lines)
        if number < last or not type(line.what).__name__.startswith("Model")
    )


async def test_closing_the_front_end_closes_the_file(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "r", header(), Redactor(), count().__next__)
    engine = TappedEngine(Silent(), tape)
    await engine.close()
    before = (tmp_path / "r").read_bytes()
    await engine.handle(Submit(text="too late"))
    assert (tmp_path / "r").read_bytes() == before


class Silent:
    """An engine that does nothing."""

    async def handle(self, verb: object) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""
