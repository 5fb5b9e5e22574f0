"""The parts of the sandbox that can be judged without one: the filter, the list of hosts, what is mounted and told."""

import errno
import ipaddress
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.sandbox import inside, places, rungs, seccomp
from oi_tui.app.engine.sandbox.environments import enclosed_environment
from oi_tui.app.engine.sandbox.hosts import AllowList, Authority, is_public, parse_authority, parse_rule
from oi_tui.app.engine.sandbox.limits import rlimits
from oi_tui.app.engine.sandbox.mounts import Mount, MountKind, plan
from oi_tui.app.engine.sandbox.profile import Limits
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.sandbox.selftest import PROMISES, Report
from support import bpf
from support.enclosure import make_home, make_project, profile
from support.unprivileged import Nobody

# -- system calls ----------------------------------------------------------------------------------------

MACHINES = sorted(seccomp.MACHINES)
DENIED = bpf.FAILED | errno.EPERM
SOCKET, IOCTL, CLONE = "socket", "ioctl", "clone"


def judged(machine: str, name: str, *arguments: int) -> int:
    """What the filter says about a call by name."""
    known = seccomp.MACHINES[machine]
    return bpf.verdict(seccomp.filter_program(machine), known.calls[name], arguments, mark=known.mark)


@pytest.mark.parametrize("machine", MACHINES)
def test_S17_the_filter_is_a_program_that_the_kernel_accepts(machine: str) -> None:
    program = seccomp.filter_program(machine)
    assert len(program) % 8 == 0
    assert bpf.reachable(program)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "name",
    [
        *("ptrace", "process_vm_readv", "process_vm_writev", "keyctl", "add_key", "request_key", "bpf", "userfaultfd"),
        *("perf_event_open", "mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsmount"),
        *("mount_setattr", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
        *("unshare", "setns", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_by_handle_at"),
    ],
)
def test_S17_calls_that_lead_out_fail(machine: str, name: str) -> None:
    assert judged(machine, name) == DENIED
    assert judged(machine, name, *[2**64 - 1] * 6) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
def test_S17_a_process_may_be_made_but_no_namespace(machine: str) -> None:
    fork, thread = 0x01200011, 0x003D0F00
    assert judged(machine, CLONE, fork) == judged(machine, CLONE, thread) == bpf.ALLOWED
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert judged(machine, CLONE, fork | flag) == DENIED
    assert judged(machine, "clone3") == bpf.FAILED | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_S17_terminals_are_not_typed_into_whatever_the_upper_half_says(machine: str) -> None:
    for request in (0x5412, 0x541C):
        assert judged(machine, IOCTL, 0, request) == judged(machine, IOCTL, 0, request | 1 << 32) == DENIED
    assert judged(machine, IOCTL, 0, 0x5413) == judged(machine, IOCTL, 0, 0x540E) == bpf.ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_S6_no_folder_is_made_by_asking_btrfs_for_a_subvolume(machine: str) -> None:
    btrfs, others = (0x50009401, 0x5000940E, 0x50009417, 0x50009418), (0x4020BC10, 0x40186F04)  # bcachefs and ocfs2
    for request in btrfs + others:
        assert judged(machine, IOCTL, 3, request) == DENIED, hex(request)
    for request in (0x40049409, 0x4020940D, 0xC0189436):  # copies that share their data
        assert judged(machine, IOCTL, 3, request) == bpf.ALLOWED, hex(request)


@pytest.mark.parametrize("machine", MACHINES)
def test_S16_sockets_are_of_few_kinds(machine: str) -> None:
    stream, datagram, raw, closed = 1, 2, 3, 0o2000000
    for family in (1, 2, 10):
        assert judged(machine, SOCKET, family, stream | closed) == bpf.ALLOWED
        assert judged(machine, SOCKET, family, datagram) == bpf.ALLOWED
        assert judged(machine, SOCKET, family, raw | closed) == DENIED
    assert judged(machine, SOCKET, 16, raw | closed) == bpf.ALLOWED
    for family in range(64):
        if family not in (1, 2, 10, 16):
            assert judged(machine, SOCKET, family, stream) == DENIED
    assert judged(machine, "socketpair", 1, stream) == bpf.ALLOWED
    assert judged(machine, "socketpair", 38, stream) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
def test_S17_no_program_is_made_to_run_as_its_owner(machine: str) -> None:
    known = seccomp.MACHINES[machine].calls
    for name, index in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2)):
        if name in known:
            before = [0] * index
            assert judged(machine, name, *before, 0o755) == judged(machine, name, *before, 0o2775) == bpf.ALLOWED
            assert judged(machine, name, *before, 0o4755) == judged(machine, name, *before, 0o6777) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "before"),
    [("prlimit64", 0), ("setpriority", 1), ("ioprio_set", 1)],
)
def test_S17_where_others_are_seen_their_limits_stay(machine: str, name: str, before: int) -> None:
    known, program = seccomp.MACHINES[machine], seccomp.filter_program(machine, own_processes=False)
    said = [bpf.verdict(program, known.calls[name], [*[0] * before, pid], mark=known.mark) for pid in (0, 77)]
    assert said == [bpf.ALLOWED, DENIED]
    assert judged(machine, name, *[0] * before, 77) == bpf.ALLOWED
    assert bpf.reachable(program)


