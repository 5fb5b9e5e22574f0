"""What `make check` leaves to `make check-all`: the tests named in `thorough.toml`."""

import tomllib
from pathlib import Path, PurePath

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

CASES: dict[str, dict[str, list[str]]] = {
    file: {name: [kept] if isinstance(kept, str) else kept for name, kept in tests.items()}
    for file, tests in _TABLE["cases"].items()
}
"""By file and test: for each case that the check tries, what its name has."""

LEFT_OUT: dict[str, list[str]] = _TABLE["left_out"]
"""By file: tests of which the check tries none."""


def is_left_out(path: PurePath, name: str, case: str, seen: set[str]) -> bool:
    """Whether a case (the text in brackets, or "") of the test `name` in `path` (beneath `tests`) is not in the check.
    Cases come in the order of the collection; `seen` keeps which tests have had theirs."""
    file = path.as_posix()
    if name in LEFT_OUT.get(file, ()):
        return True
    kept = CASES.get(file, {}).get(name)
    if kept is None:
        return False
    for text in kept:
        if text in case and f"{name}[{text}" not in seen:
            seen.add(f"{name}[{text}")
            return False
    return True
