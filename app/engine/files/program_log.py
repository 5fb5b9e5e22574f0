"""The log of the program: one JSON object a line, in one file for all sessions of this person.

    {"time": "2026-11-22T10:15:03.120+00:00", "level": "info", "process": 4711, "logger": "agent.request_log",
     "message": "the model answered", "model": "gpt-5", "seconds": 2.4, "input_tokens": 812}

Secrets are taken out of each line before it is written. What libraries print to stderr lands in the same file as it is.
"""

import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from oi_tui.app.engine.files.paths import log_dir, private_dir

LARGEST = 10_000_000
"""Bytes of the log. A larger one is renamed to `engine.log.1` when a program starts, replacing the one before."""
LONGEST = 200_000
"""Characters of one text in a line; what is longer is cut."""
_BEYOND = 20_000
"""Characters after the cut that are searched too: a secret may span it."""
OURS = "oi_tui.app."
"""What the names of our own loggers begin with."""


def log_file() -> Path:
    """Where the log is; a large one is set aside first."""
    path = private_dir(log_dir()) / "engine.log"
    try:
        if path.stat().st_size > LARGEST:
            path.replace(path.with_suffix(".log.1"))
    except OSError:
        pass  # there is none yet, or another program was faster
    return path


class JsonLines(logging.Formatter):
    """Records as lines of JSON. `extra={"fields": {...}}` of a record adds fields to its line."""

    def __init__(self) -> None:
        super().__init__()
        self.redact: Callable[[str], str] = str
        """Takes secrets out of a text; set when they are known."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "logger": record.name.removeprefix(OURS),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps({name: self._clean(value) for name, value in line.items()}, ensure_ascii=False)

    def _clean(self, value: object) -> object:
        """A field as JSON can hold it, without secrets, and no longer than it may be."""
        match value:
            case None | bool() | int() | float():
                return value
            case dict():
                return {str(self._clean(str(name))): self._clean(item) for name, item in value.items()}
            case list() | tuple():
                return [self._clean(item) for item in value]
            case _:
                text = str(value)
                more = f" … {len(text) - LONGEST:,} more characters" if len(text) > LONGEST else ""
                return self.redact(text[: LONGEST + _BEYOND])[:LONGEST] + more


def begin_logging(path: Path | None = None, *, verbose: bool = False) -> None:
    """From now on what this process logs is written to the file, or to stderr if there is none, which is the log of an
    engine. With `verbose` also what is of use to a developer alone, whole requests and answers among it."""
    handler = logging.StreamHandler() if path is None else _private_handler(path)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(True)
    set_verbose(verbose)


def set_verbose(verbose: bool) -> None:
    """Whether requests and answers are logged as a whole."""
    logging.getLogger(OURS.rstrip(".")).setLevel(logging.DEBUG if verbose else logging.INFO)


def redact_logs(redact: Callable[[str], str]) -> None:
    """From now on this takes the secrets out of each text that is logged."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonLines):
            handler.formatter.redact = redact


def _private_handler(path: Path) -> logging.Handler:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return logging.StreamHandler(os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace"))


def read_log(path: Path, start: int = 0) -> tuple[list[str], int]:
    """The whole lines from this byte on, and where the next ones will begin. OSError if the file cannot be read."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read()
    end = data.rfind(b"\n") + 1
    return data[:end].decode("utf-8", errors="replace").splitlines(), start + end


def follow_log(path: Path, *, rest: float = 0.3) -> Iterator[list[str]]:
    """All lines, then new ones as they come, until the caller stops. A rotated log starts from the beginning."""
    start = 0
    while True:
        lines, start = read_log(path, start) if path.exists() else ([], 0)
        yield lines
        time.sleep(rest)
        if path.exists() and path.stat().st_size < start:
            start = 0


def describe_line(line: str) -> str:
    """A line for a person: time, level, who, what, then the fields; a line that is no JSON is as it was."""
    try:
        fields = dict(json.loads(line))
        moment, level = str(fields.pop("time"))[11:23], str(fields.pop("level"))
        logger, message = str(fields.pop("logger")), str(fields.pop("message"))
    except (ValueError, TypeError, KeyError):
        return line
    fields.pop("process", None)
    trace = str(fields.pop("trace", ""))
    rest = " ".join(f"{name}={_one_word(value)}" for name, value in fields.items())
    said = f"{moment} {level:7} {logger}: {message}{f' · {rest}' if rest else ''}"
    return f"{said}\n{trace}".rstrip()


def _one_word(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if text and " " not in text and "\n" not in text else json.dumps(text, ensure_ascii=False)
