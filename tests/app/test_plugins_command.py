"""`oi-tui plugins`: what it says before it enables, and a package to begin with whose test passes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.cli import program
from oi_tui.app.engine.core.errors import SettingsError, StoreError
from oi_tui.app.engine.hooks.session_files import session_writers
from oi_tui.plugins.decisions_file import plugin_decisions
from oi_tui.plugins.description import FULL_RIGHTS, consent_lines
from oi_tui.plugins.finding import FoundPlugin, plugin_folder
from oi_tui.plugins.host import LoadedPlugins
from oi_tui.plugins.session_files import export_session
from support.plugin_packages import install, plugin_home

ENGINE = "from oi_tui.plugins.api import hookimpl\n\n@hookimpl\ndef after_action():\n    pass\n"


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with plugin_home(tmp_path / "home", monkeypatch) as folder:
        install(folder, "oi-tui-tale", {"tale_engine": ENGINE}, {"engine": "tale_engine"})
        yield folder


def call(*words: str, answer: str = "") -> Result:
    return CliRunner().invoke(program, ["plugins", *words], input=answer)


def title(result: Result) -> str:
    assert isinstance(result.exception, SettingsError)
    return result.exception.title


def test_x1_what_is_there_is_listed_and_told_without_being_imported(packages: Path) -> None:
    assert call().output.splitlines()[0].split() == ["not", "enabled", "oi-tui-tale", "1.0", "Tells", "tales."]
    told = call("info", "oi-tui-tale").output
    assert "made by    Ada\n" in told
    assert f"lies in    {packages}\n" in told
    assert "loaded by  the engine\n" in told
    assert FULL_RIGHTS in told
    assert "tale_engine" not in sys.modules


def test_x1_nothing_is_enabled_without_a_yes_and_what_is_agreed_to_is_said_first() -> None:
    asked = call("enable", "oi-tui-tale")
    assert title(asked) == "Nothing has changed."
    assert FULL_RIGHTS in asked.output
    assert plugin_decisions().all() == {}
    assert call("enable", "oi-tui-tale", "--yes").exit_code == 0
    assert plugin_decisions().all()["oi-tui-tale"].state == "enabled"
    assert call("list").output.startswith("enabled ")
    assert call("disable", "oi-tui-tale").exit_code == 0
    assert call("list").output.startswith("disabled ")


def test_x1_what_cannot_be_a_plugin_cannot_be_enabled() -> None:
    plugin_folder().mkdir(parents=True)
    (plugin_folder() / "none.py").write_text("x = 1\n")
    assert title(call("enable", "none.py", "--yes")) == "none.py cannot be enabled: it defines no hook."
    assert title(call("enable", "absent", "--yes")) == "There is no plugin absent."
    assert title(call("test", "oi-tui-tale")) == "oi-tui-tale is not enabled, so nothing of it is imported."


def test_x5_a_new_package_passes_its_own_test_and_shows_what_it_has(tmp_path: Path) -> None:
    assert call("new", "tide-table", "--in", str(tmp_path)).exit_code == 0
    tried = call("test", str(tmp_path / "tide-table"))
    assert tried.exit_code == 0, tried.output
    assert "register_tools, 1 of them" in tried.output
    assert "register_slash_commands, 1 of them" in tried.output
    assert "2 passed" in tried.output
    assert title(call("new", "tide-table", "--in", str(tmp_path))).endswith("exists already.")
    assert title(call("new", "../x", "--in", str(tmp_path))).startswith("'../x' is no name")

    source = tmp_path / "tide-table" / "tide_table" / "engine.py"
    source.write_text(source.read_text().replace("return [Tool(", "return 5 or [Tool("))
    broken = call("test", str(tmp_path / "tide-table"))
    assert broken.exit_code == 1


def test_x5_a_file_is_tried_before_it_is_enabled(tmp_path: Path) -> None:
    path = tmp_path / "tale.py"
    path.write_text(ENGINE)
    tried = call("test", str(path))
    assert (tried.exit_code, tried.output.splitlines()[1:]) == (0, ["  after_action"])
    path.write_text(ENGINE.replace("after_action()", "after_action(blok)"))
    assert call("test", str(path)).exit_code == 1


def test_x1_no_folder_that_we_are_in_brings_code_to_the_trial_of_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin_folder().mkdir(parents=True)
    (plugin_folder() / "tale.py").write_text(ENGINE)
    assert call("enable", "tale.py", "--yes").exit_code == 0
    ran = tmp_path / "ran"
    (tmp_path / "project").mkdir()
    for name in ("pluggy.py", "tale.py"):
        (tmp_path / "project" / name).write_text(f"open({str(ran)!r}, 'w')\n{ENGINE}")
    monkeypatch.chdir(tmp_path / "project")
    tried = call("test", "tale.py")
    assert (tried.exit_code, tried.output.splitlines()[1:]) == (0, ["  after_action"])
    assert not ran.exists()


def test_x1_a_built_in_plugin_is_disabled_like_any_other() -> None:
    assert {"ipynb", "html", "md"} <= session_writers(LoadedPlugins("engine").load()).keys()
    assert call("disable", "notebook").exit_code == 0
    hooks = LoadedPlugins("engine").load()
    assert {"html", "md"} <= session_writers(hooks).keys()
    with pytest.raises(StoreError, match="There is no format ipynb"):
        export_session((), "ipynb", hooks=hooks)
    assert call("enable", "notebook").exit_code == 0
    assert "ipynb" in session_writers(LoadedPlugins("engine").load())


def test_x1_a_long_name_of_its_author_hides_nothing() -> None:
    found = FoundPlugin(name="x", kind="package", author="a\n" * 5_000, place="/there", loads={"engine": ("x",)})
    assert consent_lines(found)[1] == "Lies in: /there"
    assert max(map(len, consent_lines(found))) < 120


def test_x1_a_slip_in_a_name_is_answered_with_the_nearest() -> None:
    for wrong, meant in (("oi-tui-tail", "oi-tui-tale"), ("notebok", "notebook")):
        error = call("info", wrong).exception
        assert isinstance(error, SettingsError)
        assert error.hint.startswith(f"Did you mean {meant}?")
    error = call("info", "zzz").exception
    assert isinstance(error, SettingsError)
    assert error.hint == "oi-tui plugins list shows those there are."
