"""Row R16: what Python code can run in is chosen on a screen, with arrows, by typing, with the mouse, or not at all."""

import pytest
from textual.widgets import OptionList, Static

from oi_tui.app.engine.core.events import CodeFinished, CodeStarted, ExecutionStarted, TurnStarted
from oi_tui.app.engine.core.kernel_choice import KernelChoice
from oi_tui.app.engine.core.protocol import KernelsFound
from oi_tui.app.engine.core.verbs import FindKernels, InstallKernel, UseKernel
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.kernel_screen import KernelScreen
from support.hostile import hostile_line, seen_line
from support.snapshot import Snap
from support.stage import Play, Stage

OURS = KernelChoice(name="oi-tui", kind="environment", title="Python 3.11.7 of oi-tui", detail="ipykernel: its own")
PROJECT = KernelChoice(
    name=".venv",
    kind="environment",
    title="Python 3.11.7 in .venv",
    detail="Program: /work/.venv/bin/python\nPython: 3.11.7 (venv)\nipykernel: none of its own, lent by oi-tui",
    in_use=True,
)
OLD = KernelChoice(
    name="old",
    kind="environment",
    title="Python 3.9.1 in old",
    detail="Program: /work/old/bin/python\nPython: 3.9.1 (venv)\nipykernel: none",
    obstacle="/work/old (Python 3.9.1) has no ipykernel.",
)
NEW = KernelChoice(
    name="new",
    kind="environment",
    title="Python 3.13.0 in new",
    detail="Program: /work/new/bin/python\nPython: 3.13.0 (venv)\nipykernel: none",
    obstacle="/work/new (Python 3.13.0) has no ipykernel.",
    remedy="/work/new/bin/python -I -m ensurepip && /work/new/bin/python -I -m pip install ipykernel",
    remedy_reach="It runs in a sandbox that can write in /work/new alone, and reach the whole network.",
)
CLUSTER = KernelChoice(
    name="cluster",
    kind="server",
    title="cluster: python3 on hub.example.org",
    detail="Host: hub.example.org\nKernelspec: python3",
    server="cluster",
)
JULIA = KernelChoice(name="julia-1.9", kind="kernelspec", title="julia", detail="Runs fences labelled julia-1.9.")
HERE = (PROJECT, OURS, OLD, CLUSTER, JULIA)
SPEC = KernelChoice(name="cluster:r", kind="kernelspec", title="r on hub.example.org", server="cluster")
LIVING = KernelChoice(name="cluster@1a2b", kind="running", title="python3, idle", server="cluster")


async def chosen(stage: Stage, *choices: KernelChoice) -> KernelScreen:
    """The screen with these choices, drawn: keys and replies before that would meet no list."""
    stage.prompt.fill("/kernel")
    await stage.pilot.press("enter")
    assert await stage.engine.heard(1) == [FindKernels()]
    stage.engine.reply(KernelsFound(choices=choices or HERE))
    screen = await stage.screen(KernelScreen)
    await stage.settle()
    return screen


def rows(screen: KernelScreen) -> list[str]:
    return [str(option.prompt).rstrip() for option in screen.query_one(OptionList).options]


