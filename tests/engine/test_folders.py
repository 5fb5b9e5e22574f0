"""What was decided about folders: which decision holds where, and a file that is relied on or refused."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.engine.trust.folder_digests import folder_digests


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "data" / "deep").mkdir(parents=True)
    return folder


@pytest.fixture
def folders(tmp_path: Path, home: Path) -> FolderDecisions:
    (tmp_path / "ours").mkdir()
    return FolderDecisions(tmp_path / "ours" / "folders.toml", owner=os.getuid(), home=home)


def test_a_decision_holds_for_the_folder_and_what_is_below_until_it_is_taken_back(
    folders: FolderDecisions, home: Path
) -> None:
    data = home / "data"
    assert folders.find(data) is None
    made = folders.decide(data, trusted=True, sandbox="danger-full-access")
    assert folders.find(data / "deep") == made == folders.find(data)
    assert (made.trusted, made.sandbox) == (True, "danger-full-access")
    assert folders.find(home) is None
    assert folders.forget(data)
    assert not folders.forget(data)
    assert folders.find(data / "deep") is None


def test_the_nearest_decision_counts(folders: FolderDecisions, home: Path) -> None:
    folders.decide(home / "data", trusted=True)
    folders.decide(home / "data" / "deep", trusted=False)
    assert not folders.find(home / "data" / "deep" / "er").trusted  # type: ignore[union-attr]  # None fails as well
    assert folders.find(home / "data").trusted  # type: ignore[union-attr]  # None fails as well


@pytest.mark.parametrize("name", ["permissions.toml", "config.toml"])
def test_U9_a_folder_below_with_rules_of_its_own_is_asked_about_itself(
    folders: FolderDecisions, home: Path, name: str
) -> None:
    folders.decide(home / "data", trusted=True)
    deep = home / "data" / "deep"
    (deep / ".oi").mkdir()
    assert folders.find(deep) is not None
    (deep / ".oi" / name).write_text("")
    assert folders.find(deep) is None
    assert folders.find(home / "data") is not None
    made = folders.decide(deep, trusted=True)
    assert folders.find(deep) == made


def test_a_folder_in_one_that_is_only_looked_at_is_only_looked_at_whatever_it_brings(
    folders: FolderDecisions, home: Path
) -> None:
    made = folders.decide(home / "data", trusted=False)
    (home / "data" / "deep" / ".oi").mkdir()
    (home / "data" / "deep" / ".oi" / "permissions.toml").write_text("")
    assert folders.find(home / "data" / "deep") == made


def bring(folder: Path, name: str, text: str) -> None:
    (folder / ".oi").mkdir(exist_ok=True)
    (folder / ".oi" / name).write_text(text)


def test_U9_trust_is_of_what_was_there_when_it_was_given(folders: FolderDecisions, home: Path) -> None:
    data = home / "data"
    bring(data, "permissions.toml", "allow = []")
    folders.decide(data, trusted=True, seen=folder_digests(data))
    known = folders.find(data)
    assert known is not None
    assert known.changed_files(data) == ()
    bring(data, "permissions.toml", "allow = ['Shell(cat *)']")
    assert known.changed_files(data) == ("rules",)
    bring(data, "config.toml", "")
    assert known.changed_files(data) == ("rules", "settings")
    bring(data, "permissions.toml", "allow = []")
    (data / ".oi" / "config.toml").unlink()
    assert known.changed_files(data) == ()
    (data / ".oi" / "permissions.toml").unlink()
    assert known.changed_files(data) == ("rules",)
    (data / ".oi" / "permissions.toml").symlink_to("/dev/zero")
    assert known.changed_files(data) == ("rules",)


def test_U9_what_came_while_somebody_looked_is_not_what_was_looked_at(folders: FolderDecisions, home: Path) -> None:
    data = home / "data"
    bring(data, "permissions.toml", "allow = []")
    seen = folder_digests(data)
    bring(data, "permissions.toml", "allow = ['Shell(cat *)']")
    assert folders.decide(data, trusted=True, seen=seen).changed_files(data) == ("rules",)


def test_a_folder_that_is_only_looked_at_or_below_a_trusted_one_has_nothing_that_could_change(
    folders: FolderDecisions, home: Path
) -> None:
    data = home / "data"
    bring(data, "permissions.toml", "allow = []")
    folders.decide(data, trusted=True, seen=folder_digests(data))
    below = folders.find(data / "deep")
    assert below is not None
    assert below.changed_files(data / "deep") == ()
    looked = folders.decide(data, trusted=False, seen=folder_digests(data))
    bring(data, "permissions.toml", "allow = ['Shell(cat *)']")
    assert looked.changed_files(data) == ()


def test_U9_a_decision_of_before_this_was_noted_holds_where_nothing_is_brought(
    folders: FolderDecisions, home: Path, tmp_path: Path
) -> None:
    data = home / "data"
    (tmp_path / "ours" / "folders.toml").write_text(f"[folder.'{data}']\ntrusted = true\ndecided = '2026-11-01'\n")
    known = folders.find(data)
    assert known is not None
    assert known.changed_files(data) == ()
    bring(data, "permissions.toml", "allow = []")
    assert known.changed_files(data) == ("rules",)


def test_a_link_to_a_folder_is_that_folder(folders: FolderDecisions, home: Path) -> None:
    folders.decide(home / "data", trusted=True)
    (home / "other").symlink_to(home / "data")
    assert folders.find(home / "other") is not None
    (home / "data" / "out").symlink_to(home.parent)
    assert folders.find(home / "data" / "out") is None


def test_S3_trusting_the_home_folder_is_not_trusting_what_is_in_it(folders: FolderDecisions, home: Path) -> None:
    folders.decide(home, trusted=True)
    assert folders.find(home) is not None
    assert folders.find(home / "data") is None


@pytest.mark.parametrize("folder", ["/", "home's parent"])
def test_what_holds_all_of_ones_folders_is_decided_each_time_anew(
    folders: FolderDecisions, home: Path, folder: str
) -> None:
    place = Path("/") if folder == "/" else home.parent
    assert not folders.can_remember(place)
    assert folders.decide(place, trusted=True).trusted
    assert folders.all() == {}


def test_a_decision_about_everything_that_was_written_by_hand_does_not_count(
    folders: FolderDecisions, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "ours" / "folders.toml").write_text('[folder."/"]\ntrusted = true\n')
    assert folders.find(Path("/")) is None
    assert folders.find(home / "data") is None


def test_the_file_is_private_and_replaced_as_a_whole(folders: FolderDecisions, home: Path, tmp_path: Path) -> None:
    names = [home / "data" / str(number) for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: folders.decide(name, trusted=True), names))
    assert set(folders.all()) == set(map(str, names))
    path = tmp_path / "ours" / "folders.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert {entry.name for entry in path.parent.iterdir()} == {"folders.toml", "folders.toml.lock"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[folder", "is wrong"),
        ("[folder.'/x']\ntrusted = 'yes'\n", "Expected `bool`"),
        ("[folder.'/x']\n", "missing required field `trusted`"),
        ("[folder.'/x']\ntrusted = true\nsandbox = 'off'\n", "Invalid enum value 'off'"),
        ("[folder.'/x']\ntrusted = true\nsndbox = 'x'\n", "unknown field `sndbox`"),
    ],
)
def test_U11_a_record_that_is_wrong_stops_everything_and_stays(
    folders: FolderDecisions, home: Path, tmp_path: Path, text: str, what: str
) -> None:
    path = tmp_path / "ours" / "folders.toml"
    path.write_text(text)
    acts: tuple[Callable[[], object], ...] = (
        lambda: folders.find(home),
        lambda: folders.decide(home / "data", trusted=True),
    )
    for act in acts:
        with pytest.raises(SettingsError, match=what) as raised:
            act()
        assert "decide again" in raised.value.hint
    assert path.read_text() == text


def test_U11_a_record_that_somebody_else_could_have_written_is_refused(
    folders: FolderDecisions, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "ours" / "folders.toml"
    folders.decide(home / "data", trusted=True)
    path.chmod(0o620)
    with pytest.raises(SettingsError, match="can be written by others"):
        folders.find(home / "data")
    path.chmod(0o600)
    real = path.rename(path.with_name("real.toml"))
    path.symlink_to(real)
    with pytest.raises(SettingsError, match="is a link"):
        folders.find(home / "data")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="is no plain file"):
        folders.find(home / "data")


def test_a_group_with_nobody_else_in_it_is_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    path.chmod(0o664)
    own = read_owned_file(path, "file", "", owner=os.getuid(), private_group=True) if _has_own_group() else "text"
    assert own == "text"
    with pytest.raises(SettingsError, match="can be written by others"):
        read_owned_file(path, "file", "", owner=os.getuid())
    path.chmod(0o666)
    with pytest.raises(SettingsError, match="can be written by others"):
        read_owned_file(path, "file", "", owner=os.getuid(), private_group=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another group")
def test_a_group_that_is_not_ones_own_is_others(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    os.chown(path, -1, 12345)
    path.chmod(0o664)
    with pytest.raises(SettingsError, match="can be written by others"):
        read_owned_file(path, "file", "", owner=os.getuid(), private_group=True)


def _has_own_group() -> bool:
    import grp
    import pwd

    person = pwd.getpwuid(os.getuid())
    group = grp.getgrgid(os.getgid())
    return person.pw_gid == os.getgid() and group.gr_name == person.pw_name and set(group.gr_mem) <= {person.pw_name}
