"""The tour of the program: what it says next, from the conversation alone. Pure.

Each step begins with a heading, by which the next answer knows where the tour is. What the person types moves in it;
what their code gave, and that they refused, edited or interrupted it, is answered.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.chat_model import ChatMessage

Outcome = Literal["ok", "error", "refused", "interrupted", "died"]


class RunReport(NamedTuple):
    """How the code of a step ended."""

    outcome: Outcome
    edited: bool
    output: str
    reason: str = ""
    """The person's reason for a refusal, if any."""
    sandboxed: bool = True


class TourStep(NamedTuple):
    """One thing that the program can do."""

    title: str
    begin: Callable[[frozenset[str]], str]
    """The answer that begins it, by what is available: `pandas`, `matplotlib`, `sandbox`."""
    end: Callable[[RunReport], str]
    """The comment on a run of its code."""


_RESULT = re.compile(r"Output of the (?:code|\w+ code) \(")
_AFTER_RUN = ("If the task is done", "The task is not done")
"""How the sentences begin that the session says to models behind a result."""
_HEADING = re.compile(r"\*\*(\d) of \d · ")
_REASON = re.compile(r"^\[not run: (?!the user refused it)(.+)\]$", re.MULTILINE)
_LIBRARY = re.compile(r"^(pandas|matplotlib): yes$", re.MULTILINE)

_FORWARD = frozenset({"next", "n", "go", "go on", "continue", "ok", "okay", "yes", "y", "sure", "more", "start"})
_AGAIN = frozenset({"again", "repeat", "retry", "once more"})
_BACK = frozenset({"back", "previous", "b"})
_LEAVE = frozenset({"stop", "end", "leave", "bye", "done", "no", "cancel"})


def tour_answer(messages: Sequence[ChatMessage]) -> str:
    """The next answer of the tour."""
    system = messages[0].text if messages and messages[0].role == "system" else ""
    if "conversation a title" in system:
        return "A tour of oi-tui"
    step = _step_of(messages)
    if "summarise a conversation" in system:
        return f"**{step} of {len(STEPS)} · {STEPS[step - 1].title}** is where the tour is." if step else "Nothing yet."
    if not system:
        return _SCRIPT
    there = frozenset(name for message in messages for name in _LIBRARY.findall(message.text))
    there |= {"sandbox"} if "It runs in a sandbox" in system else set()
    last = messages[-1].text
    typed, report = _typed_text(last), _report(last, sandboxed="sandbox" in there)
    if report is not None and not typed and step:
        return STEPS[step - 1].end(report)
    return _follow(step, typed, there)


def _follow(step: int, typed: str, there: frozenset[str]) -> str:
    """The answer to a text of the person."""
    words = re.sub(r"[^\w ]", "", typed).strip().casefold()
    if not step:
        return f"{_WELCOME}\n\n{_begin(1, there)}"
    if words in _LEAVE:
        return _LEAVING
    if words in _AGAIN:
        return _begin(step, there)
    if words in _BACK:
        return _begin(max(1, step - 1), there)
    if words.isdecimal() and 1 <= int(words) <= len(STEPS):
        return _begin(int(words), there)
    if words in _FORWARD:
        return _begin(step + 1, there) if step < len(STEPS) else _END
    if len(words.split()) <= 3:
        named = (number for number, one in enumerate(STEPS, 1) if set(words.split()) & _words_of(one))
        if (number := next(named, 0)) != 0:
            return _begin(number, there)
    return f"{_SCRIPT}\n\n{_next(step)}"


def _words_of(step: TourStep) -> set[str]:
    return {word for word in re.findall(r"\w+", step.title.casefold()) if len(word) > 3}


def _begin(number: int, there: frozenset[str]) -> str:
    step = STEPS[number - 1]
    return f"**{number} of {len(STEPS)} · {step.title}**\n\n{step.begin(there)}"


def _step_of(messages: Sequence[ChatMessage]) -> int:
    """The step that began last; 0 before the first."""
    for message in reversed(messages):
        if message.role != "system" and (found := _HEADING.findall(message.text)):
            return min(int(found[-1]), len(STEPS))
    return 0


def _report(text: str, *, sandboxed: bool) -> RunReport | None:
    """The report of a run in the last message, None if nothing ran."""
    found = _RESULT.search(text)
    if found is None:
        return None
    output = text[found.start() :]
    outcome: Outcome = "ok"
    if "[not run" in output:
        outcome = "refused"
    elif "[interrupted" in output or "KeyboardInterrupt" in output:
        outcome = "interrupted"
    elif "[the kernel ended" in output:
        outcome = "died"
    elif _AFTER_RUN[1] in output:
        outcome = "error"
    reason = _REASON.search(output)
    edited = "The user edited it before it ran" in text
    return RunReport(outcome, edited, output, reason[1] if reason else "", sandboxed)


