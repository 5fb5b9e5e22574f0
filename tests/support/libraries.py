"""Libraries of the system that only some results need, and that no package of Python brings."""

from importlib.util import find_spec

import pytest


def require_cairo() -> None:
    """Skip the test where no SVG can be drawn."""
    try:
        import cairosvg  # noqa: F401  without the library below it, it is found and cannot be imported
    except (ImportError, OSError) as error:
        first = str(error).splitlines()[0]
        pytest.skip(f"NOT TESTED: drawings, which need the system's library cairo (apt install libcairo2): {first}")


def require(library: str) -> None:
    """Skip the test where this library of the extra `dev` is not installed."""
    if find_spec(library) is None:
        pytest.skip(f"NOT TESTED: {library} is not installed (pip install '.[dev,data]')")
