"""`make run`: what it hands on to the program, what it installs and says where something is missing of the machine,
and that an environment which was interrupted is made anew. A real make; programs of the system are stand-ins."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = '#!/bin/sh\necho "$OI_TUI_SANDBOX|$OI_TUI_ACCEPT_DOWNLOAD|$@"\nexit "$CODE"\n'
TASK = ("run", "TASK=do it")


def put(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A finished environment whose program tells how it was started, and ends with the code that the test asks for."""
    put(tmp_path / "venv" / "bin" / "oi-tui", PROGRAM)
    put(tmp_path / "venv" / "bin" / "python")
    (tmp_path / "venv" / ".run").touch()
    return tmp_path / "venv"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder that is the whole search path: a machine with make and a shell, of an ordinary user."""
    folder = tmp_path / "programs"
    for name in ("make", "sh", "uname", "touch", "rm", "mkdir"):
        folder.mkdir(exist_ok=True)
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    put(folder / "id", "#!/bin/sh\necho 1000\n")
    put(folder / "bwrap")
    return folder


def make(
    venv: Path, *arguments: str, path: Path | str = "/usr/bin:/bin", terminal: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """make with these goals and variables; with a `terminal` as standard input and error, in which that is typed."""
    command = [shutil.which("make") or "make", *arguments, f"VENV={venv}"]
    environ = {"PATH": str(path), "CODE": "0", **environment}
    if terminal is None:
        return subprocess.run(
            command, env=environ, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30
        )
    ours, theirs = pty.openpty()
    try:
        os.write(ours, terminal.encode())
        ended = subprocess.run(
            command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stdin=theirs, stderr=theirs, text=True, timeout=30
        )
        os.close(theirs)
        told = b""
        try:
            while chunk := os.read(ours, 65536):
                told += chunk
        except OSError:  # how a terminal says that nobody has it open any more
            pass
    finally:
        os.close(ours)
    return subprocess.CompletedProcess(command, ended.returncode, ended.stdout, told.decode())


def test_what_the_sandbox_is_can_be_said_to_make(venv: Path) -> None:
    run = "|run --yes --accept-download do it\n"
    assert make(venv, *TASK).stdout == f"|{run}"
    assert make(venv, *TASK, SANDBOX="danger-full-access").stdout == f"danger-full-access|{run}"
    assert make(venv, *TASK, "SANDBOX=read-only", OI_TUI_SANDBOX="x").stdout == f"read-only|{run}"
    assert make(venv, *TASK, OI_TUI_SANDBOX="read-only").stdout == f"read-only|{run}"


def test_a_download_can_be_allowed_to_make(venv: Path) -> None:
    assert make(venv, *TASK, "ACCEPT_DOWNLOAD=1").stdout.startswith("|1|run")
    assert "ACCEPT_DOWNLOAD=1 make run" in make(venv, *TASK, CODE="6").stderr


def test_S20_where_there_is_no_sandbox_make_says_what_to_do(venv: Path) -> None:
    refused = make(venv, *TASK, CODE="4")
    assert refused.returncode == 2
    assert "SANDBOX=danger-full-access make run" in refused.stderr
    assert "SANDBOX" not in make(venv, "run", CODE="3").stderr


def test_without_a_screen_and_a_task_make_says_how_to_give_one(venv: Path, programs: Path) -> None:
    refused = make(venv, "run", path=programs, terminal="", TERM="dumb")
    assert refused.returncode == 2
    assert 'make run TASK="..."' in refused.stderr


# -- what is missing of the machine


MANAGERS = {
    "apt-get": "install -y --no-install-recommends",
    "dnf": "install -y",
    "pacman": "-S --noconfirm",
    "apk": "add",
}


PACKAGES = {
    "apt-get": "libcairo2",
    "dnf": "cairo",
    "pacman": "cairo",
    "apk": "cairo",
}


def forget_packages(
    programs: Path, manager: str, *, root: bool = False, sudo: bool = False, works: bool = True
) -> None:
    """Nothing is there, but a package manager that writes down how it was called, and installs if it `works`."""
    (programs / "bwrap").unlink()
    put(programs / "python3", "#!/bin/sh\nexit 1\n")
    done = "true" if works else "echo no such mirror; exit 1"
    put(programs / manager, f'#!/bin/sh\necho "$@" >> {programs}/called\ncase "$*" in *cairo*) {done} ;; esac\n')
    if root:
        put(programs / "id", "#!/bin/sh\necho 0\n")
    if sudo:
        put(programs / "sudo", f'#!/bin/sh\necho sudo >> {programs}/called\nexec "$@"\n')


def called(programs: Path) -> list[str]:
    file = programs / "called"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("terminal", [None, ""])
def test_S27_the_program_needs_nothing_of_the_machine_and_make_run_asks_nothing(
    venv: Path, programs: Path, root: bool, terminal: str | None
) -> None:
    forget_packages(programs, "apt-get", root=root, sudo=True)
    ran = make(venv, *TASK, path=programs, terminal=terminal)
    assert ran.stdout.endswith("do it\n")
    assert (ran.stderr, called(programs)) == ("", [])


@pytest.mark.parametrize("manager", MANAGERS)
def test_root_without_a_terminal_gets_what_the_tests_need_unasked(venv: Path, programs: Path, manager: str) -> None:
    forget_packages(programs, manager, root=True)
    told = make(venv, "test", path=programs).stderr
    assert called(programs)[-1] == f"{MANAGERS[manager]} {PACKAGES[manager]} bubblewrap"
    assert "Not installed: cairo" in told
    assert "sudo" not in told


@pytest.mark.parametrize("sudo", [True, False])
def test_who_is_not_root_and_has_no_terminal_is_told_what_the_tests_need(
    venv: Path, programs: Path, sudo: bool
) -> None:
    forget_packages(programs, "apt-get", sudo=sudo)
    told = make(venv, "test", path=programs).stderr
    assert called(programs) == []
    (line,) = [line for line in told.splitlines() if "Not installed" in line]
    assert line.endswith("apt-get install -y --no-install-recommends libcairo2")
    assert ("sudo" in line, "As root" in line) == (sudo, not sudo)


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize(("typed", "installs"), [("y\n", True), ("\n", False), ("n\n", False), ("\x04", False)])
def test_with_a_terminal_what_the_tests_need_is_installed_after_a_yes(
    venv: Path, programs: Path, root: bool, typed: str, installs: bool
) -> None:
    forget_packages(programs, "apt-get", root=root, sudo=not root)
    told = make(venv, "test", path=programs, terminal=typed).stderr
    assert "[y/N]" in told
    assert "bubblewrap" not in told
    assert any("install" in line for line in called(programs)) == installs
    assert ("sudo" in called(programs)) == (installs and not root)


def test_an_installation_that_fails_is_told_and_the_tests_begin_all_the_same(venv: Path, programs: Path) -> None:
    forget_packages(programs, "apt-get", root=True, works=False)
    told = make(venv, "test", path=programs).stderr
    assert "no such mirror" in told
    assert "Continuing without" in told


def test_an_unknown_system_is_told_what_is_missing(venv: Path, programs: Path) -> None:
    put(programs / "python3", "#!/bin/sh\nexit 1\n")
    assert "cairo" in make(venv, "test", path=programs).stderr


def test_the_machine_is_looked_at_before_the_environment_is_made(tmp_path: Path, programs: Path) -> None:
    forget_packages(programs, "apt-get")
    put(programs / "python3", '#!/bin/sh\ncase "$*" in *ctypes*) exit 1 ;; esac\necho python began >&2\nexit 1\n')
    told = make(tmp_path / "venv", "test", path=programs).stderr
    assert told.index("Not installed: cairo") < told.index("python began")


def test_S27_what_bubblewrap_would_add_is_said_once(tmp_path: Path, programs: Path) -> None:
    venv = tmp_path / "venv"
    put_python(programs)
    (programs / "bwrap").unlink()
    assert "apt install bubblewrap" in make(venv, *TASK, path=programs).stderr
    assert make(venv, *TASK, path=programs).stderr == ""


def test_S27_where_there_is_no_sandbox_make_shows_itself_with_less_in_a_folder_of_its_own(venv: Path) -> None:
    put(
        venv / "bin" / "oi-tui",
        '#!/bin/sh\necho "$PWD|$OI_TUI_SANDBOX_RUNG|$@"\n[ -n "$OI_TUI_SANDBOX_RUNG" ] || exit 4\n',
    )
    ran = make(venv, "run")
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[-1].startswith(f"{ROOT}/.scratch|lock|run --yes")
    assert "Trying again without a full sandbox" in ran.stderr
    refused = make(venv, *TASK)
    assert refused.returncode == 2, "what somebody wants done is not done with less than was promised"
    assert refused.stdout.count("\n") == 1


# -- the library of the built-in model


def fetch_openmp(tmp_path: Path, *, lists: bool, works: bool = True) -> tuple[subprocess.CompletedProcess[str], Path]:
    """`.ci/openmp.sh` for a Python that finds the library only beside itself, with an apt that has lists of packages,
    or gets some of its own, or cannot; what it said, and where the library would be."""
    programs, venv = tmp_path / "programs", tmp_path / "an environment"
    library = venv / "lib" / "libgomp.so.1"
    put(venv / "bin" / "python", '#!/bin/sh\n[ -e "$3" ]\n')
    library.parent.mkdir()
    apt = f"""#!/bin/sh
