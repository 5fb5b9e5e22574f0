"""The status line says who decides and what holds code back, whatever else has room."""

import re
from typing import Any

import pytest

from oi_tui.app.engine.core.events import KernelChanged
from oi_tui.app.engine.core.modes import effective_mode
from oi_tui.app.engine.core.settings import KernelSection, PolicySection, SandboxSection, Settings, describe_sandbox
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.session_status import KernelBoard, current_status, kernel_label
from oi_tui.widgets.status import (
    STARTING,
    THINKING,
    Activity,
    Status,
    fit_parts,
    name_in_short,
    next_change,
    status_parts,
)

USUAL = SandboxSection()
OPEN = SandboxSection(mode="danger-full-access")


def line(width: int, sandbox: SandboxSection = USUAL, policy: PolicySection | None = None, **more: Any) -> str:
    """What stands there at this width, with everything else going on."""
    told: dict[str, Any] = {
        "activity": Activity(word="waiting for approval"),
        "usage": Usage(input_tokens=31_000, output_tokens=4_200, last_input_tokens=900),
        **more,
    }
    status = Status(
        model="some-provider/a-model-with-quite-a-long-name",
        floor=effective_mode(policy or PolicySection(), sandbox),
        sandbox=describe_sandbox(sandbox),
        exposed=sandbox.mode == "danger-full-access",
        kernels=(("python", "busy"), ("shell", "idle")),
        context_window=4000,
        **told,
    )
    return fit_parts(status_parts(status), width).plain


@pytest.mark.parametrize("width", [50, 60, 80, 100, 160])
@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        (OPEN, "no sandbox"),
        (SandboxSection(), "sandbox"),
        (SandboxSection(network="full"), "sandbox, network"),
        (SandboxSection(mode="read-only", network="hosts", hosts=("a.org",)), "sandbox read-only, 1 host"),
    ],
)
def test_sandbox_mode_and_network_stay_at_every_width(width: int, sandbox: SandboxSection, words: str) -> None:
    shown = line(width, sandbox)
    assert re.search(rf" · (approval: )?ask · {words}(, no network)? ·", shown), shown
    assert len(line(width, sandbox)) <= width


@pytest.mark.parametrize("width", [50, 60, 80])
def test_S20_that_the_sandbox_fails_stays_at_every_width(width: int) -> None:
    settings = Settings(sandbox=USUAL)
    status = current_status(Transcript(), settings, KernelBoard(), Activity(word="running"), fails=True, recorded=False)
    assert "approval: ask · sandbox fails · running" in fit_parts(status_parts(status), width).plain


def test_what_has_no_sandbox_by_choice_cannot_fail() -> None:
    status = current_status(Transcript(), Settings(sandbox=OPEN), KernelBoard(), Activity(), fails=True, recorded=False)
    assert (status.sandbox, status.exposed) == ("no sandbox", True)


def test_R13_nothing_is_said_of_the_sandbox_until_it_is_known_where_code_runs() -> None:
    settings = Settings(sandbox=USUAL, kernel=KernelSection(server="cluster"))
    board = KernelBoard()
    status = current_status(Transcript(), settings, board, Activity(word=STARTING), fails=False, recorded=False)
    assert status.sandbox == ""
    place = "python3 on hub.test"
    board.follow(KernelChanged(language="python", state="cold", generation=0, detail=place, elsewhere=True))
    status = current_status(Transcript(), settings, board, Activity(), fails=False, recorded=False)
    assert status.sandbox == "no sandbox"


def test_names_of_kernels_and_models_obey_no_terminal() -> None:
    status = Status(
        model="gpt\x1b[2J", activity=Activity(word="starting python\x1b[2J"), kernels=(("python\x1b[2J", "starting"),)
    )
    shown = "".join(part.text for part in status_parts(status))
    assert "starting python" in shown
    assert "\x1b" not in shown


def test_that_there_is_no_sandbox_stays_where_little_else_does() -> None:
    for width in (34, 40):
        assert "auto · no sandbox" in line(width, OPEN, approval="auto")