@pytest.mark.parametrize("machine", MACHINES)
def test_S17_memory_stays_at_random_places(machine: str) -> None:
    assert judged(machine, "personality", 0xFFFFFFFF) == judged(machine, "personality", 0) == bpf.ALLOWED
    assert judged(machine, "personality", 0x0040000) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
def test_S17_calls_of_another_machine_end_the_process(machine: str) -> None:
    program = seccomp.filter_program(machine)
    for mark in {0x40000003, 0x40000028, *(known.mark for known in seccomp.MACHINES.values())}:
        expected = bpf.ALLOWED if mark == seccomp.MACHINES[machine].mark else bpf.KILLED
        assert bpf.verdict(program, 0, mark=mark) == expected


def test_S17_the_other_numbers_of_the_same_calls_are_denied() -> None:
    known = seccomp.MACHINES["x86_64"]
    for number in (0, 41, 101, 512, 521, 547):
        assert bpf.verdict(seccomp.filter_program("x86_64"), 0x40000000 | number, mark=known.mark) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_are_allowed(machine: str) -> None:
    known = seccomp.MACHINES[machine]
    program = seccomp.filter_program(machine)
    special = set(known.calls.values())
    for number in (*range(424), 434, 436, 437, 439, 441, 444, 445, 446, 449):
        if number not in special:
            assert bpf.verdict(program, number, mark=known.mark) == bpf.ALLOWED


def test_there_is_a_filter_for_this_machine_or_it_is_said() -> None:
    assert seccomp.is_supported() == (platform.machine() in MACHINES)
    assert not seccomp.is_supported("riscv64")
    with pytest.raises(KeyError):
        seccomp.filter_program("riscv64")


# -- hosts -----------------------------------------------------------------------------------------------


WRONG = (
    *("", ":", "a:b", "a b:80", "a..b:80", "-a.org:80", "a.org:080000", "2001:db8::1:80", "1.2.3:80", "01.2.3.4:80"),
    *("1.2.3.4.:80", "0x7f.0.0.1:80", "a.0x7f:80", "a.1:80", "[::1]", "[fe80::1%eth0]:80", "a\n.org:80"),
    *("a.org:80\n", "é.org:80", "a" * 64 + ":1"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.org:443", Authority("example.org", 443)),
        ("EXAMPLE.org.:80", Authority("example.org", 80)),
        ("192.0.2.1:80", Authority("192.0.2.1", 80)),
        ("[2001:DB8::0:1]:80", Authority("2001:db8::1", 80)),
        ("a_b.example.org:80", Authority("a_b.example.org", 80)),
        *(
            (wrong, None)
            for wrong in ("", ":", "a:b", "a b:80", "a..b:80", "-a.org:80", "a.org:080000", "2001:db8::1:80")
        ),
        *(
            (wrong, None)
            for wrong in ("1.2.3:80", "01.2.3.4:80", "1.2.3.4.:80", "0x7f.0.0.1:80", "a.0x7f:80", "a.1:80")
        ),
        *(
            (wrong, None)
            for wrong in ("[::1]", "[fe80::1%eth0]:80", "a\n.org:80", "a.org:80\n", "é.org:80", "a" * 64 + ":1")
        ),
    ],
)
def test_S23_a_host_is_what_it_plainly_says(text: str, expected: Authority | None) -> None:
    assert parse_authority(text) == expected


