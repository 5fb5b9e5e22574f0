"""The examples of the page about the API, as a reader would type them."""

import doctest
from pathlib import Path

import pytest

from oi_tui.app.guide.pages import guide_page

PAGE = Path(__file__).parents[2] / "app" / "guide" / "python-api.md"


@pytest.mark.kernel
def test_J10_the_examples_of_the_guide_run_as_they_stand_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert guide_page("python-api") is not None
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(
        _without_fences(PAGE.read_text(encoding="utf-8")), {}, PAGE.name, str(PAGE), 0
    )
    assert len(examples.examples) > 20
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(examples, out=said.append)
    assert runner.failures == 0, "".join(said)


def _without_fences(page: str) -> str:
    """Fences of the page itself become blank lines, which end an expected output."""
    return "\n".join("" if line.startswith("```") else line for line in page.splitlines())
