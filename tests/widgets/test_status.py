"""The status line says who decides and what holds code back, whatever else has room."""

from typing import Any

import pytest

from oi_tui.app.engine.core.events import KernelChanged
from oi_tui.app.engine.core.modes import effective_mode
from oi_tui.app.engine.core.settings import KernelSection, PolicySection, SandboxSection, Settings, describe_sandbox
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.session_status import KernelBoard, current_status, kernel_label
from oi_tui.widgets.status import STARTING, Status, fit_parts, status_parts

USUAL = SandboxSection()
OPEN = SandboxSection(mode="danger-full-access")


def line(width: int, sandbox: SandboxSection = USUAL, policy: PolicySection | None = None, **more: Any) -> str:
    """What stands there at this width, with everything else going on."""
    told: dict[str, Any] = {
        "activity": "waiting for you",
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
        (SandboxSection(), "sandbox, no network"),
        (SandboxSection(network="full"), "sandbox, network"),
        (SandboxSection(mode="read-only", network="hosts", hosts=("a.org",)), "sandbox read-only, 1 host"),
    ],
)
def test_sandbox_mode_and_network_stay_at_every_width(width: int, sandbox: SandboxSection, words: str) -> None:
    assert f" · asks first · {words} ·" in line(width, sandbox)
    assert len(line(width, sandbox)) <= width


@pytest.mark.parametrize("width", [50, 60, 80])
def test_S20_that_the_sandbox_fails_stays_at_every_width(width: int) -> None:
    settings = Settings(sandbox=USUAL)
    status = current_status(Transcript(), settings, KernelBoard(), "waiting for you", fails=True, recorded=False)
    assert " · asks first · sandbox fails · waiting for" in fit_parts(status_parts(status), width).plain


def test_what_has_no_sandbox_by_choice_cannot_fail() -> None:
    status = current_status(Transcript(), Settings(sandbox=OPEN), KernelBoard(), "", fails=True, recorded=False)
    assert (status.sandbox, status.exposed) == ("no sandbox", True)


def test_R13_nothing_is_said_of_the_sandbox_until_it_is_known_where_code_runs() -> None:
    settings = Settings(sandbox=USUAL, kernel=KernelSection(server="cluster"))
    board = KernelBoard()
    status = current_status(Transcript(), settings, board, STARTING, fails=False, recorded=False)
    assert status.sandbox == ""
    place = "python3 on hub.test"
    board.follow(KernelChanged(language="python", state="cold", generation=0, detail=place, elsewhere=True))
    status = current_status(Transcript(), settings, board, "", fails=False, recorded=False)
    assert status.sandbox == "no sandbox"


def test_names_of_kernels_and_models_obey_no_terminal() -> None:
    status = Status(model="gpt\x1b[2J", activity="starting python\x1b[2J", kernels=(("python\x1b[2J", "starting"),))
    shown = "".join(part.text for part in status_parts(status))
    assert "starting python" in shown
    assert "\x1b" not in shown


def test_that_there_is_no_sandbox_stays_where_little_else_does() -> None:
    for width in (34, 40):
        assert "runs unasked · no sandbox" in line(width, OPEN, approval="auto")


@pytest.mark.parametrize(
    ("policy", "approval", "words"),
    [
        (PolicySection(), "auto", "runs unasked"),
        (PolicySection(auto_run=False), "auto", "asks first"),
        (PolicySection(mode="dontAsk"), "auto", "runs by rules only"),
        (PolicySection(mode="plan"), "ask", "never runs"),
        (PolicySection(mode="auto"), "auto", "runs unasked in the sandbox"),
        (PolicySection(mode="auto"), "ask", "asks first"),
        (PolicySection(mode="plan"), "never", "never runs"),
    ],
)
def test_the_mode_that_is_shown_is_the_stricter_of_two(policy: PolicySection, approval: str, words: str) -> None:
    assert f" · {words} · sandbox" in line(120, policy=policy, approval=approval)


def test_the_mode_auto_without_a_sandbox_asks_and_says_so() -> None:
    for sandbox in (OPEN, SandboxSection(network="full")):
        assert " · asks first · " in line(120, sandbox, PolicySection(mode="auto"), approval="auto")


def test_l11_a_budget_stands_beside_what_is_spent() -> None:
    usage = Usage(input_tokens=100, output_tokens=10, cost=None, priced=0.12)
    assert line(160, usage=usage, max_cost=1.0).count("$0.12 of $1.00") == 1
    assert "$?" in line(160, usage=usage)


def test_whether_there_is_a_model_is_not_said_before_it_is_known() -> None:
    assert "no model" not in str(fit_parts(status_parts(Status(activity=STARTING)), 80))
    assert "openai/gpt" in str(fit_parts(status_parts(Status(activity=STARTING, model="openai/gpt")), 80))
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
    status = current_status(Transcript(), Settings(), board(THERE, SHELL), "running", fails=fails, recorded=False)
    shown = fit_parts(status_parts(status), width).plain
    assert "asks first · no sandbox" in shown
    assert status.exposed
    back = current_status(Transcript(), Settings(), board(THERE, HERE), "", fails=False, recorded=False)
    assert back.sandbox == "sandbox, no network"


def test_where_code_runs_stays_on_a_line_of_80_columns_beside_a_shell() -> None:
    for place, words in ((THERE, "python on hub.example.org ○ cold"), (HERE, "python in .venv ○ cold")):
        status = current_status(Transcript(), Settings(), board(place, SHELL), "", fails=False, recorded=False)
        assert words in fit_parts(status_parts(status), 80).plain
