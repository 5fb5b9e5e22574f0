"""Pasting by key and by drag, as the person sees it."""

import io
from pathlib import Path

import pytest
from PIL import Image
from textual import events

from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.text.attached import attached_file
from support.kinds import narrow
from support.stage import Play, Stage


async def drag(stage: Stage, text: str) -> None:
    stage.prompt.post_message(events.Paste(text))
    await stage.settle()


async def test_P3_a_file_that_is_dragged_in_is_mentioned_and_undo_brings_its_path_back(
    play: Play, tmp_path: Path
) -> None:
    path = tmp_path / "a plot.png"
    path.touch()
    async with play() as stage:
        await stage.app.chat.complete.wait()
        await stage.pilot.press("s", "e", "e", "space")
        await drag(stage, f"'{path}'")
        assert stage.prompt.text == 'see @"a plot.png" '
        assert stage.told("Pasted as @file")
        await stage.pilot.press("ctrl+underscore")
        assert stage.prompt.text == f"see '{path}'"
        stage.prompt.fill("!ls ")
        await drag(stage, str(path))
        assert stage.prompt.text == f"!ls {path}"


async def test_P4_a_picture_of_the_clipboard_goes_with_the_prompt_whose_token_it_has(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (6, 4), "red").save(picture, "PNG")
    (tmp_path / "picture").write_bytes(picture.getvalue())
    listed = f'case "$*" in *list*) cat {tmp_path}/kinds;; *image*) cat {tmp_path}/picture;; *) echo words;; esac'
    (tmp_path / "kinds").write_text("image/png")
    (tmp_path / "wl-paste").write_text(f"#!/bin/sh\n{listed}\n")
    (tmp_path / "wl-paste").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.delenv("SSH_TTY", raising=False)
    async with play() as stage:
        await stage.app.chat.complete.wait()
        await stage.pilot.press("alt+v")
        await stage.until(lambda: stage.prompt.text == "[picture #1: 6×4] ")
        await stage.pilot.press("ctrl+v")
        await stage.until(lambda: stage.prompt.text == "[picture #1: 6×4] [picture #2: 6×4] ")
        stage.prompt.fill("Only [picture #2: 6×4], please")
        await stage.pilot.press("enter")
        sent = narrow((await stage.engine.heard(1))[0], Submit)
        assert sent.text == "Only [picture #2: 6×4], please"
        assert [attached_file(written).chip for written in sent.files] == ["picture (6×4)"]
        (tmp_path / "kinds").write_text("text/plain")
        stage.prompt.fill("/paste")
        await stage.pilot.press("escape", "enter")
        await stage.until(lambda: stage.prompt.text == "words\n")
        (tmp_path / "kinds").write_text("image/png")
        (tmp_path / "picture").write_bytes(b"none")
        await stage.pilot.press("ctrl+v")
        await stage.until(lambda: stage.told("The clipboard has a picture of a kind that cannot be sent."))
        stage.prompt.fill("see [picture #9: 6×4]")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.told("[picture #9: 6×4] was not kept."))
        await stage.pilot.press("enter")
        assert narrow((await stage.engine.heard(2))[1], Submit).files == ()