@pytest.mark.parametrize(
    ("policy", "approval", "words"),
    [
        (PolicySection(), "auto", "approval: auto"),
        (PolicySection(auto_run=False), "auto", "approval: ask"),
        (PolicySection(mode="dontAsk"), "auto", "approval: rules only"),
        (PolicySection(mode="plan"), "ask", "approval: plan"),
        (PolicySection(), "plan", "approval: plan"),
        (PolicySection(mode="auto"), "auto", "approval: auto in sandbox"),
        (PolicySection(mode="auto"), "ask", "approval: ask"),
        (PolicySection(mode="plan"), "never", "approval: never"),
    ],
)
def test_the_mode_that_is_shown_is_the_stricter_of_two(policy: PolicySection, approval: str, words: str) -> None:
    assert f" · {words} · sandbox" in line(120, policy=policy, approval=approval)


def test_the_mode_auto_without_a_sandbox_asks_and_says_so() -> None:
    for sandbox in (OPEN, SandboxSection(network="full")):
        assert " · approval: ask · " in line(120, sandbox, PolicySection(mode="auto"), approval="auto")


def test_l11_what_is_left_of_a_budget_stands_there() -> None:
    usage = Usage(input_tokens=100, output_tokens=10, cost=None, priced=0.12)
    assert "$0.88 of $1.00 left" in line(160, usage=usage, max_cost=1.0)
    assert "$0.88 left" in line(80, usage=usage, max_cost=1.0)
    assert "890 tokens left" in line(160, usage=usage, max_tokens=1000)
    assert "$?" in line(160, usage=usage)


def test_whether_there_is_a_model_is_not_said_before_it_is_known() -> None:
    assert "no model" not in str(fit_parts(status_parts(Status(activity=Activity(word=STARTING))), 80))
    assert "gpt" in str(fit_parts(status_parts(Status(activity=Activity(word=STARTING), model="openai/gpt")), 80))
    assert "no model" in str(fit_parts(status_parts(Status()), 80))


@pytest.mark.parametrize(
    ("place", "label"),
    [
        ("", "python"),
        ("Python 3.11.7 of oi-tui", "python"),
        ("Python 3.12.4 in /home/me/project/.venv", "python in .venv"),
        ("Python 3.12.4 in /home/me/notes on work/.venv", "python in .venv"),
        ("python3 on hub.example.org", "python on hub.example.org, no sandbox"),
        ("kernel 1a2b3c4d on hub.example.org", "python on hub.example.org, no sandbox"),
        ("kernel far, started by far-provisioner", "python, no sandbox"),
    ],
)
def test_a_kernel_is_named_with_where_it_runs(place: str, label: str) -> None:
    assert kernel_label("python", place) == label


def test_that_there_is_no_sandbox_is_told_once_on_the_line() -> None:
    assert kernel_label("python", "python3 on hub.example.org", told=True) == "python on hub.example.org"


def board(*events: KernelChanged) -> KernelBoard:
    """What is known of the kernels after these events."""
    kernels = KernelBoard()
    for event in events:
        kernels.follow(event)
    return kernels


THERE = KernelChanged(language="python", state="cold", detail="python3 on hub.example.org", elsewhere=True)
SHELL = KernelChanged(language="shell", state="idle", elsewhere=True)
HERE = KernelChanged(language="python", state="cold", detail="Python 3.12.4 in /home/me/project/.venv")


@pytest.mark.parametrize("width", [50, 60, 80, 120])
@pytest.mark.parametrize("fails", [False, True])
def test_where_code_runs_on_another_machine_no_sandbox_is_promised_at_any_width(width: int, fails: bool) -> None:
    status = current_status(
        Transcript(), Settings(), board(THERE, SHELL), Activity(word="running"), fails=fails, recorded=False
    )
    shown = fit_parts(status_parts(status), width).plain
    assert re.search("ask · no sandbox", shown)
    assert status.exposed
    back = current_status(Transcript(), Settings(), board(THERE, HERE), Activity(), fails=False, recorded=False)
    assert back.sandbox == "sandbox, no network"


