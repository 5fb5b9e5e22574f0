"""Places on a machine that a sandbox has to know: what programs need, what is secret, what others act upon later."""

import os
import shutil
import site
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from oi_tui.app.engine.sandbox.profile import Profile

OURS = Path(__file__).parents[2]

SYSTEM_FOLDERS = ("/usr", "/opt", "/nix/store", "/gnu/store", "/sys/devices/system/cpu", "/sys/devices/system/node")
"""Where programs are, and how many processors there are."""

ROOT_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, folders on others."""

ETC = (
    *("alternatives", "ca-certificates", "crypto-policies", "fonts", "java", "julia", "OpenCL", "pki", "R", "ssl"),
    *("bash.bashrc", "gai.conf", "group", "host.conf", "hosts", "inputrc", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "magic", "matplotlibrc", "mime.types"),
    *("nsswitch.conf", "os-release", "passwd", "profile", "protocols", "python3", "services", "shells", "timezone"),
)
"""What programs read in /etc; nothing of it is secret."""

SCRATCH_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders for everybody; the sandbox has its own instead."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""What every program may use; of terminals only that which it runs in."""

TERMINALS = "/dev/ptmx"
"""Makes new ones."""

HARMLESS_PROC = (
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/filesystems"),
    *("/proc/version", "/proc/sys/kernel", "/proc/sys/vm"),
)
"""What programs read of the machine as a whole, where /proc is that of everybody."""

NO_WORKSPACE = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var"),
    "/var/tmp",
)
"""To work in these (or above one of them) would hand over the machine, or the sockets of everything that runs."""

