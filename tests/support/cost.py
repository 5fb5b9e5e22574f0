"""What tests cost: every run says at its end how many CPU seconds the tests of each folder took beside what they may
take, and which tests took most.

The check is to take six minutes on two cores. A dear test makes nothing fail, as a machine may be busy, but it is
named here, and so is a folder that has grown. CPU seconds are those of the test process and of the programs that
ended meanwhile: a program that several tests share counts for the last of them.
"""

import os
from collections import defaultdict
from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol

PROPERTY = "CPU seconds"

MAY_TAKE = {
    "tui": 110,
    "engine": 95,
    "security": 75,
    "kernels": 50,
    "app": 50,
    "e2e": 33,
    "widgets": 35,
    "local": 5,
    "api": 8,
    "plugins": 3,
}
"""CPU seconds for the tests of a folder, of which the check has. Together with what is not a test (setting up 25,
collecting 15, mypy 40, servers 35) they are to stay below 640, which is six minutes of two cores."""

DEAREST = 15
"""Tests that are named."""

TOLD_FROM = 0.02
"""CPU seconds below which a test costs no more than pytest itself, which is not worth a word."""


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest's, but a phase that says nothing (a setup that passed at once) is not reported: between processes, a
    report costs as much as a small test."""
    is_shared = hasattr(item.config, "workerinput")
    before = _spent()
    if not is_shared:  # it would say where it is, which is for one process
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if (cost := _spent() - before) >= TOLD_FROM:
        reports[-1].user_properties.append((PROPERTY, round(cost, 2)))
    for report in reports:
        if not is_shared or report.when == "call" or not report.passed or report.user_properties:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The folders and the dearest tests, at the end of the report."""
    costs = dict(_costs(terminalreporter))
    folders: dict[str, float] = defaultdict(float)
    for nodeid, cost in costs.items():
        folders[(*nodeid.partition("::")[0].split("/")[1:-1], "")[0]] += cost
    if sum(folders.values()) < 1:
        return
    terminalreporter.section("CPU seconds")
    for folder, cost in sorted(folders.items(), key=lambda row: -row[1]):
        may = MAY_TAKE.get(folder)
        over = "" if may is None else f" of {may}" + (", MORE THAN IT MAY TAKE" if cost > may else "")
        terminalreporter.write_line(f"{cost:8.1f}  {folder or 'tests'}{over}")
    terminalreporter.write_line(f"{sum(folders.values()):8.1f}  in all")
    for nodeid, cost in sorted(costs.items(), key=lambda row: -row[1])[:DEAREST]:
        terminalreporter.write_line(f"{cost:8.2f}  {nodeid}")


def _costs(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[str, float]]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                told = dict(report.user_properties)
                if PROPERTY in told:
                    yield report.nodeid, float(str(told[PROPERTY]))
