"""Kernels that live on a server, without one: what is kept on disk, what a server tells, who waits for whom."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.base import RunRequest
from oi_tui.app.engine.kernels.known_runs import KEPT_RUNS, KnownRuns
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.kernel import RemoteKernel
from oi_tui.app.engine.kernels.remote.living import MOST_KEPT, LivingKernel, LivingKernels
from oi_tui.app.engine.kernels.remote.run_queue import RunQueue
from oi_tui.app.engine.kernels.remote.running import RunningKernel, read_notebooks, read_running
from oi_tui.app.engine.kernels.remote.seat import Relay, RemotePlace, Seat
from oi_tui.app.engine.kernels.remote.server_kernels import MOST_SPECS, ServerKernels
from oi_tui.app.engine.kernels.remote.servers import KnownServer, KnownServers

SERVER = KnownServer(url="https://me:secret@hub.example.org/user/me/?token=hidden")

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("id", "name", "execution_state", "last_activity", "connections", "kernel", "path"))
            | st.text(),
            inner,
            max_size=5,
        )
    ),
)


def living(number: int = 1, **changes: Any) -> LivingKernel:
    known = {"session_id": "s", "language": "python", "server": "cluster", "site": SERVER.credential, "key": "k"}
    return LivingKernel(**(known | {"kernel_id": f"id-{number}"} | changes))


@pytest.fixture
def kept(tmp_path: Path) -> LivingKernels:
    return LivingKernels(tmp_path / "living.toml", owner=os.getuid())


@pytest.fixture
def servers(tmp_path: Path) -> KnownServers:
    known = KnownServers(tmp_path / "servers.toml", owner=os.getuid())
    known.put("cluster", SERVER)
    return known


# -- on disk ------------------------------------------------------------------------------------------------


def test_a_living_kernel_is_kept_found_handed_over_and_forgotten(kept: LivingKernels, tmp_path: Path) -> None:
    assert kept.all() == ()
    kept.put(living(1))
    kept.put(living(2))
    kept.put(living(1, voice="v"))
    assert [one.kernel_id for one in kept.of_session("s")] == ["id-1", "id-2"], "the newest first, each once"
    assert kept.find(SERVER.credential, "id-1") == living(1, voice="v")
    assert kept.find("jupyter:https://other.example.org", "id-1") is None
    kept.hand_over("s", "fork")
    assert (kept.of_session("s"), len(kept.of_session("fork"))) == ((), 2)
    kept.forget(living(1))
    assert [one.kernel_id for one in kept.all()] == ["id-2"]
    assert kept.of_session("") == ()
    file = tmp_path / "living.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in file.read_text()
    assert "hidden" not in file.read_text()


def test_a_session_that_attaches_to_the_kernel_of_another_takes_it_from_nobody(kept: LivingKernels) -> None:
    ours, guest, other = living(), living(session_id="guest", foreign=True), living(session_id="other", foreign=True)
    for record in (guest, ours, other):
        kept.put(record)
    assert [kept.of_session(one.session_id) for one in (ours, guest, other)] == [(ours,), (guest,), (other,)]
    assert kept.find(SERVER.credential, "id-1") == ours, "who started it counts"
    kept.forget(guest)
    assert set(kept.all()) == {ours, other}
    heir = living(session_id="heir")  # nobody listened to it any more, so it is that session's now
    kept.put(heir)
    assert set(kept.all()) == {heir, other}


def test_so_many_are_remembered_and_no_more(kept: LivingKernels, tmp_path: Path) -> None:
    text = "".join(
        f'[[kernel]]\nsession_id="s"\nlanguage="python"\nserver="c"\nsite="x"\nkernel_id="{n}"\nkey="k"\n'
        for n in range(MOST_KEPT + 5)
    )
    (tmp_path / "living.toml").write_text(text)
    (tmp_path / "living.toml").chmod(0o600)
    kept.put(living())
    assert len(kept.all()) == MOST_KEPT
    assert kept.all()[-1] == living()


def test_a_list_that_makes_no_sense_is_an_error_that_names_it(kept: LivingKernels, tmp_path: Path) -> None:
    (tmp_path / "living.toml").write_text("kernel = 3")
    (tmp_path / "living.toml").chmod(0o600)
    with pytest.raises(SettingsError, match=r"living\.toml"):
        kept.all()


# -- what a server tells ----------------------------------------------------------------------------------------


@given(ANYTHING)
def test_whatever_a_server_says_runs_is_a_kernel_of_a_known_shape_or_none(said: object) -> None:
    found = read_running(said, read_notebooks([said]))
    if found is None:
        return
    assert found.kernel_id.replace("-", "").replace("_", "").isalnum()
    assert len(found.kernel_id) <= 100
    assert found.state in ("starting", "idle", "busy", "restarting", "autorestarting", "dead", "terminating", "unknown")
    assert 0 <= found.connections < 10_000


def test_a_running_kernel_is_told_with_its_notebook() -> None:
    model = {
        "id": "0b1c-2", "name": "python3", "execution_state": "busy", "connections": 2,
        "last_activity": "2026-01-31T12:00:00.123456Z",
    }  # fmt: skip
    sessions = [{"path": "work/a.ipynb", "kernel": {"id": "0b1c-2"}}, {"kernel": None}, 3]
    assert read_running(model, read_notebooks(sessions)) == RunningKernel(
        kernel_id="0b1c-2",
        kernelspec="python3",
        state="busy",
        since="2026-01-31T12:00:00",
        connections=2,
        notebook="work/a.ipynb",
    )
    hostile = model | {"name": "a\x1b[31m", "execution_state": "idle\n", "last_activity": "now", "connections": True}
    assert read_running(hostile) == RunningKernel(kernel_id="0b1c-2")
    assert read_running(model | {"id": "../../x"}) is None


# -- who waits for whom -----------------------------------------------------------------------------------------


def test_our_runs_wait_for_theirs_and_can_be_taken_back() -> None:
    queue, sent = RunQueue(busy=False), []
    assert queue.put("us.b.1", lambda: sent.append(1))
    queue.note("us.b.1", "busy", "us")
    queue.note("us.b.1", "idle", "us")
    queue.note("theirs", "busy", "us")
    assert not queue.put("us.b.2", lambda: sent.append(2))
    assert queue.withdraw() == ["us.b.2"]
    assert not queue.put("us.b.3", lambda: sent.append(3))
    queue.note("theirs", "idle", "us")
    assert sent == [1, 3]


def test_what_ran_when_we_came_is_waited_for_and_no_other_end_is_taken_for_its_own() -> None:
    queue, sent = RunQueue(busy=True), []
    assert not queue.put("us.b.1", lambda: sent.append(1))
    queue.note("asked-by-them", "busy", "us")  # on the control channel, beside it
    queue.note("asked-by-them", "idle", "us")
    queue.note("us.x.2", "idle", "us")
    assert sent == []
    queue.note("began-before", "idle", "us")
    assert sent == [1]


def test_an_interrupt_is_for_ours_only_while_nothing_of_theirs_runs() -> None:
    queue, may = RunQueue(busy=False), []
    for request, state in (("us.b.1", "busy"), ("theirs", "busy"), ("theirs", "idle"), ("us.b.1", "idle")):
        queue.note(request, state, "us")
        may.append(queue.runs_ours)
    assert may == [True, False, True, False]


# -- runs of a program that is gone --------------------------------------------------------------------------------


async def test_what_comes_of_an_orphan_goes_where_it_is_led_to_in_order() -> None:
    relay, got = Relay(), list[AnyEvent]()
    request = RunRequest("x", "b", relay, 10_000, None)
    runs = KnownRuns(lambda how: None, lambda request_id: request if request_id == "k.b.1" else None)
    assert runs.find("others") is None
    first = runs.find("k.b.1")
    assert first is not None
    assert runs.find("k.b.1") is first
    assert runs.has("b")
    first.on_iopub("stream", {"name": "stdout", "text": "one"})
    assert runs.follow(request) is first.output
    first.on_iopub("status", {"execution_state": "idle"})
    first.on_reply({"status": "ok"})
    relay.lead_to(got.append)
    assert "one" in str(got)
    assert (await first.output.result()).status == "ok"


async def test_an_orphan_that_is_silent_is_followed_before_anything_comes_of_it() -> None:
    request = RunRequest("x", "b", lambda event: None, 10_000, None)
    runs = KnownRuns(lambda how: None, lambda request_id: request)
    output = runs.follow(request)
    found = runs.find("k.b.1")
    assert found is not None
    assert found.output is output
    for number in range(2 * KEPT_RUNS):
        runs.find(f"k.b.{number}")
    assert len(runs._runs) <= KEPT_RUNS


# -- where a session's kernels are --------------------------------------------------------------------------------


def there(servers: KnownServers, kept: LivingKernels, tmp_path: Path, **kernel: Any) -> ServerKernels:
    launch = Launch(cwd=tmp_path, settings=KernelSection(**kernel), session_id=lambda: "s")
    return ServerKernels(launch, servers, kept)


def test_a_session_goes_where_it_left_a_kernel_alive_unless_it_is_told_otherwise(
    servers: KnownServers, kept: LivingKernels, tmp_path: Path
) -> None:
    assert there(servers, kept, tmp_path).begin("") == ""
    kept.put(living(1, kernelspec="python-gpu"))
    resumed = there(servers, kept, tmp_path)
    assert "python-gpu on hub.example.org" in resumed.begin("")
    assert resumed.left_languages() == ("python",)
    servers.put("other", KnownServer(url="https://other.example.org/"))
    elsewhere = there(servers, kept, tmp_path)
    assert "other.example.org" in elsewhere.begin("other")
    assert elsewhere.left_languages() == ()
    servers.put("cluster", KnownServer(url="https://moved.example.org/"))
    assert there(servers, kept, tmp_path).begin("") == "", "another address is another server"


def test_a_kernel_of_somebody_else_needs_a_yes_and_one_of_ours_does_not(
    servers: KnownServers, kept: LivingKernels, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match="Somebody else started"):
        there(servers, kept, tmp_path).begin("cluster@id-1")
    assert there(servers, kept, tmp_path, attach=True).begin("cluster@id-1")
    with pytest.raises(SettingsError, match="your settings never attach to one"):
        there(servers, kept, tmp_path, attach="never").begin("cluster@id-1")
    kept.put(living(1, session_id="another", foreign=True))
    with pytest.raises(SettingsError, match="Somebody else started"):
        there(servers, kept, tmp_path).begin("cluster@id-1")
    kept.put(living(1, session_id="another"))
    assert there(servers, kept, tmp_path).begin("cluster@id-1")
    with pytest.raises(SettingsError, match="no Jupyter server"):
        there(servers, kept, tmp_path).begin("nowhere@id-1")


async def test_names_that_name_no_server_are_left_to_environments(
    servers: KnownServers, kept: LivingKernels, tmp_path: Path
) -> None:
    kernels = there(servers, kept, tmp_path)
    assert not await kernels.choose(".venv", agreed=False)
    with pytest.raises(SettingsError, match="no Jupyter server"):
        await kernels.choose("nowhere:julia", agreed=False)


def test_kernelspecs_that_a_server_names_are_bounded_and_plain(
    servers: KnownServers, kept: LivingKernels, tmp_path: Path
) -> None:
    kernels = there(servers, kept, tmp_path)
    kernels.begin("cluster")
    kernels._note_specs({"python3": "python", "ir": "R", "julia-1.10": "julia", "a\nb": "x", "evil": "Ignore\nall"})
    assert kernels.languages == ("ir", "julia-1.10")
    assert (kernels.find("r"), kernels.find("julia"), kernels.find("evil")) == ("ir", "julia-1.10", None)
    kernels._note_specs({f"spec-{number}": "x" for number in range(2 * MOST_SPECS)})
    assert len(kernels.languages) == MOST_SPECS


def test_what_becomes_of_a_kernel_when_it_is_left(kept: LivingKernels, tmp_path: Path) -> None:
    def seat(record: LivingKernel | None, *, keeps: bool = False) -> Seat:
        if record is not None:
            kept.put(record)
        launch = Launch(cwd=tmp_path, session_id=lambda: "s", keeps_kernels=lambda: keeps)
        made = Seat(launch, "python", RemotePlace(name="cluster", server=SERVER, kernelspec="python3"), kept)
        made.is_settled = made.is_leaving = True
        return made

    assert not seat(living(1))._stays
    assert seat(living(1), keeps=True)._stays
    assert seat(living(2, foreign=True))._stays, "never ours to end"
    came_back_in_vain = seat(living(3, voice="v"))
    came_back_in_vain.is_settled = False
    assert came_back_in_vain._stays
    assert seat(living(4)).address == "cluster@id-4"


async def test_a_kernel_of_somebody_else_is_never_restarted(kept: LivingKernels, tmp_path: Path) -> None:
    place = RemotePlace(name="cluster", server=SERVER, kernelspec="python3", kernel_id="id-9", agreed=True)
    launch = Launch(cwd=tmp_path, session_id=lambda: "s")
    kernel = RemoteKernel(launch, Seat(launch, "python", place, kept))
    with pytest.raises(KernelError, match="somebody else started it"):
        await kernel.restart()
    assert kernel.place == "kernel id-9 on hub.example.org"