def test_S23_rules_are_for_a_host_and_its_ports_exactly() -> None:
    allowed = AllowList(["example.org", "*.wide.org", "other.org:8443", "192.0.2.7:80"])

    def admits(text: str) -> bool:
        wanted = parse_authority(text)
        return wanted is not None and allowed.admits(wanted)

    for text in ("example.org:80", "example.org:443", "a.wide.org:443", "a.b.wide.org:80", "other.org:8443"):
        assert admits(text), text
    for text in (
        *("example.org:8443", "www.example.org:443", "wide.org:443", "xwide.org:443", "other.org:443", "org:443"),
        *("192.0.2.7:443", "192.0.2.8:80", "example.org.evil.com:443"),
    ):
        assert not admits(text), text


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "*",
        "*.",
        "*.org",
        "*.*.org",
        "http://example.org",
        "example.org/x",
        "a b",
        "*.192.0.2.1",
        "user@a.org",
        "a.org:0",
    ],
)
def test_S21_a_rule_that_is_none_stops_the_start(rule: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"sandbox\.hosts"):
        parse_rule(rule)
    with pytest.raises(SettingsError, match=r"sandbox\.hosts"):
        chosen_profile(SandboxSection(hosts=(rule,)), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1"),
        *("::", "::1", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::"),
        *("64:ff9b::7f00:1", "64:ff9b::808:808", "2001:db8::1", "2001:0:7f00:1::", "2002:a9fe:a9fe::"),
    ],
)
def test_S22_what_is_not_public(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_public(address)
    assert not AllowList(["example.org"]).may_connect(address, 443)


def test_S22_what_is_public_unless_it_is_our_own() -> None:
    ours, other = ipaddress.ip_address("8.8.8.8"), ipaddress.ip_address("2606:4700::1111")
    allowed = AllowList([], own=[ours])
    assert is_public(ours)
    assert is_public(other)
    assert allowed.may_connect(other, 443)
    assert not allowed.may_connect(ours, 443)
    assert not allowed.may_connect(ipaddress.ip_address("::ffff:8.8.8.8"), 443)


# -- profiles --------------------------------------------------------------------------------------------


def test_a_profile_says_truthfully_what_it_is(tmp_path: Path) -> None:
    def said(**options: object) -> str:
        return profile(tmp_path / "work", tmp_path / "home", **options).describe()

    assert said() == "sandbox: writes in the workspace; no network"
    assert said(mode="read-only") == "sandbox: writes nothing but scratch files; no network"
    assert said(writable=(tmp_path,)) == "sandbox: writes in the workspace and 1 more folder; no network"
    assert said(network="full") == "sandbox: writes in the workspace; full network"
    assert said(network="hosts", hosts=("a.org",)) == "sandbox: writes in the workspace; network: 1 allowed host"
    assert said(network="hosts") == "sandbox: writes in the workspace; no network"
    assert said(mode="danger-full-access") == "no sandbox: code has your full permissions"


def test_the_settings_choose_a_sandbox_without_network_until_they_say_otherwise(tmp_path: Path) -> None:
    usual = chosen_profile(SandboxSection(), tmp_path)
    assert (usual.mode, usual.network) == ("workspace-write", "none")
    assert not chosen_profile(SandboxSection(mode="danger-full-access"), tmp_path).encloses
    chosen = chosen_profile(SandboxSection(scratch_mb=3, file_mb=2, memory_mb=1), tmp_path)
    assert chosen.encloses
    assert chosen.writes == (tmp_path.resolve(),)
    assert chosen.limits == Limits(memory=1_000_000, processes=512, file_size=2_000_000, scratch=3_000_000)
    assert chosen_profile(SandboxSection(), tmp_path).limits.memory > 0
    with pytest.raises(SettingsError, match=r"sandbox\.writable"):
        chosen_profile(SandboxSection(writable=("relative",)), tmp_path)
    with pytest.raises(SettingsError, match=r"sandbox\.readable"):
        chosen_profile(SandboxSection(readable=(str(tmp_path / "gone"),)), tmp_path)


def test_limits_are_set_where_they_were_chosen() -> None:
    assert rlimits(Limits()) == {"RLIMIT_CORE": 0}
    assert rlimits(Limits(memory=1, processes=2, file_size=3, open_files=4, cpu=5)) == {
        "RLIMIT_DATA": 1,
        "RLIMIT_NPROC": 2,
        "RLIMIT_FSIZE": 3,
        "RLIMIT_NOFILE": 4,
        "RLIMIT_CPU": 5,
        "RLIMIT_CORE": 0,
    }


def test_S13_variables_are_passed_on_by_an_allow_list(tmp_path: Path) -> None:
    environ = {
        "PATH": "/bin",
        "LANG": "C",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "k",
        "INNOCENT": "x",
        "JPY_PARENT_PID": "1",
        "SSH_AUTH_SOCK": "/x",
        "DBUS_SESSION_BUS_ADDRESS": "unix:/x",
        "LD_PRELOAD": "/x.so",
        "LC_TOKEN": "t",
        "HTTP_PROXY": "http://10.0.0.1:3128",
        "HOME": "/elsewhere",
        "MY_TOKEN": "t",
    }
    given = enclosed_environment(environ, ["MY_TOKEN"], tmp_path, proxy=False)
    assert given == {
        "LANG": "C",
        "LC_ALL": "C",
        "MY_TOKEN": "t",
        "HOME": str(tmp_path),
        "TMPDIR": "/tmp",
        "PATH": "/bin",
    }
    assert enclosed_environment({}, [], tmp_path, proxy=True)["https_proxy"] == "http://127.0.0.1:3128"


# -- mounts ----------------------------------------------------------------------------------------------


def test_S3_what_is_deeper_lies_over_what_is_above(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    make_project(home / "project")
    for workspace in (home, home / "project", tmp_path):
        found = plan(profile(workspace, home), Mount(tmp_path / "private", MountKind.WRITABLE)).mounts
        assert [len(mount.path.parts) for mount in found] == sorted(len(mount.path.parts) for mount in found)
        kinds = {mount.path: mount.kind for mount in found}
        assert len(kinds) == len(found)
        assert kinds[workspace] == MountKind.WRITABLE
        if workspace != home / "project":
            assert kinds[home / ".ssh"] == MountKind.HIDDEN
        else:
            assert home / ".ssh" not in kinds
            assert kinds[home] == MountKind.SCRATCH
            assert kinds[workspace / ".git"] == kinds[workspace / ".venv"] == MountKind.GUARDED


def test_S2_nothing_of_a_home_folder_is_mounted_but_what_python_needs(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    work = make_project(tmp_path / "work")
    found = plan(profile(work, home), Mount(tmp_path / "private", MountKind.WRITABLE)).mounts
    assert [mount.kind for mount in found if mount.path.is_relative_to(home)] == [MountKind.SCRATCH]


def test_S9_environment_files_are_looked_for_within_bounds(tmp_path: Path) -> None:
    deep = tmp_path / "1" / "2" / "3"
    deep.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "1", tmp_path / "1" / "2", deep):
        (folder / ".env").touch()
    (tmp_path / ".env.production").symlink_to("/etc/passwd")
    (tmp_path / ".env.sample").touch()
    found = places.environment_files(tmp_path)
    assert found == (tmp_path / ".env", tmp_path / "1" / ".env", tmp_path / "1" / "2" / ".env")
    for number in range(places.ENTRIES):
        (deep / str(number)).touch()
    assert places.environment_files(deep) == () or len(places.environment_files(deep)) == 1


def test_S4_repositories_deeper_in_the_workspace_are_guarded_too(tmp_path: Path) -> None:
    (tmp_path / "work" / "module" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "tree").mkdir()
    (tmp_path / "work" / "tree" / ".git").write_text("gitdir: /elsewhere")
    found = places.guarded_paths(tmp_path / "work", is_home=False)
    assert set(found) == {tmp_path / "work" / "module" / ".git", tmp_path / "work" / "tree" / ".git"}


def test_programs_of_a_kernel_are_readable_with_what_was_installed_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in ("home/tool/bin", "home/.local/bin", "home/bin"):
        (tmp_path / name).mkdir(parents=True)
    (home / "tool" / "bin" / "r").touch(mode=0o755)
    (home / ".local" / "bin" / "r").symlink_to(home / "tool" / "bin" / "r")
    (home / "bin" / "plain").touch(mode=0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/.local/bin:{home}/bin")
    found = set(places.program_places("r"))
    assert found == {home / "tool", home / ".local" / "bin" / "r", home / "tool" / "bin" / "r"}
    assert places.program_places("plain")[0] == home / "bin" / "plain"
    assert home not in places.program_places("plain")
    assert places.program_places("nothing") == ()
    # A script may name its interpreter in any way: no way of writing it shows more.
    for folder in (home / ".local" / "share", home / "papers"):
        folder.mkdir()
    assert set(places.program_places(f"{home}/.local/share/../bin/r")) == found
    assert set(places.program_places(f"{home}/papers/../bin/plain")) == {home / "bin" / "plain"}
    monkeypatch.chdir(home / "papers")
    assert set(places.program_places("../bin/plain")) == {home / "bin" / "plain"}


# -- the proof -------------------------------------------------------------------------------------------


def test_S20_a_report_has_to_name_every_promise() -> None:
    assert frozenset(inside.CHECKS) == PROMISES
    assert Report(PROMISES, ()).holds
    assert not Report(PROMISES, ("files: /usr can be written",)).holds
    assert not Report(PROMISES - {"network"}, ()).holds
    assert Report.parse(b"") is None
    assert Report.parse(b'{"checked": []') is None
    assert Report.parse(json.dumps({"checked": [*PROMISES], "broken": []}).encode()) == Report(PROMISES, ())


def test_S20_S24_without_a_sandbox_the_first_program_ends_before_the_command(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    walls = {"read": [], "write": [], "devices": [], "pipes": [], "ports": False, "required": False, "newest": 0}
    promised = {
        "own_processes": True,
        "own_network": True,
        "outsider": os.getpid(),
        "landlock": walls,
        "guard": None,
        "modules": {},
        "shared": "",
        "outside": [str(tmp_path)],
        "unchangeable": [str(secret), str(tmp_path / "gone")],
        "changeable": ["/proc/version"],
        "secrets": [str(secret)],
        "replaced": [(str(tmp_path), tmp_path.stat().st_dev, tmp_path.stat().st_ino)],
        "environment": [],
        "network": True,
        "bait": ("127.0.0.1", 9, "nobody"),
        "limits": {"RLIMIT_NOFILE": 50},
        "proxy": "",
        "proxy_port": 0,
    }
    told = os.memfd_create("told")
    os.write(told, json.dumps(promised).encode())
    os.lseek(told, 0, os.SEEK_SET)
    ours, theirs = socket.socketpair()
    line = theirs.detach()
    spare = os.dup(line)
    program = [sys.executable, "-I", "-S", str(rungs.INSIDE_PROGRAM), str(told), str(line), "-1", str(spare)]
    finished = subprocess.run(
        [*program, "echo", "ran"], pass_fds=(told, line, spare), env={"EXTRA": "1"}, capture_output=True, timeout=30
    )
    os.close(told)
    os.close(line)
    os.close(spare)
    with ours, ours.makefile() as file:
        broken = json.load(file)["broken"]
    assert (finished.returncode, finished.stdout) == (inside.BROKEN, b"")
    root = os.access("/proc/sys/kernel/core_pattern", os.W_OK)
    for part in (
        *("rights: ", "processes: ", f"files: {tmp_path} can be written", "is not there, so it could be made"),
        *("/proc/version cannot be written", f"secrets: {secret} can be read", f"{tmp_path} is visible", "EXTRA"),
        *("files: /proc can be written", *(["files: /proc/sys/kernel/core_pattern can be written"] if root else [])),
    ):
        assert any(part in entry for entry in broken), (part, broken)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]


LOOKS = """
import subprocess, sys
program = (
    "from oi_tui.app.privacy import protect_process\\n"
    "print('open', flush=True)\\ninput()\\nprotect_process()\\nprint('closed', flush=True)\\ninput()"
)
looked_at = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for _ in range(2):
    print(looked_at.stdout.readline().decode().strip())
    for name in ("environ", "mem"):
        try:
            open(f"/proc/{looked_at.pid}/{name}", "rb").close()
            print(name, "can be read")
        except PermissionError:
            print(name, "is refused")
    looked_at.stdin.write(b"\\n")
    looked_at.stdin.flush()
looked_at.wait()
"""


def test_S14_a_process_that_closed_itself_cannot_be_looked_into(nobody: Nobody) -> None:
    seen = nobody(LOOKS).splitlines()
    assert seen[:2] == ["open", "environ can be read"], "this user may not look into any process, so nothing is seen"
    assert seen[3:] == ["closed", "environ is refused", "mem is refused"]


@pytest.mark.parametrize("address", ["192.0.0.192", "168.63.129.16", "::ffff:192.0.0.192"])
def test_S22_addresses_where_clouds_tell_of_themselves_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
