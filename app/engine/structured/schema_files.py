"""A schema as a person names it: a file, typed fields, or MODULE:NAME of their own Python, whose import runs code."""

import os
import re
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.secrets.environment import is_credential
from oi_tui.app.engine.structured.answer_schema import LARGEST, AnswerSchema
from oi_tui.app.engine.structured.typed_fields import reads_as_fields, typed_schema
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line

IMPORTING = 60.0
"""Seconds that the import of a module may take."""

_MODEL = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_HINT = (
    "Give a file with a JSON schema, MODULE:NAME of a pydantic model, a msgspec struct or a dataclass, or fields: "
    "name, price: number, day: date."
)


def names_model(given: str) -> bool:
    """Whether this is MODULE:NAME and no file."""
    return _MODEL.fullmatch(given) is not None and not Path(given).exists()


def read_schema(given: str, folder: Path, python: Path, environ: Mapping[str, str]) -> AnswerSchema:
    """The schema of a file, of typed fields, or of a model that this Python imports in the folder. SettingsError if it
    cannot be had."""
    if names_model(given):
        return AnswerSchema.from_text(_import_schema(given, folder, python, environ))
    path = folder / Path(given).expanduser()
    if reads_as_fields(given) and not os.path.lexists(path):
        return AnswerSchema(typed_schema(given))
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise SettingsError(f"The schema {given} cannot be read: {error.strerror}.", hint=_HINT) from error
    if len(data) > LARGEST:
        raise SettingsError(f"The schema {given} is larger than {LARGEST:,} bytes.")
    return AnswerSchema.from_text(data.decode("utf-8-sig", "replace"))


def _import_schema(given: str, folder: Path, python: Path, environ: Mapping[str, str]) -> str:
    source = files(__package__).joinpath("in_child_schema.py").read_text(encoding="utf-8")
    seen = {name: value for name, value in environ.items() if not is_credential(name, value)}
    with TemporaryFile() as told, TemporaryFile() as said:
        try:
            done = subprocess.run(
                [python, "-c", source, given],
                cwd=folder,
                env=seen,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=said,
                timeout=IMPORTING,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SettingsError(f"{given} was not imported within {IMPORTING:g} s.") from error
        except OSError as error:
            raise SettingsError(f"{python} cannot be started: {error.strerror}.") from error
        if done.returncode:
            length = said.seek(0, os.SEEK_END)
            said.seek(max(0, length - 400))
            why = one_line(safe_text(said.read().decode("utf-8", "replace"))).strip()
            title = f"The schema of {given} cannot be had: {why or f'exit code {done.returncode}'}"
            raise SettingsError(title, hint=f"It is imported in {folder} by {python}.")
        told.seek(0)
        return told.read(LARGEST + 1).decode("utf-8", "replace")
