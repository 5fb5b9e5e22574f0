"""Row R13: what code would install, where that goes, and that it will fail where it must."""

import pytest

from oi_tui.app.engine.core.values import Confinement, Language, PackageHome
from oi_tui.app.engine.policy.decide import Policy, PolicyRequest, decide
from oi_tui.app.engine.policy.installs import failed_install, find_installs
from oi_tui.app.engine.policy.python import read_python
from oi_tui.app.engine.policy.shell import read_shell

VENV = PackageHome(place="Python 3.12.4 in .venv", prefix="/w/.venv", python="/w/.venv/bin/python", writable=False)
ENCLOSED = Confinement(sandboxed=True, offline=True, packages=VENV)
OPEN = Confinement(packages=VENV.__class__(place=VENV.place, prefix=VENV.prefix, python=VENV.python))


def labels(source: str, confinement: Confinement, language: Language = "python") -> tuple[str, ...]:
    return decide(PolicyRequest(language, source, confinement=confinement), Policy(), "ask").labels


@pytest.mark.parametrize(
    "source",
    [
        "%pip install pandas",
        "pip install pandas",
        "!pip install -q pandas",
        "!pip3.12 install pandas",
        "!{sys.executable} -m pip install pandas",
        "%%bash\npip install pandas",
        "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'pandas'])",
        "import os\nos.system('pip install pandas')",
        "%uv pip install pandas",
        "!uv pip install pandas",
        "%conda install -y pandas",
        "get_ipython().run_line_magic('pip', 'install pandas')",
    ],
)
def test_R13_the_question_names_the_environment_that_an_installation_changes(source: str) -> None:
    assert labels(source, OPEN)[0] == "installs into Python 3.12.4 in .venv"
    first, second, third, *_ = labels(source, ENCLOSED)
    assert first == "installs into Python 3.12.4 in .venv"
    assert second == "will fail: the sandbox has no network, the environment is read-only in it"
    assert third == "in a terminal of your own: /w/.venv/bin/python -m pip install …"
    assert not any(label.startswith("installs packages") for label in labels(source, ENCLOSED))


@pytest.mark.parametrize(
    "source", ["pip install x", "sudo pip install x", "python -m pip install x", "A=1 pip install x"]
)
def test_R13_the_same_of_shell(source: str) -> None:
    assert labels(source, ENCLOSED, "shell")[:2] == labels("%pip install x", ENCLOSED)[:2]


@pytest.mark.parametrize(
    "source", ["print('pip install x')", "%pip list", "!pip download x", "pip = 1", "# pip install x"]
)
def test_R13_what_installs_nothing_is_not_said_to(source: str) -> None:
    assert not any("install" in label for label in labels(source, ENCLOSED))


@pytest.mark.parametrize(
    "source", ["!pip install --target lib x", "!/usr/bin/python3 -m pip install x", "!uv pip install --python 3.9 x"]
)
def test_R13_an_installation_that_names_another_place_is_not_said_to_go_into_this_one(source: str) -> None:
    assert labels(source, ENCLOSED)[0] == "will fail: the sandbox has no network"
    assert "installs packages, line 1" in labels(source, OPEN)


def test_R13_a_sandbox_with_a_network_and_a_writable_environment_stands_in_no_ones_way() -> None:
    home = PackageHome(place="Python 3.12.4 in env", prefix="/w/a/env", python="/w/a/env/bin/python")
    found = labels("%pip install x", Confinement(sandboxed=True, packages=home))
    assert not any(label.startswith("will fail") for label in found)
    found = labels("%pip install x", Confinement(sandboxed=True, packages=VENV))
    assert found[1] == "will fail: the environment is read-only in the sandbox"


def test_R13_an_environment_without_pip_is_said_to_have_none_and_what_works_there() -> None:
    home = PackageHome(place="Python 3.12.4 in .venv", prefix="/w/v", python="/w/v/bin/python", has_pip=False)
    found = labels("%pip install x", Confinement(packages=home))
    assert found[1] == "will not go there: the environment has no pip of its own"
    assert found[2] == "in a terminal of your own: uv pip install --python /w/v/bin/python …"
    assert len(labels("!uv pip install x", Confinement(packages=home))) == len(labels("!uv pip install x", OPEN))


OFFLINE = "ERROR: Could not find a version that satisfies the requirement x (from versions: none)"


def test_R13_a_failed_installation_is_explained_once_and_only_where_something_was_in_its_way() -> None:
    reading = read_python("%pip install x")
    note = failed_install(reading, ENCLOSED, OFFLINE)
    assert note.startswith("Nothing was installed: the sandbox has no network, the environment is read-only in it.")
    assert failed_install(reading, OPEN, OFFLINE) == ""  # the package may not exist
    assert failed_install(reading, ENCLOSED, "Requirement already satisfied: x") == ""
    assert failed_install(read_python("print(1)"), ENCLOSED, OFFLINE) == ""


@pytest.mark.parametrize("source", ["!pip uninstall -y x", "!pip install ./x.whl", "!pip install --no-index x"])
def test_R13_what_needs_no_network_is_not_said_to_fail_for_want_of_one(source: str) -> None:
    assert labels(source, ENCLOSED)[1] == "will fail: the environment is read-only in the sandbox"


def test_R13_words_that_only_the_run_tells_are_marked() -> None:
    (found,) = find_installs(read_shell('pip install "$name"'))
    assert not found.sure