def _typed_text(text: str) -> str:
    """What the person typed, where the message may begin with what code of the tour or of their own gave."""
    last = text.rpartition("\n\n")[2].strip()
    return "" if last.startswith(_AFTER_RUN) else last


def _next(step: int) -> str:
    """How the person gets to the next step."""
    if step >= len(STEPS):
        return "Type `next` and press enter for the end of the tour."
    return f"Type `next` and press enter: {STEPS[step].title[0].lower()}{STEPS[step].title[1:]}."


def _with_code(prose: str, code: str) -> str:
    return f"{prose}\n\n```python\n{code}\n```"


def _comment(number: int, ok: str, **others: str) -> Callable[[RunReport], str]:
    """What to say of a run of step `number`, by its outcome; `edited` where that was done."""

    def tell(report: RunReport) -> str:
        if report.outcome == "ok" and report.edited and "edited" in others:
            text = others["edited"]
        else:
            text = ok if report.outcome == "ok" else others.get(report.outcome, _OTHERWISE[report.outcome])
        if report.reason:
            text += f" You wrote: “{report.reason}”."
        return f"{text}\n\n{_next(number)}"

    return tell


_OTHERWISE: dict[Outcome, str] = {
    "refused": "It did not run, and nothing happened: a refusal is an answer, too. `again` shows the code once more.",
    "interrupted": "You interrupted it. Variables set before are still there. `again` shows the code once more.",
    "error": "That was an error. A model would read it and mend the code. `again` shows the code once more.",
    "died": "The kernel ended. The next code gets a new one, without variables. `again` shows the code once more.",
}

_SCRIPT = (
    "I am a script and not a model, so I have no answer to that. A model would: `/model` lists those that you can use. "
    "In the tour you can type `next`, `again`, `back`, `stop`, or the number of a step."
)

_WELCOME = (
    "Welcome. This is a tour in seven steps. A script answers you where else a model does; all the rest is real: the "
    "kernel, your approval, the sandbox. Nothing leaves this machine."
)

_LEAVING = (
    "You can stop at any time: `/quit` quits, and `oi-tui -c` continues here. To work with a model, type `/model`. "
    "`next` continues the tour."
)

_END = """\
**The end**

You approved, edited and refused code, saw a table, a plot, an error and its repair, interrupted a cell, and looked at \
the sandbox. That is how each session goes.

| | |
|---|---|
| `/model` | choose a model, and begin: built-in, on a server of yours, or hosted |
| `@data.csv` | in a prompt attaches a file; `!ls` and `%x + 1` run code of your own |
| `f1`, `ctrl+p` | the guide with the keys; all commands |
| `ctrl+b`, `oi-tui -c` | past sessions; continue the last one |
| `/export` | this session as a notebook |
| `ctrl+q` | quit |

`1` to `7` show a step again."""


def _approve(_: frozenset[str]) -> str:
    return _with_code(
        "You type a task; the model answers in prose and code. The code waits below. **`y` runs it**, `n` refuses it, "
        "`?` says why you are asked, `v` shows it on the whole screen. Enter never approves.",
        "import importlib.util, platform\n\n"
        'print(f"Hello from Python {platform.python_version()}.")\n'
        'for name in ("pandas", "matplotlib"):\n'
        '    print(f"{name}:", "yes" if importlib.util.find_spec(name) else "no")',
    )


def _decide(_: frozenset[str]) -> str:
    return _with_code(
        "You can change code before it runs. **Press `e`**, write your name, `ctrl+s`, then `y`. Or refuse it: "
        "**`n`**, a reason, enter; a model reads the reason and tries something else.",
        'name = "world"\nprint(f"Hello, {name}!")',
    )


_MONTHS = '["Jan", "Mar", "May", "Jul", "Sep", "Nov"]'
_DEGREES = "[0.9, 5.1, 14.4, 19.2, 14.1, 4.8]"


def _table(there: frozenset[str]) -> str:
    prose = "What a cell returns is shown as it is best read. Here it is a table."
    if "pandas" in there:
        return _with_code(
            prose,
            "import pandas as pd\n\n"
            "weather = pd.DataFrame({\n"
            f'    "month": {_MONTHS},\n'
            f'    "degrees": {_DEGREES},\n'
            '    "rain": [42, 40, 53, 56, 45, 50],\n'
            "})\n"
            "weather",
        )
    return _with_code(
        f"{prose} (With pandas installed it would be a data frame.)",
        "from IPython.display import Markdown\n\n"
        f"months = {_MONTHS}\n"
        f"degrees = {_DEGREES}\n"
        'rows = [f"| {month} | {value} |" for month, value in zip(months, degrees)]\n'
        'Markdown("\\n".join(["| month | degrees |", "|---|---|", *rows]))',
    )