SECRETS = (
    *(".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd"),
    *(".netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli"),
    *(".aws", ".azure", ".config/gcloud", ".boto", ".kube", ".docker", ".config/containers", ".config/rclone"),
    *(".config/op", ".config/sops", ".vault-token", ".terraform.d", ".terraformrc", ".databrickscfg", ".kaggle"),
    *(".npmrc", ".yarnrc.yml", ".pypirc", ".config/pip", ".cargo/credentials", ".cargo/credentials.toml"),
    *(".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".pgpass", ".my.cnf", ".s3cfg"),
    *(".cache/huggingface/token", ".huggingface", ".openai", ".anthropic", ".claude", ".claude.json", ".codex"),
    *(".gemini", ".config/github-copilot", ".config/io.datasette.llm", ".config/open-interpreter"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".var/app", "snap"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".sqlite_history"),
    *(".node_repl_history", ".lesshst", ".histfile", ".local/share/fish"),
)
"""Beneath the home folder."""

GUARDED = (".git", ".oi", ".mcp.json", ".vscode", ".envrc")
"""In a workspace: others run or obey these later, outside. They can be neither changed nor made."""

GUARDED_IF_THERE = (
    *(".hg", ".idea", ".husky", ".devcontainer", ".claude", ".codex", ".cursor", ".gemini", ".direnv"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    *(".zlogin", ".inputrc", ".pam_environment", ".xprofile", ".xsessionrc", ".gitconfig", ".tmux.conf", ".vimrc"),
    *(".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/nvim"),
    *(".local/bin", "bin", ".ipython", ".jupyter", ".local/share/jupyter", ".local/lib", ".local/share/applications"),
)
"""The same, but where they are not there, they may be made. The second half is of a home folder that is worked in."""

HOME_ONLY = frozenset({"bin"})
"""Of these names a project may have its own."""

ENVIRONMENT_FILE = ".env"
HARMLESS_ENDINGS = (".example", ".sample", ".template", ".dist", ".defaults")
"""Of files that show what an environment file looks like."""

LEVELS, ENTRIES = 3, 5_000
"""How deep in a workspace, and among how many entries, environment files and repositories are looked for."""

SKIPPED = frozenset({".git", ".hg", "node_modules", "__pycache__", ".venv", "venv", "site-packages", ".tox"})


def secrets(profile: Profile) -> tuple[Path, ...]:
    """Existing paths that must not be seen, without links."""
    home = [profile.home / name for name in SECRETS]
    configured = _configured_secrets(os.environ)
    known = {_real(path) for path in (*home, *configured, *profile.hidden) if os.path.lexists(path)}
    return tuple(sorted(known - {profile.home, Path("/")}))


def _configured_secrets(environ: os._Environ[str]) -> Iterator[Path]:
    """Secret files that the environment places elsewhere."""
    for name in ("GNUPGHOME", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "KUBECONFIG", "DOCKER_CONFIG"):
        if value := environ.get(name, ""):
            yield from (Path(part) for part in value.split(os.pathsep) if os.path.isabs(part))


def environment_files(folder: Path) -> tuple[Path, ...]:
    """`.env` and similar files beneath the folder, down to a limited depth; of links, their targets in there."""
    found = (_real(Path(entry.path)) for entry in _beneath(folder) if is_environment_file(entry.name))
    return tuple(path for path in dict.fromkeys(found) if path.is_relative_to(folder))


def is_environment_file(name: str) -> bool:
    """Whether a file of this name holds variables for a program, often secret ones."""
    return name == ENVIRONMENT_FILE or (name.startswith(f"{ENVIRONMENT_FILE}.") and not name.endswith(HARMLESS_ENDINGS))


def _beneath(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The entries of the folder, nearest first, within the limits."""
    level, seen = [str(folder)], 0
    for _ in range(LEVELS):
        deeper: list[str] = []
        for entry in (entry for place in level for entry in _entries(place)):
            seen += 1
            if seen > ENTRIES:
                return
            yield entry
            if entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                deeper.append(entry.path)
        level = deeper


def guarded_paths(folder: Path, *, is_home: bool) -> tuple[Path, ...]:
    """What exists in a writable folder but must not be changed; of links, their targets in there."""
    names = [*GUARDED, *(name for name in GUARDED_IF_THERE if is_home or name not in HOME_ONLY)]
    there = [_real(folder / name) for name in names if os.path.exists(folder / name)]
    environments = [
        Path(entry.path)
        for entry in _entries(folder)
        if entry.is_dir(follow_symlinks=False) and os.path.isfile(f"{entry.path}/pyvenv.cfg")
    ]
    repositories = [Path(entry.path) for entry in _beneath(folder) if entry.name == ".git" and not entry.is_symlink()]
    return tuple(path for path in dict.fromkeys((*there, *environments, *repositories)) if path.is_relative_to(folder))


def can_change(profile: Profile, environment: Path) -> bool:
    """Whether code can change this environment, in which it runs: in a sandbox it is read-only wherever it is, unless a
    setting names it as writable; in the lock it is not."""
    real = _real(environment)
    if profile.is_weaker:
        return any(real.is_relative_to(folder) for folder in profile.writes)
    is_guarded = real.parent in profile.writes and os.path.isfile(f"{real}/pyvenv.cfg")
    return real in profile.writes and not is_guarded


def python_places(profile: Profile) -> tuple[Path, ...]:
    """Everything the Python we run in consists of: prefixes, packages, and the links to it; and our own code, for a
    change of it in a workspace would run outside."""
    packages = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    # Targets of `.pth` files and PYTHONPATH; but no folder as a whole that happens to hold one of these.
    held = {Path.home(), profile.home, profile.workspace, *profile.writable, *profile.hidden}
    held |= set(map(Path, SCRATCH_FOLDERS))
    packages += [entry for entry in sys.path if os.path.isabs(entry) and not _is_above(entry, held)]
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, *packages, str(OURS)]
    return tuple(Path(place) for place in dict.fromkeys((*places, *map(str, _hops(Path(sys.executable))))))


def program_places(name: str) -> tuple[Path, ...]:
    """The folder of this program with everything installed beside it; nothing if there is no such program. A name that
    is a path counts as it is meant: no `..` in it makes another folder of it."""
    found = shutil.which(name)
    if found is None:
        return ()
    first = Path(os.path.abspath(found))
    hops = [*_hops(first), _real(first)]
    prefixes = [hop.parent.parent for hop in hops if hop.parent.name == "bin" and hop.parent.parent.name != ".local"]
    return (*(prefix for prefix in prefixes if not Path.home().is_relative_to(prefix)), *hops)


def _is_above(entry: str, held: Iterable[Path]) -> bool:
    """Whether it is one of these or holds one, with and without its links."""
    return any(place.is_relative_to(folder) for folder in (entry, _real(Path(entry))) for place in held)


def fonts(home: Path) -> tuple[Path, ...]:
    """Matplotlib's list of fonts: without it, the first plot of every kernel would take seconds."""
    return tuple(sorted((home / ".cache" / "matplotlib").glob("fontlist-*.json"))[-3:])


def is_covered(path: Path, roots: Iterable[Path]) -> bool:
    """Whether it is one of these or beneath one."""
    return not {path, *path.parents}.isdisjoint(roots)


def _hops(program: Path) -> Iterator[Path]:
    """The program and the links behind it, one after the other."""
    for _ in range(20):
        yield program
        if not program.is_symlink():
            return
        program = Path(os.path.normpath(program.parent / os.readlink(program)))


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # what we cannot list, code with our rights cannot list either


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
