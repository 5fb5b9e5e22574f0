"""Draws the pictures beside it: the real app and a real kernel, with a model that follows a script.

make pictures        needs the extras `data` and `dev`, libcairo, and the font DejaVu Sans Mono
"""

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import cairosvg
from PIL import Image
from textual.pilot import Pilot

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.protocol import ModelOffer, ModelsFound
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, ScreenSection, Settings
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeModel, FakeModels
from oi_tui.app.frontend.client import EngineClient, LocalClient
from oi_tui.app.screens.theme_screen import ThemeScreen
from oi_tui.app.tui import OiTui

HERE = Path(__file__).parent

LOOK = """I'll look at the file first, then group by month.

```python
import pandas as pd
df = pd.read_csv("data.csv", parse_dates=["date"])
df.head(3)
```
"""

PLOT = """Now the plot.

```python
import matplotlib.pyplot as plt
plt.style.use("dark_background")
monthly = df.groupby(df.date.dt.month)["score"].mean()
ax = monthly.plot.barh(figsize=(7, 1.9), color="tab:cyan")
ax.set_ylabel("month");
```
"""

FIGURE = """Two curves in one figure.

```python
import numpy as np, matplotlib.pyplot as plt
day = np.linspace(0, 365, 300)
plt.plot(day, 8 - 9 * np.cos(day / 58), label="Oslo")
plt.plot(day, 9 - 5 * np.cos(day / 58), label="Bergen")
plt.title("Temperature over a year"); plt.xlabel("day"); plt.ylabel("°C"); plt.legend();
```
"""

DONE = """The mean score rises from **71** in January to **88** in April:

| month | mean score |
|---|---|
| January | 71.2 |
| April | 88.4 |

Two shops (`Oslo`, `Bergen`) drive the rise; see the [notes](https://example.org/notes)."""

QUESTION = "Read data.csv and plot the monthly mean of score."

Scene = Callable[[Pilot[None]], Awaitable[None]]


class Choosing(FakeModels):
    """A source that has something to choose from."""

    async def find_models(self) -> ModelsFound:
        """What a newcomer with Ollama meets."""
        return ModelsFound(
            offers=(
                ModelOffer(id="ollama/llama3.2", kind="server", title="Ollama at 127.0.0.1:11434", detail="llama3.2"),
                ModelOffer(id="openai/gpt-5", kind="key", title="OpenAI", detail="key found in OPENAI_API_KEY"),
                ModelOffer(
                    id="qwen2.5-coder-1.5b",
                    kind="embedded",
                    title="Built-in: Qwen2.5-Coder 1.5B",
                    detail="1.1 GB download, 2.0 GB memory, no key, stays on this machine · Apache-2.0",
                    download_bytes=1_117_320_768,
                    recommended=True,
                ),
            ),
            why="Qwen2.5-Coder 1.5B: this machine has 8 cores and 12 GB of memory free; it needs 2.0 GB.",
        )


async def take(
    name: str,
    size: tuple[int, int],
    scene: Scene,
    *,
    answers: tuple[str, ...] = (LOOK, PLOT, DONE),
    approve: str = "auto",
    theme: str = "harbour",
    model: str = "qwen2.5-coder-1.5b",
) -> None:
    """One picture, as SVG and PNG."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        work.mkdir()
        (work / "data.csv").write_text(data())
        settings = Settings(
            model=ModelSection(name=model),
            loop=LoopSection(approve=approve),  # type: ignore[arg-type]  # a literal in every call
            screen=ScreenSection(theme=theme),
        )
        setup = Configure(settings=settings, cwd=str(work))

        launch = Launch(cwd=work, sandbox=chosen_profile(settings.sandbox, work))

        async def connect() -> EngineClient:
            return LocalClient(
                lambda send: Engine(
                    Services(
                        setup=setup,
                        models=Choosing(FakeModel(*answers, chunk=40)),
                        make_kernels=lambda ties: Kernels(launch),
                        log=Log(store=Store(Path(folder) / "sessions.db")),
                        send=send,
                    )
                )
            )

        app = OiTui(connect, settings)
        async with asyncio.timeout(120), app.run_test(size=size) as pilot:
            await scene(pilot)
            await pilot.pause()
            svg = app.export_screenshot(title="oi-tui")
            await app.chat.bridge.close()
    (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")
    monospaced = re.sub(r"font-family: [^;]+;", "font-family: DejaVu Sans Mono;", svg)  # cairo loads no web fonts
    cairosvg.svg2png(bytestring=monospaced.encode(), write_to=str(HERE / f"{name}.png"), scale=1.5)


def data() -> str:
    """Scores of three shops over four months."""
    shops = ("Oslo", "Bergen", "Tromsø")
    rows = ["date,shop,score"]
    for month in range(1, 5):
        rows += [f"2026-{month:02}-{day:02},{shops[day % 3]},{66 + 5.5 * month + day % 5}" for day in range(1, 28, 2)]
    return "\n".join(rows) + "\n"


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Wait for it, within the bound that `take` sets."""
    while not true():
        await pilot.pause(0.05)