def _plot(there: frozenset[str]) -> str:
    if "matplotlib" in there:
        return _with_code(
            "Plots are shown in the terminal: as pictures where it can, else drawn with characters.",
            "import matplotlib.pyplot as plt\n\n"
            f"months = {_MONTHS}\n"
            f"degrees = {_DEGREES}\n"
            "plt.figure(figsize=(7, 3))\n"
            'plt.plot(months, degrees, marker="o")\n'
            'plt.title("Mean temperature")\n'
            'plt.ylabel("°C")\n'
            "plt.show()",
        )
    return _with_code(
        "Plots are shown in the terminal. There is no matplotlib in this environment, so this one is text.",
        f"months = {_MONTHS}\n"
        f"degrees = {_DEGREES}\n"
        "for month, value in zip(months, degrees):\n"
        '    print(f"{month}  {value:5.1f} °C  " + "█" * round(value * 2))',
    )


def _after_plot(report: RunReport) -> str:
    how = "`tab`, `up` and `v` show it on the whole screen"
    if "█" in report.output:
        return _comment(4, f"{how}. Where matplotlib is installed, a plot is a picture.")(report)
    return _comment(4, f"{how}, `o` opens it in your viewer of pictures, `s` saves it.")(report)


_MENDED = 'total = 2 * prices["tea"] + prices["coffee"]\nprint(f"{total:.2f}")'


def _error(_: frozenset[str]) -> str:
    return _with_code(
        "Code fails, and models make mistakes. Run this one: there is a slip in it.",
        'prices = {"tea": 2.50, "coffee": 3.00}\ntotal = 2 * prices["tea"] + prices["cofee"]\nprint(f"{total:.2f}")',
    )


def _after_error(report: RunReport) -> str:
    if report.outcome == "error" and "cofee" in report.output:
        return _with_code(
            "A `KeyError`: it is spelled `coffee`. The error went back to the model, which mends its code. `prices` "
            "is still there, because the kernel keeps your variables.",
            _MENDED,
        )
    return _comment(
        5,
        "Mended. **`/variables` shows the variables** beside the session, with their values; again, and you are in "
        "them; once more closes them.",
    )(report)


def _interrupt(_: frozenset[str]) -> str:
    return _with_code(
        "Some code takes too long. Run this, and **press `escape`** while it counts. (A second `escape` within a "
        "second would stop the whole turn.)",
        "import time\n\nfor second in range(1, 31):\n"
        '    print(f"\\r{second} of 30 seconds", end="")\n'
        "    time.sleep(1)",
    )


def _sandbox(there: frozenset[str]) -> str:
    around = (
        "Code runs in a sandbox: of your home folder it sees no more than it needs, it has no network and none of "
        "your keys."
        if "sandbox" in there
        else "There is no sandbox here: code has your full permissions, and your approval alone protects you."
    )
    return _with_code(
        f"{around} This is what it sees:",
        "import os\nfrom pathlib import Path\n\n"
        'print("Home folder:", os.listdir(Path.home()))\n'
        'print("Keys:", [name for name in os.environ if name.endswith("_KEY")])',
    )


def _after_sandbox(report: RunReport) -> str:
    if report.outcome == "ok" and not report.sandboxed:
        return f"That is your home folder as it is. `oi-tui help safety` says what a sandbox needs.\n\n{_next(7)}"
    return _comment(
        7,
        "All else in your home folder is hidden, and what code writes there is gone at the end. The line at the bottom "
        "says what the sandbox is; `/sandbox` changes it, `/approve` changes who decides.",
    )(report)


STEPS: tuple[TourStep, ...] = (
    TourStep(
        "Approve code",
        _approve,
        _comment(
            1,
            "The code ran in a Jupyter kernel, which keeps its variables. Its output went back to the model, which has "
            "the next word.",
            refused="You refused it, so it did not run. A model would read your reason and try something else. `again` "
            "shows it once more.",
        ),
    ),
    TourStep(
        "Edit or refuse code",
        _decide,
        _comment(
            2,
            "It ran as it was. `e` would have let you change it before.",
            edited="It ran as you edited it, and the model is shown both: what it wrote, and what ran.",
            refused="It did not run, and a model would read your reason.",
        ),
    ),
    TourStep(
        "A table",
        _table,
        _comment(
            3,
            "**Press `tab`**, then `up` until the table has the bar: you are in the timeline. `v` opens it on the "
            "whole screen, `c` copies it, `s` saves it, `r` runs its code again. `tab` returns to the prompt.",
        ),
    ),
    TourStep(
        "A plot",
        _plot,
        _after_plot,
    ),
    TourStep("An error, and its repair", _error, _after_error),
    TourStep(
        "Interrupt a cell",
        _interrupt,
        _comment(
            6,
            "You let it count to the end. `escape` would have interrupted it.",
            interrupted="Interrupted. The kernel lives, and its variables are kept: `%second` in the prompt runs "
            "Python of your own and shows how far it came.",
        ),
    ),
    TourStep("The sandbox", _sandbox, _after_sandbox),
)
