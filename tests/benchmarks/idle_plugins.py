"""The first frame and the echo of a key with twenty idle plugins enabled, and with none."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pytest
from figures import Budget, judge, middle, ratio, spread, table
from outside import echoes
from programs import READY, oi_tui, scripted_server

from support.plugin_packages import enable, install, plugin_home
from support.terminal import Terminal, clean_env

PLUGINS, ROUNDS, KEYS = 20, 7, 60
BUDGET = 1.05
"""Times what it takes without them."""
SCREEN = """
from oi_tui.plugins.api import Drawing, hookimpl

@hookimpl
def register_renderers():
    return {"application/vnd.idle-NUMBER+json": lambda output: Drawing(lambda width: ["idle"])}
"""
ENGINE = """
from oi_tui.plugins.api import hookimpl

@hookimpl
def judge_action(block):
    return None
"""


@contextmanager
def home_with(count: int) -> Iterator[dict[str, str]]:
    """An environment in which so many plugins are installed and enabled."""
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        with plugin_home(Path(folder), patch) as packages:
            for number in range(count):
                screen = SCREEN.replace("NUMBER", str(number))
                modules = {f"idle_screen_{number}": screen, f"idle_engine_{number}": ENGINE}
                points = {"screen": f"idle_screen_{number}", "engine": f"idle_engine_{number}"}
                install(packages, f"oi-tui-idle-{number}", modules, points)
                enable(f"oi-tui-idle-{number}")
            places = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
            yield clean_env(Path(folder)) | places | {"PYTHONPATH": str(packages)}


def one_round(argv: tuple[str, ...], env: dict[str, str]) -> tuple[float, list[float]]:
    """Seconds to the first frame, and the echoes of keys typed from then on, while the plugins come."""
    with Terminal(argv, env=env, cwd=env["HOME"], columns=120, rows=40, timeout=60) as terminal:
        seen = terminal.wait_for(READY) - terminal.started
        return seen, echoes(terminal, KEYS)


def compared() -> tuple[str, list[Budget]]:
    """The table, and the verdicts."""
    frames: dict[int, list[float]] = {0: [], PLUGINS: []}
    keys: dict[int, list[float]] = {0: [], PLUGINS: []}
    with scripted_server("Hello.") as url:
        argv = oi_tui(url, Path(gettempdir()))
        for number in range(ROUNDS + 1):
            for count in frames:
                with home_with(count) as env:
                    Path(env["HOME"]).mkdir(exist_ok=True)
                    seen, echoed = one_round(argv, env)
                if number:  # the first round warms the disk
                    frames[count].append(seen)
                    keys[count] += echoed
    rows = [(f"{count} plugins", middle(frames[count]), *spread(keys[count])) for count in frames]
    found = ratio(frames[PLUGINS], frames[0])
    late = ratio(keys[PLUGINS], keys[0])
    budgets = [
        Budget("first frame, 20 idle plugins", f"<= {BUDGET} times", f"{found:.2f} times", found <= BUDGET, "-"),
        Budget("key, 20 idle plugins", f"<= {BUDGET} times", f"{late:.2f} times", late <= BUDGET, "-"),
    ]
    return table(("", "first frame, ms: median (min)", "key, ms: p50", "p90", "p99", "max"), rows), budgets


if __name__ == "__main__":
    print("## Twenty idle plugins\n")
    print(f"Each has a hook of the engine and one of the screen; {ROUNDS} rounds by turns after a warm-up.\n")
    shown_table, verdicts = compared()
    print(shown_table)
    judge(*verdicts)
