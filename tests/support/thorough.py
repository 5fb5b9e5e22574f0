"""What `make check` leaves to `make check-all`: the tests named in `thorough.toml`."""

import tomllib
from pathlib import Path, PurePath

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

ONE_CASE: dict[str, dict[str, str]] = _TABLE["one_case"]
"""By file and test: what the name of the one case has that the check tries."""

LEFT_OUT: dict[str, list[str]] = _TABLE["left_out"]
"""By file: tests of which the check tries none."""


def is_left_out(path: PurePath, name: str, case: str, seen: set[str]) -> bool:
    """Whether a case (the text in brackets, or "") of the test `name` in `path` (beneath `tests`) is not in the check.
    Cases come in the order of the collection; `seen` keeps which tests have had theirs."""
    file = path.as_posix()
    if name in LEFT_OUT.get(file, ()):
        return True
    kept = ONE_CASE.get(file, {}).get(name)
    if kept is None:
        return False
    if name not in seen and kept in case:
        seen.add(name)
        return False
    return True
