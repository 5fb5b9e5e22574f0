"""The log of the program: what of a request stands in it, and that no secret does."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.cli import program
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.model_request import RequestRecord
from oi_tui.app.engine.files import program_log
from oi_tui.app.engine.files.program_log import LONGEST, JsonLines, describe_line, follow_log, log_file, read_log
from oi_tui.app.engine.log.metered_model import MeteredModel
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.testing import FakeModel

REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="My password is correct-horse-battery"),))
TIME = "2026-11-22T10:15:03.120+00:00"
Lines = Callable[[], list[dict[str, object]]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged in the test, at level debug."""
    redactor = Redactor({"PASSWORD": "correct-horse-battery"})
    form, said = JsonLines(), list[str]()
    form.redact = lambda text: redactor.redact(text).text
    handler = logging.Handler()
    handler.emit = lambda record: said.append(form.format(record))  # type: ignore[method-assign] # the simplest one
    logger = logging.getLogger("oi_tui.app")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield lambda: [json.loads(line) for line in said]
    logger.removeHandler(handler)
    logger.setLevel(level)


def metered(model: FakeModel, notes: list[RequestRecord] | None = None) -> MeteredModel:
    note = notes.append if notes is not None else lambda record: None
    return MeteredModel(model, note, RequestRecord(at=0.0, session_id="s1", folder="/work", profile="careful"))


async def test_V17_a_request_is_logged_with_its_size_time_and_end(lines: Lines) -> None:
    assert [delta async for delta in metered(FakeModel("Noted.")).stream(REQUEST)]

    asked, answered, words = lines()
    assert (answered["message"], answered["session"], answered["ending"]) == ("the model answered", "s1", "stop")
    assert (answered["messages"], answered["characters"]) == (1, 36)
    assert isinstance(answered["seconds"], float)
    assert asked["request"] == [
        {"role": "user", "text": "My password is [secret withheld: PASSWORD]", "images": 0, "calls": []}
    ]
    assert words["answer"] == "Noted."


async def test_V17_without_verbose_no_words_are_logged(lines: Lines) -> None:
    logging.getLogger("oi_tui.app").setLevel(logging.INFO)
    async for _ in metered(FakeModel("Noted.")).stream(REQUEST):
        pass
    assert len(lines()) == 1
    assert "Noted" not in json.dumps(lines())


async def test_V17_a_failure_is_logged_with_its_reason_and_without_the_secret_in_it(lines: Lines) -> None:
    error = ModelError("server", "It broke.", details='{"key": "correct-horse-battery"}')
    with suppress(ModelError):
        async for _ in metered(FakeModel([error])).stream(REQUEST):
            pass
    failed = lines()[1]
    assert (failed["level"], failed["ending"]) == ("warning", "server")
    assert failed["details"] == '{"key": "[secret withheld: PASSWORD]"}'


def test_V17_a_secret_is_withheld_however_deep_it_is(lines: Lines) -> None:
    fields = {"a": [{"correct-horse-battery": 'x"correct-horse-battery"\n'}]}
    logging.getLogger("oi_tui.app.x").info("m", extra={"fields": fields})
    assert lines()[0]["a"] == [{"[secret withheld: PASSWORD]": 'x"[secret withheld: PASSWORD]"\n'}]


def test_V17_a_long_text_is_cut_and_says_so(lines: Lines) -> None:
    logging.getLogger("oi_tui.app.x").info("a" * 300_000)
    assert str(lines()[0]["message"]).endswith("a … 100,000 more characters")


def test_V17_of_a_secret_across_the_cut_nothing_is_left(lines: Lines) -> None:
    logging.getLogger("oi_tui.app.x").info("a" * (LONGEST - 10) + "correct-horse-battery" + "b" * 10)
    assert "correct" not in str(lines()[0]["message"])


def test_V17_a_large_log_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(program_log, "LARGEST", 10)
    path = log_file()
    path.write_text("0123456789\n")
    assert log_file() == path
    assert not path.exists()
    assert path.with_suffix(".log.1").read_text() == "0123456789\n"


def test_V17_new_lines_are_followed_and_half_ones_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntw")
    following = follow_log(path, rest=0)
    assert next(following) == ["one"]
    with path.open("a") as file:
        file.write("o\nthree\n")
    assert next(following) == ["two", "three"]
    path.write_text("anew\n")
    assert next(following) == ["anew"]
    assert read_log(path, 5) == ([], 5)


def test_V17_a_line_reads_well_and_a_foreign_one_stays() -> None:
    line = JsonLines().format(
        logging.makeLogRecord({"name": "oi_tui.app.engine.x", "msg": "hello", "levelname": "INFO"})
    )
    assert describe_line(line).endswith("info    engine.x: hello")
    assert describe_line("Warning: from a library") == "Warning: from a library"
    assert describe_line("[1, 2]") == "[1, 2]"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def run(*args: str) -> Result:
        return CliRunner().invoke(program, ["logs", *args])

    return run


def test_V17_the_command_chooses_by_level_session_and_number(logs: Callable[..., Result]) -> None:
    assert isinstance(logs().exception, SettingsError)
    told = [
        {
            "time": "2026-11-22T10:15:03.120+00:00",
            "level": level,
            "logger": "x",
            "message": f"m{number}",
            "session": name,
        }
        for number, (level, name) in enumerate([("info", "abc"), ("error", "abd"), ("debug", "xyz")])
    ]
    log_file().write_text("".join(json.dumps(line) + "\n" for line in told) + "from a library\n")
    assert logs().stdout.splitlines() == [
        "10:15:03.120 info    x: m0 · session=abc",
        "10:15:03.120 error   x: m1 · session=abd",
        "10:15:03.120 debug   x: m2 · session=xyz",
        "from a library",
    ]
    assert len(logs("--level", "error").stdout.splitlines()) == 1
    assert len(logs("--session", "ab").stdout.splitlines()) == 2
    assert logs("-n", "1", "--json").stdout == "from a library\n"


def test_V17_warnings_of_libraries_go_to_the_log(tmp_path: Path) -> None:
    script = (
        "import sys, warnings; from pathlib import Path\n"
        "from oi_tui.app.engine.files.program_log import begin_logging\n"
        "begin_logging(Path(sys.argv[1]))\n"
        "warnings.warn('a field is deprecated')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "log")], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    (line,) = read_log(tmp_path / "log")[0]
    assert "a field is deprecated" in json.loads(line)["message"]
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
