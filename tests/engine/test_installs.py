"""Row R13: what code would install, where that goes, and that it will fail where it must."""

import asyncio
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, DecisionRequested, ExecutionStarted, KernelChanged
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Confinement, Language, PackageHome
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.installs import failed_install, find_installs, offered_install
from oi_tui.app.engine.policy.python import read_python
from oi_tui.app.engine.policy.shell import read_shell
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, stdout_output
from support.kinds import of

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


def test_R13_nobody_is_advised_to_change_the_environment_that_oi_tui_runs_in() -> None:
    home = PackageHome(
        place="Python 3.11.7 of oi-tui", prefix="/o", python="/o/bin/python", writable=False, is_ours=True
    )
    for lacks_pip in (True, False):
        packages = msgspec.structs.replace(home, has_pip=not lacks_pip)
        confinement = Confinement(sandboxed=True, offline=True, packages=packages)
        note = failed_install(read_python("%pip install x"), confinement, "ERROR: Could not find a version")
        said = "\n".join((*labels("%pip install x", confinement), note))
        assert note
        assert "pip install" not in said
        assert "/o/bin/python -m venv .venv, then /kernel .venv" in said


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


OFFERED = msgspec.structs.replace(ENCLOSED, packages=msgspec.structs.replace(VENV, offered=True))


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("%pip install pandas", ("pandas",)),
        ("pip install -q 'pandas[excel]>=2,<3' seaborn\n", ("-q", "pandas[excel]>=2,<3", "seaborn")),
        ("!python -m pip install --upgrade pandas==2.2.1", ("--upgrade", "pandas==2.2.1")),
    ],
)
def test_R13_what_is_nothing_but_an_installation_by_name_can_be_let_through_the_sandbox(
    source: str, arguments: tuple[str, ...]
) -> None:
    assert offered_install(source, OFFERED) == arguments
    assert decide(PolicyRequest("python", source, confinement=OFFERED), Policy(), "ask").offer == arguments


@pytest.mark.parametrize(
    "source",
    [
        *(
            "%pip install pandas\nimport pandas",
            "!pip install pandas; id",
            "!pip install pandas && id",
            "!pip install $x",
        ),
        *("%pip install ./pandas", "%pip install /tmp/x.whl", "%pip install evil.whl", "%pip install evil.TAR.gz"),
        *("%pip install git+https://example.org/x", "%pip install https://example.org/x", "%pip install -r names.txt"),
        *("%pip install --index-url http://example.org x", "%pip install -e .", "%pip install 'x", "%pip install -q"),
        *("%pip uninstall -y x", "%pip install `id`", "%pip install x@file:///x", "%pip install --target=. x"),
        *("%pip install x.whl[all]", "%pip install x.tar.lz", "%pip install x.zip[a]", "%pip install x\ry"),
        *("# pip install x", "print('pip install x')", "%pip  download x", "!sudo pip install x", "%pip install x # y"),
        "%pip install " + "x " * 60,
    ],
)
def test_R13_everything_else_is_not_offered(source: str) -> None:
    assert offered_install(source, OFFERED) == ()


@pytest.mark.parametrize("confinement", [OPEN, ENCLOSED, Confinement(), Confinement(packages=OFFERED.packages)])
def test_R13_without_a_sandbox_in_the_way_or_where_packages_are_not_ours_to_change_there_is_no_offer(
    confinement: Confinement,
) -> None:
    assert offered_install("%pip install pandas", confinement) == ()


def asked_to_install(confinement: Confinement) -> tuple[Session, FakeKernels, FakeModel]:
    model = FakeModel("```python\n%pip install pandas\n```", "Done.")
    kernels = FakeKernels(python=FakeKernel(confinement=confinement))
    session = Session(kernels=kernels, settings=LoopSection(approve="ask"), model=model, can_ask=True)
    return session, kernels, model


def answering(session: Session, heard: list[AnyEvent], **more: Any) -> None:
    def react(event: AnyEvent) -> None:
        heard.append(event)
        if isinstance(event, DecisionRequested):
            answer = Decide(request_id=event.request_id, verdict="run", **more)
            if not session.decide(answer):  # that is no answer to this question
                session.decide(Decide(request_id=event.request_id, verdict="skip"))

    session.emitter.observers = (*session.emitter.observers, react)


async def test_R13_the_person_can_have_it_installed_once_by_a_process_of_its_own() -> None:
    session, kernels, _ = asked_to_install(OFFERED)
    heard: list[AnyEvent] = []
    answering(session, heard, install=True)
    async with asyncio.timeout(30):
        await session.run("go")
    (asked,) = of(DecisionRequested, heard)
    assert asked.offer == "install it from pypi.org into Python 3.12.4 in .venv"
    assert not any("terminal of your own" in label for label in asked.labels), "there is an easier way"
    assert kernels.by_language["python"].ran == []
    assert kernels.by_language["installer"].ran == ["%pip install pandas"]
    assert kernels.by_language["installer"].state == "dead"
    (started,) = of(ExecutionStarted, heard)
    assert (started.apart, started.apart_hosts) == ("/w/.venv", ("pypi.org",))
    (made,) = of(DecisionMade, heard)
    assert (made.verdict, made.decider, made.install) == ("run", "person", True)
    assert of(KernelChanged, heard) == []  # the kernel has nothing to do with it


async def test_R13_without_an_offer_nothing_is_installed_beyond_the_sandbox() -> None:
    session, kernels, _ = asked_to_install(ENCLOSED)
    heard: list[AnyEvent] = []
    answering(session, heard, install=True)
    async with asyncio.timeout(30):
        await session.run("go")
    assert "installer" not in kernels.by_language
    assert kernels.by_language["python"].ran == []


async def test_R13_a_plain_yes_runs_it_in_the_kernel_and_the_model_reads_why_it_failed() -> None:
    session, kernels, model = asked_to_install(OFFERED)
    kernels.by_language["python"].script = {"%pip install pandas": [stdout_output(OFFLINE), RunResult(status="ok")]}
    heard: list[AnyEvent] = []
    answering(session, heard)
    async with asyncio.timeout(30):
        await session.run("go")
    assert kernels.by_language["python"].ran == ["%pip install pandas"]
    assert "[oi-tui] Nothing was installed: the sandbox has no network" in model.requests[-1].messages[-1].text


def test_R13_the_audit_log_says_in_which_sandbox_an_installation_ran() -> None:
    block = CodeBlock(id="c", language="python", source="%pip install x")
    where = Surroundings(cwd="/w", sandbox="read-only", network="none")
    started = ExecutionStarted(block_id="c", generation=1, apart="/w/.venv", apart_hosts=("pypi.org",))
    began = AuditFold(where, str).begin(started, block, 0.0)
    assert (began.cwd, began.sandbox, began.network) == ("/w/.venv", "workspace-write", "hosts")
