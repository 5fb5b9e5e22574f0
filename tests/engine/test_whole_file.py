"""A file that is written is whole or not there, and never in the place of another unasked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oi_tui.app.engine.files.whole_file import write_whole


def test_a_file_is_private_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    write_whole(path, b"all of it")
    assert path.read_bytes() == b"all of it"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["out.md"]


@pytest.mark.parametrize("dangling", [False, True])
def test_what_is_there_stays_unless_it_may_be_written_over(tmp_path: Path, dangling: bool) -> None:
    path, elsewhere = tmp_path / "out.md", tmp_path / "elsewhere"
    if dangling:
        path.symlink_to(elsewhere)
    else:
        path.write_text("mine")
    with pytest.raises(FileExistsError):
        write_whole(path, b"new")
    assert path.is_symlink() == dangling
    assert not elsewhere.exists()
    assert os.listdir(tmp_path) == ["out.md"]
    write_whole(path, b"new", over=True)
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()
    assert os.listdir(tmp_path) == ["out.md"]


def test_where_there_is_no_room_nothing_is_left_of_it(tmp_path: Path) -> None:
    """A limit on the size of files is what a full disk looks like to whoever writes."""
    program = (
        "import os, resource, signal, sys\n"
        "from pathlib import Path\n"
        "from oi_tui.app.engine.files.whole_file import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))\n"
        "try: write_whole(Path(sys.argv[1]), b'x' * 20_000)\n"
        "except OSError as error: print(error.strerror)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"  # for coverage
    )
    command = [sys.executable, "-c", program, str(tmp_path / "out.md")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("File too large\n", "")
    assert os.listdir(tmp_path) == []


def test_a_name_as_long_as_names_may_be_is_no_trouble(tmp_path: Path) -> None:
    write_whole(tmp_path / ("x" * 255), b"x")
    assert [len(name) for name in os.listdir(tmp_path)] == [255]