echo "$@" >> {programs}/called
case "$*" in
*update*) {"true" if works else "exit 100"} ;;
"download libgomp1") {"touch libgomp1_1.deb" if lists else "exit 100"} ;;
*"download libgomp1") touch libgomp1_1.deb ;;
esac
"""
    put(programs / "apt-get", apt)
    put(programs / "dpkg-deb", '#!/bin/sh\nmkdir -p "$3/usr/lib/a" && touch "$3/usr/lib/a/libgomp.so.1"\n')
    environ = {"PATH": f"{programs}:/usr/bin:/bin"}
    script = ["sh", str(ROOT / ".ci" / "openmp.sh"), str(venv)]
    return subprocess.run(script, env=environ, capture_output=True, text=True, timeout=30, check=False), library


@pytest.mark.parametrize("lists", [True, False])
def test_a_library_that_the_system_lacks_is_put_into_the_environment(tmp_path: Path, lists: bool) -> None:
    done, library = fetch_openmp(tmp_path, lists=lists)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert library.exists()
    assert {path.name for path in library.parents[1].iterdir()} == {"bin", "lib"}
    again, _ = fetch_openmp(tmp_path / "another", lists=lists, works=False)
    assert ("apt install libgomp1" in again.stderr) is not lists


# -- the environment


def put_python(programs: Path, *, ensurepip: bool = True, breaks_off: bool = False) -> None:
    """A Python whose `-m venv` makes a stand-in of an environment."""
    made = f"#!/bin/sh\necho pip >> {programs}/called\n"
    body = 'mkdir -p "$folder/bin"\n'
    if breaks_off:
        body += 'printf \'#!/bin/sh\\nexit 1\\n\' > "$folder/bin/python"; chmod +x "$folder/bin/python"; exit 1\n'
    else:
        body += f'cp {programs}/made "$folder/bin/python"; cp {programs}/program "$folder/bin/oi-tui"\n'
    put(programs / "made", made)
    put(programs / "program", PROGRAM)
    for name in ("cp", "chmod"):
        if not (programs / name).exists():
            (programs / name).symlink_to(f"/bin/{name}")
    put(
        programs / "python3",
        f'#!/bin/sh\ncase "$*" in\n*ensurepip*) exit {0 if ensurepip else 1} ;;\n'
        f'"-m venv --clear "*) folder=$4; rm -rf "$folder"; echo venv >> {programs}/called\n{body};;\nesac\n',
    )


def test_a_set_up_that_was_broken_off_is_begun_again(tmp_path: Path, programs: Path) -> None:
    venv = tmp_path / "venv"
    put_python(programs, breaks_off=True)
    broken = make(venv, *TASK, path=programs)
    assert broken.returncode == 2
    assert (venv / "bin" / "python").exists()
    assert not (venv / ".run").exists()
    put_python(programs)
    ran = make(venv, *TASK, path=programs)
    assert ran.stdout.endswith("do it\n")
    assert called(programs)[:2] == ["venv", "venv"]
    before = called(programs)
    assert make(venv, *TASK, path=programs).stdout.endswith("do it\n")
    assert called(programs) == [*before, "pip"]  # one look whether it is there, and nothing is installed again


def test_an_installation_that_failed_is_not_taken_for_done(tmp_path: Path, programs: Path) -> None:
    venv = tmp_path / "venv"
    put_python(programs)
    put(programs / "made", '#!/bin/sh\ncase "$*" in *install*) exit 1 ;; esac\n')
    assert make(venv, *TASK, path=programs).returncode == 2
    assert not (venv / ".run").exists()
    put(venv / "bin" / "python")
    assert make(venv, *TASK, path=programs).stdout.endswith("do it\n")
    assert (venv / ".run").exists()
    assert called(programs).count("venv") == 1, "what was sound is kept"


def test_an_environment_whose_python_is_gone_is_made_anew(venv: Path, programs: Path) -> None:
    put_python(programs)
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to("/nowhere/python3.9")
    assert make(venv, *TASK, path=programs).stdout.endswith("do it\n")
    assert "venv" in called(programs)


def test_a_missing_package_python3_venv_is_named_in_one_line_and_leaves_nothing_half_made(
    tmp_path: Path, programs: Path
) -> None:
    put_python(programs, ensurepip=False)
    refused = make(tmp_path / "venv", *TASK, path=programs)
    assert refused.returncode == 2
    assert len([line for line in refused.stderr.splitlines() if "python3-venv" in line]) == 1
    assert not (tmp_path / "venv").exists()


def test_where_nothing_can_be_written_make_says_so_and_what_to_do(programs: Path) -> None:
    put_python(programs)
    refused = make(Path("/proc/an-environment"), *TASK, path=programs)
    assert refused.returncode == 2
    assert "you may not write there. Copy the checkout" in refused.stderr


@pytest.mark.parametrize("fails", ["", "ruff", "lint-imports", "mypy", "pytest"])
def test_the_check_fails_with_whatever_fails_twice_and_says_what_it_tried_again(tmp_path: Path, fails: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ruff", "lint-imports", "mypy", "pytest"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >>{tmp_path}/ran; exit {int(name == fails)}\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["make", "check", f"VENV={tmp_path}"],
        env={"PATH": "/usr/bin:/bin"}, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) == bool(fails)
    tries = {"ruff": 0, "lint-imports": 0, "pytest": 2}.get(fails, 1)
    assert (tmp_path / "ran").read_text().split().count("pytest") == tries
    assert ("FAILED AT THE FIRST TRY" in done.stderr) == (fails == "pytest")


def test_a_test_that_passes_only_alone_is_named_as_flaky(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ruff", "lint-imports", "mypy"):
        put(programs / name, "#!/bin/sh\n")
    put(programs / "pytest", '#!/bin/sh\ncase "$*" in *--last-failed*) exit 0;; *) exit 1;; esac\n')
    done = subprocess.run(
        ["make", "check", f"VENV={tmp_path}"],
        env={"PATH": "/usr/bin:/bin"}, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "FLAKY" in done.stderr