async def ask(pilot: Pilot[None], text: str = QUESTION) -> None:
    """Type a prompt and send it, when there is a session."""
    app = pilot.app
    assert isinstance(app, OiTui)
    await until(pilot, lambda: app.chat.bridge.transcript.model != "")
    await pilot.press(*text, "enter")


async def chat(pilot: Pilot[None]) -> None:
    """A task from its prompt to the last answer, with a table and a figure."""
    app = pilot.app
    assert isinstance(app, OiTui)
    await ask(pilot)
    transcript = app.chat.bridge.transcript
    await until(pilot, lambda: transcript.step == 3 and not transcript.turn_open)
    await pilot.pause(0.3)


async def figure(pilot: Pilot[None]) -> None:
    """A figure, in characters."""
    app = pilot.app
    assert isinstance(app, OiTui)
    await ask(pilot, "Draw the temperature over a year.")
    transcript = app.chat.bridge.transcript
    await until(pilot, lambda: transcript.step == 2 and not transcript.turn_open)
    await pilot.pause(0.5)


async def approval(pilot: Pilot[None]) -> None:
    """The question that comes before code runs."""
    app = pilot.app
    assert isinstance(app, OiTui)
    await ask(pilot)
    await until(pilot, lambda: app.chat.bridge.transcript.pending_decision is not None)
    await pilot.pause(1.5)


async def setup_screen(pilot: Pilot[None]) -> None:
    """The choice of a model at the first start."""
    await until(pilot, lambda: type(pilot.app.screen).__name__ == "SetupScreen")


async def help_screen(pilot: Pilot[None]) -> None:
    """The guide, at the keys of the prompt."""
    await pilot.press("f1")


async def empty(pilot: Pilot[None]) -> None:
    """A session in which nothing was asked yet."""
    app = pilot.app
    assert isinstance(app, OiTui)
    await until(pilot, lambda: app.chat.bridge.transcript.model != "")


async def picker(pilot: Pilot[None]) -> None:
    """The themes, at the one in use, with an example."""
    await empty(pilot)
    await pilot.press(*"/theme", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ThemeScreen))
    await until(pilot, lambda: "How cold" in pilot.app.export_screenshot(simplify=True).replace("&#160;", " "))


async def themes_in_one(names: tuple[str, str, str, str]) -> None:
    """`themes.png`: the picker at four themes."""
    parts = []
    for name in names:
        await take(f"theme-{name}", (80, 24), picker, theme=name)
        with Image.open(HERE / f"theme-{name}.png") as opened:
            parts.append(opened.convert("RGB"))
        for ending in ("svg", "png"):
            (HERE / f"theme-{name}.{ending}").unlink()
    width, height = parts[0].size
    whole = Image.new("RGB", (2 * width, 2 * height))
    for number, part in enumerate(parts):
        whole.paste(part, (number % 2 * width, number // 2 * height))
    whole.resize((width, height), Image.Resampling.LANCZOS).save(HERE / "themes.png", optimize=True)


async def main() -> None:
    """Take all pictures, one after the other."""
    await take("chat", (110, 54), chat)
    await take("chat-light", (110, 54), chat, theme="harbour-light")
    await take("chat-80x24", (80, 24), chat)
    for columns, rows in ((80, 34), (140, 44)):
        await take(f"figure-{columns}", (columns, rows), figure, answers=(FIGURE, "There they are."))
    await take("approval", (100, 30), approval, approve="ask", answers=(PLOT,))
    await take("approval-80x24", (80, 24), approval, approve="ask", answers=(PLOT,))
    await take("first-start", (100, 24), setup_screen, model="")
    await take("empty", (100, 24), empty)
    await take("help", (110, 46), help_screen)
    await themes_in_one(("nord", "contrast-light", "clear", "solarized-light"))


if __name__ == "__main__":
    asyncio.run(main())
