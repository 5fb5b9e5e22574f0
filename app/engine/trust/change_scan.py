"""What a run left behind in the folders it could write: files that other programs run later, outside any sandbox.

After each run a thread walks the folders, while the model is already working, and reports files that changed since the
run began. It uses a file's change time, which no program can set back; a renamed folder shows by files that were not in
it at the last walk. Clocks of file systems are coarse, so files of the previous run may seem to be of this one: a file
is reported again only if it has changed since. Files that a background process writes after the run are not found, nor
is anything beyond the limits of a walk, which the report says.
"""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.events import (
    AnyEvent,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    RerunFinished,
    RerunStarted,
)
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.words import some_names
from oi_tui.app.engine.trust.autorun_files import (
    CONFIGURED,
    GIT,
    GIT_FILES,
    PARTS,
    SCRIPTED,
    is_place,
    is_repository,
    runs_later,
)

ENTRIES, LEVELS, SECONDS = 50_000, 24, 1.5
"""Bounds of one walk, the nearest folders first."""

LARGEST_PACKAGE = 1_000_000
"""Bytes of a package.json that is looked into."""

SKIPPED = frozenset({"node_modules", "__pycache__", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".ruff_cache"})
"""Skipped folders: they are full of other people's programs."""

COARSE = 10_000_000
"""Nanoseconds by which a file system's clock may be behind ours."""

WHOLE_SECONDS = 2_000_000_000
"""The same where it counts in whole seconds."""

HOME_FILES = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv"),
    *(".zprofile", ".zlogin", ".inputrc", ".tmux.conf", ".vimrc", ".gitconfig", ".gdbinit", ".pdbrc", ".npmrc"),
    *(".xprofile", ".xsessionrc", ".ssh/authorized_keys", ".ssh/config", ".ssh/rc", ".config/git/config"),
    *(".config/fish/config.fish", ".config/nvim/init.lua", ".config/nvim/init.vim", ".config/pip/pip.conf"),
)
HOME_FOLDERS = (
    *(".config/autostart", ".config/systemd/user", ".config/environment.d", ".config/fish/conf.d", ".local/bin"),
    *(".ipython/profile_default/startup", ".jupyter", ".local/share/applications", "Library/LaunchAgents"),
)
"""Of a home folder that code can write because it has no sandbox, only these are looked at."""

SHOWN = 6
"""Names in a title; the details have more of them."""

LISTED = 200


class FileStamp(NamedTuple):
    """The state of a file when it was reported."""

    changed: int
    """Its change time, in nanoseconds of Unix time."""
    mode: int
    size: int
    inode: int


class ScanResult(NamedTuple):
    """What one look found."""

    changed: int = 0
    """Files that are new or changed."""
    later: tuple[str, ...] = ()
    """Those of them that run later: relative to the first folder, others from the root or from `~`."""
    entries: int = 0
    cut: str = ""
    """Why the walk did not come to its end, "" if it did."""


class _Walk(msgspec.Struct):
    """One walk in progress."""

    since: int
    """Nanoseconds of Unix time."""
    before: int
    """Time of the last look, 0 if never; a file that is older and not `known` came by renaming a folder."""
    known: frozenset[str]
    told: Mapping[str, FileStamp]
    """Files already reported, by name."""
    own: frozenset[str]
    end: float
    """When time is up, on the monotonic clock."""
    most: int
    changed: int = 0
    entries: int = 0
    cut: str = ""
    later: list[str] = msgspec.field(default_factory=list)
    seen: set[str] = msgspec.field(default_factory=set)
    """Names of all files that run later, changed or not."""
    marks: dict[str, FileStamp] = msgspec.field(default_factory=dict)
    """All files that changed since, reported now or before."""


class _Folder(NamedTuple):
    """One to look into."""

    path: str
    name: str
    """The name in reports, with a `/` at the end; "" for the first folder."""
    moved: bool = False
    """It, or one above it, changed during the run: it may have had another name before."""


