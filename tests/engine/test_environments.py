"""Row R13: which Python environments there are, found by reading files, and which one code runs in."""

import base64
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.environments.discovery import (
    choose_environment,
    find_environments,
    how_to_mend,
    install_command,
    named_environment,
    usable_environment,
)
from oi_tui.app.engine.environments.environment import (
    PythonEnvironment,
    active_environ,
    environment_at,
    environment_of,
    own_environment,
)
from oi_tui.app.engine.environments.lending import LEND, can_lend, lent_modules
from oi_tui.app.engine.trust.folder_check import read_folder

OURS = "{}.{}".format(*sys.version_info)


def make_environment(prefix: Path, version: str = OURS, *, config: str = "", packages: tuple[str, ...] = ()) -> Path:
    """A folder that looks like an environment. Its python says on a file beside it that it was run."""
    minor = ".".join(version.split(".")[:2])
    site = prefix / "lib" / f"python{minor}" / "site-packages"
    site.mkdir(parents=True)
    for package in packages:
        (site / f"{package}.dist-info").mkdir()
    (prefix / "bin").mkdir()
    python = prefix / "bin" / "python"
    python.write_text(f"#!/bin/sh\necho run >>{prefix}/was-run\n")
    python.chmod(0o755)
    if config:
        (prefix / "pyvenv.cfg").write_text(config)
    return prefix


def found_at(prefix: Path) -> PythonEnvironment:
    found = environment_at(prefix)
    assert found is not None
    return found


def conda(prefix: Path, version: str) -> Path:
    make_environment(prefix, version)
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / f"python-{version}-h5148396_0_cpython.json").write_text("{}")
    (prefix / "conda-meta" / "python-dateutil-2.9.0-py_0.json").write_text("{}")
    return prefix


@pytest.mark.parametrize(
    ("config", "version", "kind"),
    [
        ("home = /usr/bin\nversion = 3.12.4\n", "3.12.4", "venv"),
        ("home = /usr/bin\nimplementation = CPython\nuv = 0.9.1\nversion_info = 3.12.4\n", "3.12.4", "venv"),
        ("home = /usr/bin\nversion_info = 3.12.4.final.0\n", "3.12.4", "venv"),
        ("home = /usr/bin\n", "3.12", "venv"),
        ("", "3.12", "python"),
    ],
)
def test_R13_an_environment_is_known_by_its_files(tmp_path: Path, config: str, version: str, kind: str) -> None:
    prefix = make_environment(tmp_path / "env", "3.12.4", config=config, packages=("ipykernel-7.0.0", "My_Pkg-1.0"))
    found = environment_at(prefix)
    assert found is not None
    assert (found.version, found.kind, found.minor) == (version, kind, (3, 12))
    assert found.packages == {"ipykernel": "7.0.0", "my-pkg": "1.0"}
    assert found.has_ipykernel
    assert not (prefix / "was-run").exists()


def test_R13_conda_says_its_version_in_the_name_of_a_record(tmp_path: Path) -> None:
    found = environment_at(conda(tmp_path / "env", "3.10.14"))
    assert found is not None
    assert (found.version, found.kind) == ("3.10.14", "conda")


