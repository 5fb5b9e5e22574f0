"""How much was done: every run says at its end how many examples each Hypothesis test went through, and what it cut
short.

A fuzz test that silently runs next to nothing (everything is filtered away, a profile was changed) looks
exactly like one that found no fault; the number beside its name tells them apart. The hooks are pytest's
(`tests/conftest.py` takes them over), and the numbers travel as properties of the reports, so that they are
also there with several test processes and in a JUnit file.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

PROPERTY = "hypothesis examples"
SHORTENED = "shortened"
"""Property of a test that did less than it can: how much, and how to have the whole."""

Counted = Callable[[], None]


def examples(count: int) -> settings:
    """For a fuzz test that goes through this many examples in `make check-all`, and through its share in the check."""
    return settings(max_examples=count * settings().max_examples // 100)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count the calls of the function under `@given`: examples that were drawn, given, replayed and shrunk alike."""
    test: Any = getattr(item, "obj", None)
    if not is_hypothesis_test(test):
        yield
        return
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    inner = test.hypothesis.inner_test
    test.hypothesis.inner_test = counting(inner, count)
    try:
        yield
    finally:
        test.hypothesis.inner_test = inner  # the next parameters of the same test are counted by themselves
        item.user_properties.append((PROPERTY, calls))


def leave_sources_unread() -> None:
    """Hypothesis reads the source of every module that is loaded, for constants to try; the check does without: on a
    clean checkout that is eight seconds of its time, for one in twenty of the examples. `make check-all` has them."""
    providers._get_local_constants = lambda: providers._local_constants


def counting(test: Callable[..., Any], count: Counted) -> Callable[..., Any]:
    """The function, telling each of its calls."""

    @functools.wraps(test)
    def called(*args: Any, **kwargs: Any) -> Any:
        count()
        return test(*args, **kwargs)

    @functools.wraps(test)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        count()
        return await test(*args, **kwargs)

    return awaited if inspect.iscoroutinefunction(test) else called


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The numbers, at the end of the report."""
    for nodeid, how in sorted(_told(terminalreporter, SHORTENED).items()):
        terminalreporter.section("in short")
        terminalreporter.write_line(f"{nodeid}: {how}")
    executed = _told(terminalreporter, PROPERTY)
    if not executed:
        return
    terminalreporter.section("hypothesis examples")
    for nodeid, calls in sorted(executed.items()):
        terminalreporter.write_line(f"{calls:>8,}  {nodeid}")
    terminalreporter.write_line(f"{sum(executed.values()):>8,}  in {len(executed)} tests")


def _told(terminalreporter: pytest.TerminalReporter, wanted: str) -> dict[str, Any]:
    """The values of one property, by test."""
    return {
        report.nodeid: value
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == wanted
    }