async def test_R16_the_one_in_use_is_first_and_marked_and_enter_keeps_it(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        screen = await chosen(stage)
        await stage.settle()
        assert rows(screen) == [
            "Environments",
            "▸ Python 3.11.7 in .venv · in use",
            "  Python 3.11.7 of oi-tui",
            "  Python 3.9.1 in old · cannot be used",
            "Jupyter servers",
            "  cluster: python3 on hub.example.org",
            "Also here, by the label of a fence (beside Python)",
            "  julia-1.9 · julia",
        ]
        assert "lent by oi-tui" in stage.seen
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.app.screen is stage.app.chat
        assert stage.engine.asked == [FindKernels()]


@pytest.mark.parametrize("keys", [("down",), tuple("oi-tui"), ("up", "down", "down")])
async def test_R16_arrows_and_letters_lead_to_another_one(play: Play, keys: tuple[str, ...]) -> None:
    async with play(size=(80, 24)) as stage:
        await chosen(stage)
        await stage.pilot.press(*keys, "enter")
        assert (await stage.engine.heard(2))[-1] == UseKernel(name="oi-tui")
        await stage.settle()
        assert stage.app.screen is stage.app.chat


async def test_R16_escape_keeps_what_is_in_use(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await chosen(stage)
        await stage.pilot.press("down", "escape")
        await stage.settle()
        assert stage.app.screen is stage.app.chat
        assert stage.engine.asked == [FindKernels()]


async def test_R16_a_click_chooses(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await chosen(stage)
        await stage.settle()
        await stage.pilot.click("#pick-list", offset=(5, 2))
        assert (await stage.engine.heard(2))[-1] == UseKernel(name="oi-tui")


async def test_R16_what_cannot_be_used_says_why_and_is_not_chosen(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        screen = await chosen(stage)
        for words, why in (("3.9.1", "has no ipykernel"), ("julia", "Runs fences labelled")):
            await stage.pilot.press(*words)
            await stage.settle()
            assert why in stage.seen
            await stage.pilot.press("enter")
            await stage.settle()
            assert stage.app.screen is screen
            await stage.pilot.press("ctrl+u")
        assert stage.engine.asked == [FindKernels()]


async def test_R16_a_server_tells_what_is_on_it_when_it_is_asked(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        screen = await chosen(stage)
        await stage.pilot.press("down", "down", "down")
        await stage.settle()
        assert "no sandbox of ours" in stage.seen
        await stage.pilot.press("tab", "tab")
        assert await stage.engine.heard(2) == [FindKernels(), FindKernels(server="cluster")]
        await stage.settle()
        assert "      asking …" in rows(screen)
        stage.engine.reply(KernelsFound(server="cluster", why="hub.example.org cannot be reached: it is off."))
        await stage.until(lambda: "      hub.example.org cannot be reached: it is off." in rows(screen))
        await stage.pilot.press("right")
        stage.engine.reply(KernelsFound(server="cluster", choices=(LIVING, SPEC)))
        await stage.until(lambda: rows(screen)[5:8][1:] == ["    python3, idle", "    r on hub.example.org"])
        await stage.pilot.press("down", "down", "enter")
        assert (await stage.engine.heard(4))[-1] == UseKernel(name="cluster:r")


async def test_R16_a_kernel_of_somebody_else_is_attached_to_after_a_yes_that_knew_the_costs(play: Play) -> None:
    theirs = KernelChoice(
        name="cluster@1a2b", kind="running", title="1a2b python3, idle", server="cluster", costs="It costs them."
    )
    async with play(size=(80, 24)) as stage:
        screen = await chosen(stage, theirs, PROJECT)
        await stage.settle()
        await stage.pilot.press(*"1a2b")
        await stage.settle()
        assert "A switch attaches to that kernel" in stage.seen
        assert "fresh kernel" not in stage.seen
        await stage.pilot.press("enter")
        await stage.screen(ConfirmScreen)
        await stage.settle()
        assert "It costs them." in stage.seen
        await stage.pilot.press("enter", "escape")
        await stage.settle()
        assert stage.app.screen is screen
        await stage.pilot.press("enter")
        await stage.agree()
        assert (await stage.engine.heard(2))[-1] == UseKernel(name="cluster@1a2b", agreed=True)


async def test_R16_a_switch_while_code_runs_is_asked_about(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        stage.engine.say(
            TurnStarted(block_id="u1", text="do it"),
            CodeStarted(block_id="c1", language="python"),
            CodeFinished(block_id="c1", language="python", source="work()"),
            ExecutionStarted(block_id="c1", generation=1),
        )
        await stage.settle()
        screen = await chosen(stage)
        await stage.pilot.press("down", "enter")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("enter", "n")
        await stage.settle()
        assert stage.app.screen is screen
        await stage.pilot.press("enter", "y")
        assert (await stage.engine.heard(2))[-1] == UseKernel(name="oi-tui")


async def test_R16_what_is_missing_is_installed_after_a_yes_and_the_whole_command_is_seen_before(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        screen = await chosen(stage, PROJECT, NEW)
        await stage.pilot.press("down")
        await stage.settle()
        assert "install ipykernel" in stage.seen
        await stage.pilot.press("enter")
        question = await stage.screen(ConfirmScreen)
        await stage.settle()
        shown = question.query_one("#confirm-text")
        assert shown.size.height == shown.virtual_size.height
        assert "reach the whole network" in stage.seen
        await stage.pilot.press("enter", "i", "escape")
        await stage.settle()
        assert stage.app.screen is screen
        assert stage.engine.asked == [FindKernels()]
        await stage.pilot.press("enter")
        await stage.agree()
        assert (await stage.engine.heard(2))[-1] == InstallKernel(name="new", command=NEW.remedy)


async def test_R16_what_a_server_says_does_nothing_to_the_terminal(play: Play) -> None:
    async with play(size=(120, 40)) as stage:
        title, detail = hostile_line("title"), hostile_line("detail")
        screen = await chosen(stage, KernelChoice(name="x", kind="server", title=title, detail=detail, server="x"))
        await stage.settle()
        assert rows(screen)[1].startswith(f"▸ {seen_line('title')}"[:40])
        assert seen_line("detail") in str(screen.query_one("#pick-text", Static).render())


async def test_R16_the_palette_has_it(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await stage.pilot.press("ctrl+p")
        await stage.pilot.pause()
        await stage.pilot.press(*"choose a kernel")
        await stage.until(lambda: "Run Python in another" in stage.seen)
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [FindKernels()]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_R16_the_choice_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size=size) as stage:
        await chosen(stage, *HERE[:2], NEW, *HERE[3:])
        await stage.pilot.press("down", "down", "down")
        stage.engine.reply(KernelsFound(server="cluster", choices=(LIVING, SPEC)))
        await stage.settle()
        await snap(stage.pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_R16_the_offer_to_install_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size=size) as stage:
        await chosen(stage, *HERE[:2], NEW, *HERE[3:])
        await stage.pilot.press("down", "down", "enter")
        stage.wait(5.0, (await stage.screen(ConfirmScreen)).show_arming)
        await stage.settle()
        await snap(stage.pilot)