def test_R13_a_python_without_the_global_lock_is_of_another_kind(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    (prefix / "lib" / f"python{OURS}").rename(prefix / "lib" / f"python{OURS}t")
    found = environment_at(prefix)
    assert found is not None
    assert found.threaded
    assert not can_lend(found)


def test_R13_the_packages_of_the_base_count_where_they_are_shared(tmp_path: Path) -> None:
    base = make_environment(tmp_path / "base", packages=("ipykernel-6.1",))
    shared = f"home = {base}/bin\ninclude-system-site-packages = true\n"
    assert found_at(make_environment(tmp_path / "one", config=shared)).has_ipykernel
    alone = shared.replace("true", "false")
    assert not found_at(make_environment(tmp_path / "two", config=alone)).has_ipykernel


@pytest.mark.parametrize("what", ["nothing", "a folder", "not executable", "config is a pipe", "config is huge"])
def test_R13_what_is_no_environment_is_passed_over_at_once(tmp_path: Path, what: str) -> None:
    prefix = tmp_path / "env"
    match what:
        case "nothing":
            prefix.mkdir()
        case "a folder":
            (prefix / "bin" / "python").mkdir(parents=True)
        case "not executable":
            make_environment(prefix).joinpath("bin/python").chmod(0o644)
        case "config is a pipe":
            os.mkfifo(make_environment(prefix) / "pyvenv.cfg")
        case _:
            (make_environment(prefix) / "pyvenv.cfg").write_bytes(b"#" * 1_000_000)
    found = environment_at(prefix)
    assert found is None or found.kind == "python"


def test_R13_the_order_of_the_choice(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    config = f"version = {OURS}.1\n"
    for name in ("project/.venv", "active", "asked"):
        make_environment(tmp_path / name, config=config)
    conda(tmp_path / "conda", f"{OURS}.2")
    both = {"VIRTUAL_ENV": str(tmp_path / "active"), "CONDA_PREFIX": str(tmp_path / "conda")}

    def chosen(environ: dict[str, str], *, asked: str = "", trusted: bool = True) -> Path:
        return choose_environment(folder, environ, asked=asked, trusted=trusted).environment.prefix

    assert chosen(both, asked=str(tmp_path / "asked")) == tmp_path / "asked"
    assert chosen(both) == tmp_path / "active"
    assert chosen({"CONDA_PREFIX": both["CONDA_PREFIX"]}) == tmp_path / "conda"
    assert chosen({}) == folder / ".venv"
    assert chosen({}, trusted=False) == own_environment().prefix
    assert chosen({"VIRTUAL_ENV": "/no/such"}, trusted=False) == own_environment().prefix
    assert not any(tmp_path.rglob("was-run"))


@pytest.mark.parametrize("tool", ["uv", "pixi", "poetry", "named"])
def test_R13_the_environment_of_a_folder_whatever_made_it(tmp_path: Path, tool: str) -> None:
    folder, environ = tmp_path / "project", {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    folder.mkdir()
    match tool:
        case "uv":
            prefix = make_environment(folder / ".venv")
        case "named":
            prefix = make_environment(folder / "venv-3")
            environ["UV_PROJECT_ENVIRONMENT"] = "venv-3"
        case "pixi":
            prefix = conda(folder / ".pixi" / "envs" / "default", f"{OURS}.1")
        case _:
            (folder / "pyproject.toml").write_text('[tool.poetry]\nname = "my project"\n')
            # As poetry 2 names them; the digest is of the folder.
            digest = base64.urlsafe_b64encode(hashlib.sha256(str(folder).encode()).digest()).decode()[:8]
            kept = tmp_path / "cache" / "pypoetry" / "virtualenvs"
            prefix = make_environment(kept / f"my_project-{digest}-py{OURS}")
    assert choose_environment(folder, environ, trusted=True).environment.prefix == prefix
    assert choose_environment(folder, environ, trusted=False).environment.is_ours


@pytest.mark.parametrize("text", ["[" * 100_000, "\0", "tool = 1\n", '[tool.poetry]\nname = "../../x"\n'])
def test_R13_a_strange_project_file_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert choose_environment(tmp_path, {"HOME": str(tmp_path)}, trusted=True).environment.is_ours


def test_R13_another_version_without_ipykernel_is_passed_over_with_a_remark(tmp_path: Path) -> None:
    make_environment(tmp_path / ".venv", "3.9.1", config="version = 3.9.1\n", packages=("pip-24.0",))
    chosen = choose_environment(tmp_path, {}, trusted=True)
    assert chosen.environment.is_ours
    assert "(Python 3.9.1) has no ipykernel" in chosen.remark
    assert f"{tmp_path}/.venv/bin/python -I -m pip install ipykernel" in chosen.remark
    with pytest.raises(SettingsError, match="has no ipykernel"):
        choose_environment(tmp_path, {}, asked=".venv", trusted=True)


@pytest.mark.parametrize("version", ["2.7.18", "3.6.15", "3.7.16"])
def test_R13_a_python_for_which_there_is_no_ipykernel_is_too_old_and_nothing_is_offered(
    tmp_path: Path, version: str
) -> None:
    make_environment(tmp_path / ".venv", version, config=f"version = {version}\n", packages=("pip-24.0",))
    chosen = choose_environment(tmp_path, {}, trusted=True)
    assert chosen.environment.is_ours
    assert f"(Python {version}) is too old for a kernel." in chosen.remark
    assert "install" not in chosen.remark
    assert install_command(found_at(tmp_path / ".venv"), {}) == ""


def test_R13_of_an_installation_that_is_no_environment_one_is_to_be_made(tmp_path: Path) -> None:
    found = found_at(make_environment(tmp_path / "3.9.18", "3.9", packages=("pip-24.0",)))
    assert (found.kind, install_command(found, {})) == ("python", "")
    assert f"{found.python} -m venv .venv, then /kernel .venv" in how_to_mend(found, {})


def test_R13_an_environment_is_named_by_path_folder_or_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    environ = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin"}
    conda(tmp_path / "miniconda3" / "envs" / "geo", f"{OURS}.1")
    make_environment(tmp_path / "env", config="version = 3.13.0\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    named = {
        asked: named_environment(asked, tmp_path, environ) for asked in ("geo", "./env", "env/bin/python", "~/env")
    }
    assert named["geo"].kind == "conda"
    assert {named[asked].prefix for asked in ("./env", "env/bin/python", "~/env")} >= {tmp_path / "env"}
    assert named_environment("oi-tui", tmp_path, environ).is_ours
    assert named_environment("python3", tmp_path, environ).minor == sys.version_info[:2]
    with pytest.raises(SettingsError) as told:
        named_environment("nosuch", tmp_path, environ)
    assert "geo" in told.value.hint
    with pytest.raises(SettingsError):
        usable_environment("./nosuch", tmp_path, environ)


def test_R13_what_is_found_is_listed_once_and_the_folders_only_if_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    environ = {"HOME": str(tmp_path), "VIRTUAL_ENV": str(folder / "active")}
    for name in ("active", "other"):
        make_environment(folder / name)
    (folder / "again").symlink_to(folder / "other")
    conda(tmp_path / "miniforge3" / "envs" / "geo", f"{OURS}.1")
    listed = tmp_path / ".conda" / "environments.txt"
    listed.parent.mkdir()
    listed.write_text(f"{tmp_path}/miniforge3/envs/geo\n{tmp_path}/gone\n")

    def names(*, trusted: bool) -> list[str]:
        return [found.prefix.name for found in find_environments(folder, environ, trusted=trusted)]

    here = names(trusted=True)
    assert here.count("geo") == here.count("active") == 1
    assert sum(name in ("other", "again") for name in here) == 1
    assert "other" not in names(trusted=False)


def test_R13_the_variables_of_an_environment(tmp_path: Path) -> None:
    venv_, other = make_environment(tmp_path / "v", config="version = 3.12\n"), conda(tmp_path / "c", "3.12.1")
    before = {"PATH": "/usr/bin", "PYTHONHOME": "/x", "VIRTUAL_ENV": "/old", "LANG": "C"}
    active = active_environ(before, found_at(venv_))
    assert active == {"PATH": f"{venv_}/bin:/usr/bin", "VIRTUAL_ENV": str(venv_), "LANG": "C"}
    active = active_environ(before, found_at(other))
    assert active["CONDA_PREFIX"] == str(other)
    assert active["CONDA_DEFAULT_ENV"] == "c"
    assert "VIRTUAL_ENV" not in active


def test_R13_only_what_ipykernel_needs_is_lent(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    bare = environment_of(tmp_path / "bare" / "bin" / "python")
    assert bare is not None
    assert can_lend(bare)
    ask = LEND + "\nfor name in ('ipykernel', 'zmq', 'msgspec', 'textual', 'oi_tui'):\n"
    ask += "    try: __import__(name); print('found', name)\n    except ImportError: print('no', name)"
    done = subprocess.run(
        [bare.python, "-c", ask, *lent_modules()], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.split("\n")[:5] == ["found ipykernel", "found zmq", "no msgspec", "no textual", "no oi_tui"]


def test_R13_the_environment_of_a_folder_that_is_not_trusted_is_named_and_not_used_unasked(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / ".venv", "3.12.4", config="version = 3.12.4\n", packages=("ipykernel-7.0",))
    chosen = choose_environment(tmp_path, {})
    assert chosen.environment.is_ours
    assert chosen.remark == (
        "This folder has an environment, .venv (Python 3.12.4). It is used once the folder is trusted: /sandbox."
    )
    with pytest.raises(SettingsError):
        usable_environment("venv", tmp_path, {})
    assert usable_environment(".venv", tmp_path, {}).prefix == prefix  # the person asked for it
    assert read_folder(tmp_path).environment == ".venv (Python 3.12.4)"
    assert not any(tmp_path.rglob("was-run"))
    active = {"VIRTUAL_ENV": str(prefix)}
    assert choose_environment(tmp_path, active).environment.prefix == prefix  # as they activated it


def test_R13_a_folder_without_an_environment_has_nothing_to_be_said(tmp_path: Path) -> None:
    assert choose_environment(tmp_path, {}).remark == ""
    assert read_folder(tmp_path).environment == ""
