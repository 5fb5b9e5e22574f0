"""One block of every kind and state, for people to look at (`make gallery`) and for pictures in tests.

Nothing in it depends on the time, the machine or libraries that draw: two runs give the same screens.
"""

import base64
from io import BytesIO
from typing import Any

from PIL import Image

from oi_tui.app.engine.core.blocks import Block, CallBlock, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput, Tail

MARKDOWN = """# A first heading

Plain words, **strong** ones, *leaning* ones, ~~gone~~ ones and `code`; a [link](https://example.org/a/page) shows \
where it leads, and https://example.org is one by itself. Emoji by name :tada: or as they are 👩‍🔬, and a note[^1].

## A second heading

1. First, with a nested list:
   - a point
     > a quotation inside it,
     > over two lines
   - [ ] not done
   - [x] done
2. Second, with code inside:

   ```sh
   grep -rn "needle" haystack | wc -l
   ```

> A quotation with **strong** words
> and a second line.

| month | mean | what it means |
|:------|-----:|:-------------:|
| January | 71.2 | below the year's mean |
| April | 88.4 | the best of all |

Inline mathematics $e^{i\\pi} + 1 = 0$, and on a line of its own:

$$\\hat{\\beta} = (X^T X)^{-1} X^T y, \\qquad \\sum_{i=1}^{n} \\frac{x_i}{\\sqrt{n}} \\leq \\alpha$$

```python
def mean(values: list[float]) -> float:
    \"\"\"The arithmetic mean.\"\"\"
    return sum(values) / len(values)  # not for empty lists
```

---

[^1]: The note stands at the end.
"""

WIDE = """| station | latitude | longitude | elevation | first year | last year | temperature | rainfall | remarks |
|---|---|---|---|---|---|---|---|---|
| Bergen | 60.38 | 5.33 | 12 | 1861 | 2025 | 7.7 | 2250 | the wettest of all the stations |
| Tromsø | 69.65 | 18.94 | 100 | 1920 | 2025 | 2.9 | 1031 | north of the polar circle |
"""

WORLD = """日本語の文章は、単語の間に空白がないので、どこで改行するかは文字の種類で決まります。「括弧」も来ません。

Zero width: 👨‍👩‍👧‍👦 family, 🇳🇴 flag, é (two characters), naïve, Ångström.

עברית and العربية stand among Latin words.
"""

SOURCE = """import pandas as pd

df = pd.read_csv("data.csv", parse_dates=["date"])
monthly = df.groupby(df.date.dt.month)["score"].mean()
monthly.plot.bar()
"""

TRACEBACK = (
    "\x1b[31m---------------------------------------------------------------------------\x1b[39m",
    "\x1b[31mKeyError\x1b[39m                                  Traceback (most recent call last)",
    "\x1b[36mFile \x1b[39m\x1b[32m/lib/pandas/base.py:3641\x1b[39m, in \x1b[36mIndex.get_loc\x1b[39m(self, key)\n"
    "\x1b[32m   3640\x1b[39m try:\n\x1b[32m-> 3641\x1b[39m     return self._engine.get_loc(casted_key)",
    "\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[4]\x1b[39m\x1b[32m, line 4\x1b[39m\n"
    "\x1b[32m      3\x1b[39m df = pd.read_csv(\x1b[33m'data.csv'\x1b[39m)\n"
    "\x1b[32m----> 4\x1b[39m monthly = df.groupby(df.date.dt.month)[\x1b[33m'scor'\x1b[39m].mean()",
    "\x1b[31mKeyError\x1b[39m: \"Column not found: 'scor'\"",
)

COLOURS = (
    "\x1b[1mbold\x1b[0m \x1b[3mitalic\x1b[0m \x1b[4munderlined\x1b[0m \x1b[9mstruck\x1b[0m \x1b[7mreversed\x1b[0m\n"
    + "".join(f"\x1b[{30 + n}m{n}\x1b[0m" for n in range(8))
    + " "
    + "".join(f"\x1b[48;5;{n}m \x1b[0m" for n in range(16, 232, 12))
    + " "
    + "".join(f"\x1b[48;2;{n};80;{255 - n}m \x1b[0m" for n in range(0, 256, 16))
    + "\n"
)

PROGRESS = "".join(f"\r{n * 10:3d}%|{'█' * n}{' ' * (10 - n)}| {n}/10" for n in range(11)) + "\n"

HTML = """<h3>Ranking</h3><p>Of <b>three</b> shops:</p><table>
<thead><tr><th></th><th>shop</th><th>score</th></tr></thead>
<tbody><tr><th>0</th><td>Oslo</td><td>91.5</td></tr><tr><th>1</th><td>Bergen</td><td>78.0</td></tr></tbody></table>"""

FRAME: dict[str, Any] = {
    "schema": {
        "fields": [
            {"name": "index", "type": "integer"},
            {"name": "date", "type": "datetime"},
            {"name": "shop", "type": "string"},
            {"name": "score", "type": "number"},
            *({"name": f"measure_{n}", "type": "number"} for n in range(12)),
        ],
        "primaryKey": ["index"],
    },
    "data": [
        {"index": n, "date": f"2026-01-{n + 1:02}T00:00:00.000", "shop": ("Oslo", "Bergen")[n % 2], "score": 70.5 + n}
        | {f"measure_{m}": round(n * 1.7 + m, 2) for m in range(12)}
        for n in range(30)
    ],
}