class FolderScanner:
    """Scans folders and remembers their content. Its methods are for a thread, one at a time."""

    def __init__(
        self, roots: Sequence[Path], home: Path | None = None, *, own: Iterable[Path] = (), entries: int = ENTRIES
    ) -> None:
        """`home` is given if code can write in it. Our `own` folders are skipped. A walk looks at no more than
        `entries` entries."""
        self._most = entries
        self._own = frozenset(os.path.realpath(folder) for folder in own)
        self._roots = tuple(roots)
        self._home = home if home is not None and home not in roots else None
        self._known: frozenset[str] = frozenset()
        self._told: dict[str, FileStamp] = {}
        """Of files that may seem to have changed since the next run began. What is older than a run is so for all that
        come later: nothing else need be remembered."""
        self._looked = 0

    def look(self, since: float, *, told: bool = True) -> ScanResult:
        """Files that changed since this moment (Unix time in seconds) and were not reported before. With `told` false
        they will be reported again."""
        begun = time.time_ns()
        walk = _Walk(
            since=int(since * 1e9) - COARSE,
            before=self._looked,
            known=self._known,
            told=self._told,
            own=self._own,
            end=time.monotonic() + SECONDS,
            most=self._most,
        )
        for number, root in enumerate(self._roots):
            _walk(walk, str(root), "" if number == 0 else f"{root}/")
        if self._home is not None:
            _look_at_home(walk, self._home)
        self._known = frozenset(walk.seen)
        if told:
            self._told = walk.marks
        self._looked = begun if not walk.cut else 0  # a folder that was not seen counts as unknown
        return ScanResult(walk.changed, tuple(sorted(walk.later)), walk.entries, walk.cut)


