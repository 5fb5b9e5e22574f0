"""Which files are tested first: those that take long, so that at the end no process works alone, and, as these are of
every kind, what waits for kernels and terminals beside what computes."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from support.thorough import is_left_out

TESTS = Path(__file__).parents[1]

SECONDS = {"e2e": 2.5, "local": 0.5, "security": 0.5, "tui": 0.5, "app": 0.3, "kernels": 0.3, "widgets": 0.1}
"""What a test of a folder takes, on two busy cores; one of any other folder is quick."""

LONG = {
    "test_soak": 20,
    "test_terminal_past": 20,
    "test_model_import": 20,
    "test_store_faults": 20,
    "test_openings": 10,
}
"""Files whose few tests take longer, in seconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest looks at the marks, those of `support.thorough` are there."""
    files = {path: path.relative_to(TESTS) for path in {item.path for item in items}}
    seen: set[str] = set()
    for item in items:
        name, _, case = item.name.partition("[")
        if is_left_out(files[item.path], name, case, seen):
            item.add_marker(pytest.mark.thorough)
    seconds = {path: _seconds(path, tests) for path, tests in Counter(item.path for item in items).items()}
    items.sort(
        key=lambda item: seconds[item.path], reverse=True
    )  # files that take the same stay in their order, and so do a file's tests


def _seconds(path: Path, tests: int) -> float:
    folder = next((parent.name for parent in path.parents if parent.name in SECONDS), "")
    return LONG.get(path.stem, tests * SECONDS.get(folder, 0.05))


TOGETHER = {
    "LiteLLM": (  # 2 s to load
        "test_answer_review.py",
        "test_client_sessions.py",
        "test_hostile_server.py",
        "test_model.py",
        "test_model_extra.py",
        "test_model_faults.py",
        "test_offers.py",
        "test_prices.py",
        "test_sealed_thoughts.py",
        "test_wires.py",
    ),
    "sources": ("test_architecture.py", "test_floor_plan.py", "test_without_litellm.py"),  # `support.house` reads them
}
"""Files that share what takes long to make: all of a row in one process."""


class SharingScheduling(LoadFileScheduling):  # type: ignore[misc]  # has no types
    """A file is tested by one process, and files that share something by the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((row for row, names in TOGETHER.items() if file.rsplit("/")[-1] in names), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return SharingScheduling(config, log) if config.getvalue("dist") == "loadfile" else None