def picture(width: int = 240, height: int = 120) -> str:
    """A PNG with colours and an edge, as kernels send it."""
    image = Image.new("RGB", (width, height))
    image.putdata([
        (x * 255 // width, y * 255 // height, 140) if 4 < x < width - 4 and 4 < y < height - 4 else (240, 240, 240)
        for y in range(height)
        for x in range(width)
    ])  # fmt: skip
    file = BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def code(name: str, *outputs: Output, **fields: Any) -> CodeBlock:
    """A code block that ran, unless the fields say otherwise."""
    given: dict[str, Any] = {"language": "python", "source": SOURCE, "state": "ok", "duration": 0.42} | fields
    return CodeBlock(id=name, outputs=outputs, **given)


def rich(**data: Any) -> RichOutput:
    """A result; `text_plain` becomes `text/plain`."""
    return RichOutput(data={mime.replace("_", "/", 1): content for mime, content in data.items()}, is_result=True)


def prose() -> list[Block]:
    """What people and models write."""
    return [
        UserBlock(id="u1", text="Read data.csv and plot the monthly mean of score.", files=("data.csv",)),
        ProseBlock(id="p1", text=MARKDOWN, state="complete"),
        ProseBlock(id="p2", text=WIDE, state="complete"),
        ProseBlock(id="p3", text=WORLD, state="complete"),
        ProseBlock(id="p4", text="An answer that was broken", state="cut"),
        NoticeBlock(id="n1", level="info", title="The kernel is fresh."),
        NoticeBlock(
            id="n2",
            level="error",
            title="The model did not answer: nobody listens at http://127.0.0.1:8091/v1.",
            hint="Start the server, or choose another model with /model.",
            details="connection refused",
        ),
        UserBlock(id="u2", text="".join(f"line {number} of a long paste\n" for number in range(60))),
    ]


def cells() -> list[Block]:
    """Code in every state."""
    short = {"source": "total = sum(values)\nprint(total)", "duration": None}
    return [
        code("c1", state="streaming", **short),
        code("c2", state="cut", **short),
        code("c3", state="proposed", **short),
        code("c4", state="waiting", **short),
        code("c5", StreamOutput(name="stdout", text="so far\n"), state="running", active_line=2, **short),
        code("c6", StreamOutput(name="stdout", text="10\n"), **short | {"duration": 0.03}),
        code("c7", original="total = sum(value)", **short | {"duration": 12.0}),
        code(
            "c8", ErrorOutput(name="KeyError", value="\"Column not found: 'scor'\"", traceback=TRACEBACK), state="error"
        ),
        code("c9", state="interrupted", **short | {"duration": 200.0}),
        code("c10", state="died", **short | {"duration": 1.0}),
        code("c11", state="refused", refusal="Do not write files.", **short),
        code("c12", language="shell", source="exit 3", state="error", exit_code=3, author="user", duration=0.01),
    ]


def outputs() -> list[Block]:
    """What running code can show."""
    lines = "".join(f"step {number} of 100: loss {1 / (number + 1):.4f}\n" for number in range(100))
    capped = Tail(text="line 999,998\nline 999,999\n", left_out_characters=13_888_000, left_out_lines=998_800)
    tree = {"name": "Oslo", "scores": [91.5, 78.0], "address": {"street": "Karl Johans gate", "lines": [1, 2, 3]}}
    streams = (StreamOutput(name="stdout", text=COLOURS + PROGRESS), StreamOutput(name="stderr", text="a warning\n"))
    return [
        code("o1", *streams, source="show()"),
        code("o2", StreamOutput(name="stdout", text=lines), source="train()"),
        code("o3", StreamOutput(name="stdout", text="line 0\nline 1\n", tail=capped), source="flood()"),
        code("o4", RichOutput(data={"application/vnd.dataresource+json": FRAME, "text/plain": "…"}), source="df"),
        code("o5", rich(text_html=HTML), source="ranking"),
        code("o6", rich(text_markdown="A **result** in *Markdown*:\n\n- one\n- two"), source="summary"),
        code("o7", rich(text_latex="$$\\int_0^1 x^2 dx = \\frac{1}{3}$$"), source="integral"),
        code("o8", rich(application_json=tree), source="JSON(tree)"),
        code("o9", rich(image_png=picture(), text_plain="<Figure size 240x120>"), source="plt.plot(x)"),
    ]


def calls() -> list[Block]:
    """Calls of tools, in the states in which they look different."""

    def call(name: str, *outputs: Output, **fields: Any) -> CallBlock:
        zone = '{\n  "zone": "Europe/Rome"\n}'
        given: dict[str, Any] = {"tool": "clock", "source": zone, "state": "ok", "duration": 0.01} | fields
        return CallBlock(id=name, outputs=outputs, **given)

    unknown = ErrorOutput(name="KeyError", value="Mars", traceback=("KeyError: 'Mars'",))
    return [
        call("t1", rich(**{"text/plain": "2026-05-17T09:12:26+02:00"})),
        call("t3", unknown, state="error"),
        call("t4", state="refused", refusal="not now", duration=None),
        call("t5", state="waiting", duration=None),
        call("t6", source='{"zone": "Eur', state="cut", duration=None),
    ]


PAGES = {"prose": prose, "cells": cells, "outputs": outputs, "calls": calls}
"""Name of a page -> its blocks."""
