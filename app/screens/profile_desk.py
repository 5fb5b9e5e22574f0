"""Profiles on the screen: used in the session, made a default, changed. What protects less is asked about before."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from textual.app import App

from oi_tui.app.commands.own_profile import begin_profile, profile_text, save_profile
from oi_tui.app.commands.profiles import (
    ProfileChange,
    ProfileRow,
    plain_settings,
    profile_change,
    profile_row,
    profile_rows,
)
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.profile_files import PLAIN, find_profile, profile_for
from oi_tui.app.engine.files.settings_file import SETTINGS
from oi_tui.app.screens.chat import ChatScreen
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.external_editor import EditorFailed, edit_text
from oi_tui.app.screens.profile_screen import ProfileScreen
from oi_tui.app.screens.prompt_desk import NOTE
from oi_tui.app.settings.own_file import set_setting, unset_setting


class ProfileDesk:
    """A `ProfileBook` for the session on the screen."""

    def __init__(self, app: App[Any], chat: ChatScreen, folder: Path, in_use: str) -> None:
        self._app = app
        self._chat = chat
        self._folder = folder
        self.in_use = in_use

    def choose(self, name: str = "") -> None:
        """Use a profile in this session, after a yes if it is milder; without a name, let the person look at each."""
        if not name:
            self._app.push_screen(ProfileScreen(self), lambda found: self.choose(found) if found else None)
            return
        change = profile_change(name, self._now, self.in_use)

        def finish(yes: bool | None) -> None:
            if yes:
                self._apply(name, change)

        if change.milder:
            lines = "\n".join(one.words for one in change.milder)
            title = f"Use the profile {name}? It is less strict than this session."
            self._app.push_screen(ConfirmScreen(title, lines, yes="use it", no="keep", careful=True), finish)
        else:
            finish(True)

    def rows(self) -> Sequence[ProfileRow]:
        """Each with what it changes in this session."""
        return profile_rows(self._now)

    def defaults(self) -> tuple[str, str]:
        """Names of the default of this folder and of the one of all folders; "" is none."""
        try:
            section = plain_settings().profile
            here = profile_for(section, self._folder, config_dir(), SETTINGS)
        except OiTuiError:
            return "", ""  # a choice that cannot be applied is reported at the next start
        return "" if here == section.default else here, section.default

    def milder_words(self, row: ProfileRow) -> str:
        """The protection that new sessions would lose if it were the default; "" if none."""
        return "\n".join(change.words for change in profile_row(row.file, plain_settings()).milder)

    def keep(self, name: str, *, here: bool) -> str:
        """Use it from now on in new sessions, of this folder or of all; what was written, in words."""
        path = ("profile", "folders", str(self._folder)) if here else ("profile", "default")
        where = f"in {self._folder}" if here else "in all folders"
        if name == PLAIN and not (here and plain_settings().profile.default):
            unset_setting(path)
            return f"New sessions {where} begin without a profile."
        written = set_setting(path, [name])
        return f"New sessions {where} begin with {name} ({written.file.name})."

    def edit(self, name: str) -> str:
        """Open it in the person's editor; what came of that, in words."""
        file = find_profile(config_dir(), name)
        before = profile_text(file)
        try:
            after = edit_text(self._app, before, self._chat.settings.screen.editor, ".toml")
        except EditorFailed as failed:
            raise OiTuiError(str(failed)) from failed
        if after.rstrip("\n") == before.rstrip("\n"):
            return "Nothing was changed."
        path = save_profile(name, f"{after.rstrip()}\n", over=not file.is_shipped)
        return f"Written: {path}"

    def begin(self, name: str, based: str) -> str:
        """Write a profile that says what another one says; where it is, in words."""
        return f"Written: {begin_profile(name, based)}. e changes it."

    @property
    def _now(self) -> Settings:
        """The settings, with what was changed in the session since."""
        now, past = self._chat.bridge.settings, self._chat.bridge.transcript
        if not past.session_id:
            return now
        loop = replace(
            now.loop,
            approve=past.approval,
            complete=past.complete,
            max_cost=past.max_cost,
            max_tokens=past.max_tokens,
        )
        return replace(now, model=replace(now.model, name=past.model or now.model.name), loop=loop)

    def _apply(self, name: str, change: ProfileChange) -> None:
        for verb in change.verbs:
            self._chat.bridge.send(verb)
        if not change.failed:
            self.in_use = "" if name == PLAIN else name
        stays = change.failed or change.later
        self._chat.desk.tell(change.words, failed=change.failed, seconds=0 if stays else NOTE)
