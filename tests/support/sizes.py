"""The sizes of a terminal at which rows of the screen hold; the second one is for `make check-all`."""

import pytest

SMALL, LARGE = (80, 24), (120, 40)


def _at(first: tuple[int, int], second: tuple[int, int]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("columns", "rows"), [first, pytest.param(*second, marks=pytest.mark.thorough)])


SIZES = _at(SMALL, LARGE)
LARGE_FIRST = _at(LARGE, SMALL)
"""So that the check sees both sizes."""
