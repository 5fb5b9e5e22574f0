"""Plugins are found without being imported, and loaded only as the person looked at them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.plugins.builtin import BUILT_IN
from oi_tui.plugins.code_digest import MOST_BYTES, UnknownCode, digest_of_code
from oi_tui.plugins.decisions_file import plugin_decisions
from oi_tui.plugins.finding import find_plugin, find_plugins, plugin_folder
from oi_tui.plugins.host import LoadedPlugins, new_plugins
from support.plugin_packages import enable, install, plugin_home, record

ENGINE = "from oi_tui.plugins.api import hookimpl\n\n@hookimpl\ndef after_action():\n    pass\n"
SCREEN = "from oi_tui.plugins.api import hookimpl\n\n@hookimpl\ndef register_renderers():\n    return {}\n"
BOTH = {"engine": "tale_engine", "screen": "tale_screen"}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with plugin_home(tmp_path / "home", monkeypatch) as folder:
        yield folder


def install_tale(packages: Path) -> None:
    install(packages, "oi-tui-tale", {"tale_engine": ENGINE, "tale_screen": SCREEN}, BOTH)


def write_file(name: str, source: str) -> Path:
    plugin_folder().mkdir(parents=True, exist_ok=True)
    path = plugin_folder() / name
    path.write_text(source)
    path.chmod(0o600)
    return path


def loaded(process: str) -> tuple[list[str], list[str]]:
    """Names of what is loaded that is not built in, and what is told."""
    assert process in ("engine", "screen")
    hooks = LoadedPlugins("engine" if process == "engine" else "screen").load()
    names = [name for name in hooks.plugins if name not in BUILT_IN[process]]
    return names, [trouble.title for trouble in hooks.troubles]


def test_x1_a_plugin_is_not_imported_before_it_is_enabled_and_then_in_its_own_process_only(packages: Path) -> None:
    install_tale(packages)
    assert [found.name for found in find_plugins() if found.kind != "built-in"] == ["oi-tui-tale"]
    assert (loaded("engine"), loaded("screen")) == (([], []), ([], []))
    assert not {"tale_engine", "tale_screen"} & sys.modules.keys()

    enable("oi-tui-tale")
    assert loaded("screen") == (["oi-tui-tale"], [])
    assert "tale_engine" not in sys.modules
    assert loaded("engine") == (["oi-tui-tale"], [])


def test_x1_what_is_looked_at_says_who_made_it_and_where_it_lies(packages: Path) -> None:
    install_tale(packages)
    found = find_plugin("oi-tui-tale")
    assert found is not None
    assert (found.author, found.version, found.place, found.summary) == ("Ada", "1.0", str(packages), "Tells tales.")
    assert found.loads == {"engine": ("tale_engine",), "screen": ("tale_screen",)}


def test_x1_a_package_that_changed_is_not_loaded(packages: Path) -> None:
    install_tale(packages)
    enable("oi-tui-tale")
    record(packages, "oi-tui-tale", {"tale_engine": ENGINE + "print()", "tale_screen": SCREEN})
    told = "The plugin oi-tui-tale is not loaded: it has changed since you enabled it."
    assert loaded("engine") == ([], [told])
    assert "tale_engine" not in sys.modules


@pytest.mark.parametrize("record", [None, "tale_engine.py,,\ntale_screen.py,,\n"])
def test_x1_a_package_whose_installer_wrote_down_no_hashes_is_known_by_its_files(
    packages: Path, record: str | None
) -> None:
    install_tale(packages)
    path = packages / "oi_tui_tale-1.0.dist-info" / "RECORD"
    path.unlink() if record is None else path.write_text(record)
    enable("oi-tui-tale")
    (packages / "tale_engine.py").write_text(ENGINE + "print()")
    told = "The plugin oi-tui-tale is not loaded: it has changed since you enabled it."
    assert loaded("engine") == ([], [told])
    assert "tale_engine" not in sys.modules
    (packages / "tale_engine.py").unlink()
    found = find_plugin("oi-tui-tale")
    assert found is not None
    assert found.fault.startswith("its installer wrote down no hashes, and tale_engine is not in")


def test_x1_the_files_of_a_package_are_all_that_lie_in_it(packages: Path) -> None:
    (packages / "tale" / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/part.py", "data.txt"):
        (packages / "tale" / name).write_text("1")
    before = digest_of_code(packages, ["tale.inner:plugin"])
    (packages / "tale" / "__pycache__").mkdir()
    (packages / "tale" / "__pycache__" / "part.pyc").write_text("x")
    assert digest_of_code(packages, ["tale"]) == before
    (packages / "tale" / "inner" / "part.py").write_text("2")
    changed = digest_of_code(packages, ["tale"])
    assert changed != before
    (packages / "tale" / "inner" / "more.py").touch()
    assert digest_of_code(packages, ["tale"]) != changed
    with (packages / "tale" / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(UnknownCode, match="too large"):
        digest_of_code(packages, ["tale"])


def test_x1_a_file_that_changed_is_not_loaded_and_the_hooks_say_which_process_loads_it(packages: Path) -> None:
    path = write_file("tale.py", '"""Tells."""\n' + ENGINE)
    enable("tale.py")
    assert (loaded("screen"), loaded("engine")) == (([], []), (["tale.py"], []))
    path.write_text(ENGINE + "raise SystemExit")
    told = "The plugin tale.py is not loaded: it has changed since you enabled it."
    assert loaded("engine") == ([], [told])


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("none.py", "x = 1\n", "it defines no hook"),
        ("broken.py", "def (:\n", "it is no Python: invalid syntax"),
    ],
)
def test_x1_a_file_that_is_no_plugin_says_why(packages: Path, name: str, source: str, fault: str) -> None:
    write_file(name, source)
    found = find_plugin(name)
    assert found is not None
    assert found.fault.startswith(fault)


def test_x1_a_file_that_others_can_write_is_none(packages: Path) -> None:
    write_file("tale.py", ENGINE)
    enable("tale.py")
    (plugin_folder() / "tale.py").chmod(0o666)
    names, told = loaded("engine")
    assert names == []
    assert "can be written by others" in told[0]


@pytest.mark.parametrize("points", [{"tale": "tale_engine"}, {"engines": "tale_engine"}])
def test_x1_an_entry_point_must_say_which_process_it_is_for(packages: Path, points: dict[str, str]) -> None:
    install(packages, "oi-tui-tale", {"tale_engine": ENGINE}, points)
    found = find_plugin("oi-tui-tale")
    assert found is not None
    assert "says neither engine nor screen" in found.fault


def test_x1_a_record_that_cannot_be_relied_on_enables_nothing(packages: Path) -> None:
    install_tale(packages)
    enable("oi-tui-tale")
    (packages.parent / "data" / "oi-tui" / "plugins.toml").write_text("[plugin.x]\nstate = 'maybe'\n")
    with pytest.raises(SettingsError, match="is wrong"):
        plugin_decisions().all()
    names, told = loaded("engine")
    assert names == []
    assert told[0].startswith("No plugin is loaded: The record of plugins")


def test_x1_what_is_new_is_told_once_and_not_imported(packages: Path) -> None:
    install_tale(packages)
    (told,) = new_plugins()
    assert told.title == f"The plugin oi-tui-tale is new and not loaded (Ada, {packages})."
    assert list(new_plugins()) == []
    assert not {"tale_engine", "tale_screen"} & sys.modules.keys()
    assert loaded("engine") == ([], [])


def test_x2_what_cannot_be_imported_is_named_and_the_others_are_loaded(packages: Path) -> None:
    install_tale(packages)
    install(packages, "oi-tui-broken", {"broken": "import no_such_module"}, {"engine": "broken"})
    install(packages, "oi-tui-leaves", {"leaves": "raise SystemExit(3)"}, {"engine": "leaves"})
    misfit = "from oi_tui.plugins.api import hookimpl\n\n@hookimpl\ndef after_action(blok):\n    pass\n"
    install(packages, "oi-tui-misfit", {"misfit": misfit}, {"engine": "misfit"})
    install(packages, "oi-tui-astray", {"astray": SCREEN}, {"engine": "astray"})
    for name in ("oi-tui-tale", "oi-tui-broken", "oi-tui-leaves", "oi-tui-misfit", "oi-tui-astray"):
        enable(name)
    names, told = loaded("engine")
    assert names == ["oi-tui-tale"]
    assert [line.partition(":")[0] for line in told] == [
        "The plugin oi-tui-broken cannot be loaded",
        "The plugin oi-tui-leaves cannot be loaded",
        "The plugin oi-tui-misfit does not fit",
        "The plugin oi-tui-astray does not fit",
    ]


def test_x2_what_is_gone_is_named(packages: Path) -> None:
    plugin_decisions().decide("oi-tui-gone", "enabled", "x")
    assert loaded("engine") == ([], ["The plugin oi-tui-gone cannot be loaded: it is not there any more"])