def test_where_code_runs_stays_on_a_line_of_80_columns_beside_a_shell() -> None:
    for place, words in ((THERE, "python on hub.example.org"), (HERE, "python in .venv")):
        status = current_status(Transcript(), Settings(), board(place, SHELL), Activity(), fails=False, recorded=False)
        assert words in fit_parts(status_parts(status), 80).plain


SPENT = Usage(input_tokens=3_100, output_tokens=420, last_input_tokens=900, cost=0.12)


@pytest.mark.parametrize(
    ("model", "activity"),
    [
        ("claude-sonnet-4-5-20250929", Activity(word=THINKING, since=0.0)),
        ("local/qwen2.5-coder-1.5b", Activity(word="running", since=0.0)),
        ("openrouter/some/quite-a-long-name-of-a-model", Activity(word="waiting for approval")),
    ],
)
def test_activity_tokens_and_cost_stay_at_80_columns_and_the_activity_at_40(model: str, activity: Activity) -> None:
    status = Status(
        model=model,
        activity=activity,
        sandbox="sandbox, no network",
        kernels=(("python", "idle"), ("shell", "idle")),
        usage=SPENT,
        context_window=4000,
    )
    parts = status_parts(status, now=64.0)
    shown = fit_parts(parts, 78).plain
    assert all(
        word in shown for word in (activity.word.removesuffix(" for approval"), "↑3.1k ↓420", "$0.12", "sandbox", "ask")
    )
    small = fit_parts(parts, 38).plain
    assert activity.word.removesuffix(" for approval") in small
    assert "1:04" in small or activity.since is None
    assert "idle" not in fit_parts(parts, 200).plain


@pytest.mark.parametrize(
    ("activity", "now", "words"),
    [
        (Activity(word=THINKING, since=100.0), 100.4, "thinking"),
        (Activity(word=THINKING, since=100.0), 112.0, "thinking 12 s"),
        (Activity(word=THINKING, since=100.0), 120.0, "no answer for 20 s (limit 120)"),
        (Activity(word=THINKING, since=100.0), 230.0, "thinking 2:10"),
        (Activity(word="loading the model", since=100.0), 100.4, "thinking"),
        (Activity(word="loading the model", since=100.0), 104.0, "loading the model 4 s"),
        (Activity(word="running", since=100.0), 164.0, "running 1:04"),
        (Activity(word="running", since=100.0), 100.0 + 3840, "running 1 h 04 min"),
        (
            Activity(word="rate limit, retry 2 of 3", since=100.0, due=104.0),
            100.0,
            "rate limit, retry 2 of 3 in 4 s (enter: now)",
        ),
        (Activity(word="rate limit, retry 2 of 3", since=100.0, due=104.0), 107.0, "rate limit, retry 2 of 3 3 s"),
        (Activity(word="waiting for approval"), 500.0, "waiting for approval"),
    ],
)
def test_what_goes_on_has_a_clock(activity: Activity, now: float, words: str) -> None:
    status = Status(activity=activity, patience=120.0)
    assert words in [part.text for part in status_parts(status, now)]


def test_the_clock_changes_each_second_and_after_an_hour_each_minute() -> None:
    assert next_change(12.25) == 0.75
    assert next_change(3600.0) == 60.0
    assert next_change(4.25, down=True) == 0.25


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("openai/gpt-5-2026-03-01", "gpt-5"),
        ("local/qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"),
        ("ollama/llama3:latest", "llama3"),
        ("gpt-5", "gpt-5"),
    ],
)
def test_a_model_has_a_short_name(name: str, short: str) -> None:
    assert name_in_short(name) == short


def test_L18_how_full_the_context_is_says_whether_the_server_counted_it() -> None:
    def shown(usage: Usage) -> list[str]:
        return [part.text for part in status_parts(Status(usage=usage, context_window=8_000))]

    assert "ctx 61%" in shown(Usage(input_tokens=4_880, last_input_tokens=4_880))
    assert "ctx ~61%" in shown(Usage(input_tokens=4_880, last_input_tokens=4_880, last_estimated=True))