class ChangeScan:
    """Has a watch look after each run and tells what it found."""

    def __init__(
        self, watch: FolderScanner, tell: Callable[[str, ScanResult], None], clock: Callable[[], float] = time.time
    ) -> None:
        """`tell` gets the id of the block that ran."""
        self._watch = watch
        self._tell = tell
        self._clock = clock
        self._began: dict[str, float] = {}
        self._last: asyncio.Task[None] | None = None

    def follow(self, event: AnyEvent) -> None:
        """Events of the session, in order: the first start of a kernel, beginnings and ends of runs."""
        match event:
            case KernelChanged(state="starting") if self._last is None:
                self._look("")  # know what exists before anything has run
            case ExecutionStarted() | RerunStarted():
                self._began[event.block_id] = self._clock()
            case ExecutionFinished() | RerunFinished() if event.block_id in self._began:
                self._look(event.block_id)
            case _:
                pass

    async def rest(self) -> None:
        """Wait until nothing is looked at any more; bounded, as walks are."""
        if self._last is not None:
            await asyncio.wait([self._last])

    def _look(self, block_id: str) -> None:
        self._last = asyncio.create_task(self._report(block_id, self._began.pop(block_id, self._clock()), self._last))

    async def _report(self, block_id: str, since: float, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        left = await asyncio.to_thread(self._watch.look, since, told=bool(block_id))
        if block_id:
            self._tell(block_id, left)


def describe_scan(left: ScanResult, *, sandboxed: bool) -> tuple[str, str]:
    """Title and details of the notice about files that run later."""
    names = [_spell_out(name) for name in left.later]
    what = "a file that runs" if len(names) == 1 else f"{len(names)} files that run"
    where = ", outside the sandbox" if sandboxed else ""
    details = "\n".join((*names[:LISTED], *(["…"] if len(names) > LISTED else [])))
    return f"This run left {what} later{where}: {some_names(names, SHOWN)}.", details if len(names) > SHOWN else ""


def _spell_out(name: str) -> str:
    """A name on one line in which nothing hides."""
    text = visible_text(name.encode(errors="backslashreplace").decode()).text
    text = text.replace("\n", "<U+000A>").replace("\t", "<U+0009>")
    text = text if len(text) <= 120 else f"{text[:60]}…{text[-59:]}"
    folder, _, last = name.rpartition("/")
    # Such a name runs later only in a folder where every file does.
    if last.lower() in CONFIGURED and not is_place(f"{folder}/"):
        return f"{text} (git takes its folder for a repository)"
    return text


# -- walking ------------------------------------------------------------------------------------------


def _walk(walk: _Walk, root: str, prefix: str) -> None:
    """A folder with all that is beneath it, the nearest first."""
    level = [_Folder(root, prefix)]
    for number in range(LEVELS):
        deeper: list[_Folder] = []
        for folder in level:
            in_place = is_place(folder.name)
            in_git = f"/{folder.name}".endswith(GIT)
            entries = _entries(walk, folder.path)
            bare = not in_git and is_repository([entry.name for entry in entries])
            new = walk.before > 0 and (number > 0 or bare) and _has_changed(walk, folder.path)
            moved = folder.moved or (new and number > 0)
            for entry in entries:
                if in_git and entry.name not in GIT_FILES:
                    continue
                if not _is_folder(entry):
                    obeyed = bare and entry.name.lower() in CONFIGURED
                    _take(walk, entry, folder.name, in_place=in_place or obeyed, moved=moved or (obeyed and new))
                elif entry.name not in SKIPPED and entry.path not in walk.own:
                    deeper.extend(_ways_down(entry, folder.name, moved))
            if walk.cut:
                return
        level = deeper
        if not level:
            return
    walk.cut = f"only {LEVELS} levels of folders were looked at"


def _ways_down(entry: os.DirEntry[str], prefix: str, moved: bool) -> Iterator[_Folder]:
    """The folders to look into for one that was found; of environments of Python, where packages begin."""
    name = f"{prefix}{entry.name}/"
    if not os.path.isfile(f"{entry.path}/pyvenv.cfg"):
        if not f"/{prefix}".endswith("/site-packages/"):
            yield _Folder(entry.path, name, moved)
        return
    for lib in _names(f"{entry.path}/lib"):
        packages = f"{entry.path}/lib/{lib}/site-packages"
        if os.path.isdir(packages):
            yield _Folder(packages, f"{name}lib/{lib}/site-packages/", moved)


def _take(walk: _Walk, entry: os.DirEntry[str], prefix: str, *, in_place: bool, moved: bool) -> None:
    """One file, in a folder that may have been `moved`."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return  # gone already, or not ours to look at
    name = prefix + entry.name
    new = _is_news(walk, name, found)
    walk.changed += new
    scripted = entry.name == SCRIPTED and _has_scripts(entry.path)
    if scripted or runs_later(entry.name, found.st_mode, in_place=in_place):
        walk.seen.add(name)
        if new or (moved and name not in walk.known and found.st_ctime_ns < walk.before):
            walk.later.append(name)


def _look_at_home(walk: _Walk, home: Path) -> None:
    """The few places of a home folder from which something is run."""
    paths = [home / name for name in HOME_FILES]
    paths += [home / folder / name for folder in HOME_FOLDERS for name in _names(str(home / folder))]
    for path in paths:
        try:
            found = os.lstat(path)
        except OSError:
            continue  # most people have few of them
        walk.entries += 1
        name = f"~/{path.relative_to(home)}"
        if not stat.S_ISDIR(found.st_mode) and _is_news(walk, name, found):
            walk.changed += 1
            walk.later.append(name)


def _entries(walk: _Walk, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scanned:
            found = list(scanned)
    except OSError:
        return []  # gone already, or closed to us: code with our rights cannot have written there either
    room = walk.most - walk.entries
    if len(found) > room:
        # What is named like something that matters is not hidden among a crowd of other files.
        found.sort(key=lambda entry: entry.name.lower() not in CONFIGURED | PARTS and not runs_later(entry.name, 0))
        found, walk.cut = found[:room], f"only {walk.most:,} files were looked at"
    elif time.monotonic() > walk.end:
        walk.cut = f"looking was ended after {SECONDS:g} seconds, {walk.entries + len(found):,} files were looked at"
    walk.entries += len(found)
    return found


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:1000]
    except OSError:
        return []  # it need not be there


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _has_changed(walk: _Walk, folder: str) -> bool:
    try:
        return _is_after(walk, os.lstat(folder).st_ctime_ns)
    except OSError:
        return False  # it is gone, with its content


def _is_news(walk: _Walk, name: str, found: os.stat_result) -> bool:
    """Whether a file changed since the run began, and was not reported in this state before."""
    if not _is_after(walk, found.st_ctime_ns):
        return False
    mark = walk.marks[name] = FileStamp(found.st_ctime_ns, found.st_mode, found.st_size, found.st_ino)
    return walk.told.get(name) != mark


def _is_after(walk: _Walk, changed: int) -> bool:
    if changed % 1_000_000_000 == 0:
        return changed >= walk.since - WHOLE_SECONDS
    return changed >= walk.since


def _has_scripts(path: str) -> bool:
    """Whether a package.json names scripts; what cannot be read or is too large counts as if it did."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        data = os.read(descriptor, LARGEST_PACKAGE)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return b'"scripts"' in data or b"\\u" in data or len(data) >= LARGEST_PACKAGE
