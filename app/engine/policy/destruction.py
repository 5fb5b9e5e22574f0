"""What a source would destroy: what cannot be brought back by running something else.

Deletes of what the session did not make itself, work that is not under version control overwritten or thrown away,
forced pushes, dropped tables, disk tools. Only what can be read off the source is found.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from oi_tui.app.engine.policy.losses import Loss
from oi_tui.app.engine.policy.overwrites import git_options, may_destroy_unseen, runs_clean_target
from oi_tui.app.engine.policy.programs import inner_commands
from oi_tui.app.engine.policy.reading import ShellCommand, SourceFacts
from oi_tui.app.engine.policy.risks import DECEIVES, MAY_DESTROY, RUNS_LATER
from oi_tui.app.engine.policy.rules import Base
from oi_tui.app.engine.text.safe import safe_text


class Harm(NamedTuple):
    """One thing that would be destroyed."""

    what: str
    """In words that follow “it”: `deletes files`."""
    line: int
    """0 where it is true of a whole call."""
    paths: tuple[str, ...] = ()
    """The files that are deleted one by one, empty where that is not known or whole folders go."""

    @property
    def words(self) -> str:
        """The destruction in words, and its line if there is one."""
        return f"{self.what}, line {self.line}" if self.line else self.what


_DELETE, _DISK, _DROP = "deletes files", "changes disks", "drops data"
_DISCARD, _FORCE, _REMOTE = "throws changes away", "overwrites a remote branch", "deletes what others may use"

_UNPROMISED = frozenset({MAY_DESTROY, RUNS_LATER, DECEIVES})
"""Risks of calls that count as if something were destroyed."""

_ALWAYS: dict[str, str] = (
    dict.fromkeys(("shred", "srm", "wipefs", "truncate", "rimraf"), _DELETE)
    | dict.fromkeys(("fdisk", "parted", "sfdisk", "gdisk", "sgdisk", "cfdisk", "blkdiscard", "mkswap"), _DISK)
    | dict.fromkeys(("lvremove", "vgremove", "pvremove", "pvcreate", "cryptsetup", "mdadm", "hdparm"), _DISK)
    | dict.fromkeys(("dropdb", "dropuser"), _DROP)
    | dict.fromkeys(("userdel", "groupdel"), _REMOTE)
)

_PHRASES: tuple[tuple[str, str], ...] = (
    *((f"git {words}", _DISCARD) for words in ("reset --hard", "reset --merge", "checkout -f", "checkout --force")),
    *((f"git {words}", _DISCARD) for words in ("checkout --", "checkout .", "switch -f", "switch --discard-changes")),
    *((f"git {words}", _DISCARD) for words in ("stash drop", "stash clear", "reflog expire", "reflog delete")),
    *((f"git {words}", _DISCARD) for words in ("branch -D", "update-ref -d", "filter-branch", "worktree remove -f")),
    *((f"git {words}", _DISCARD) for words in ("gc --prune=now", "prune", "filter-repo", "branch --delete --force")),
    *((f"git {words} --abort", _DISCARD) for words in ("merge", "rebase", "am", "cherry-pick", "revert")),
    *((f"git {words}", _DISCARD) for words in ("checkout-index -f", "checkout-index --force", "read-tree --reset -u")),
    *((f"git {words}", _DISCARD) for words in ("worktree remove --force", "submodule deinit -f", "lfs prune")),
    ("git rm", _DELETE),
    *(
        (f"git push {option}", _FORCE)
        for option in ("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d")
    ),
    *(("rsync --delete", _DELETE), ("find -delete", _DELETE), ("rclone purge", _REMOTE), ("rclone delete", _REMOTE)),
    *(("rclone sync", _REMOTE), ("aws s3 rm", _REMOTE), ("aws s3 rb", _REMOTE), ("aws s3 sync --delete", _REMOTE)),
    *(("gsutil rm", _REMOTE), ("gh repo delete", _REMOTE), ("gh release delete", _REMOTE), ("npm unpublish", _REMOTE)),
    *(
        ("kubectl delete", _REMOTE),
        ("terraform destroy", _REMOTE),
        ("tofu destroy", _REMOTE),
        ("helm uninstall", _REMOTE),
    ),
    *(
        (f"docker {kind} {act}", _REMOTE)
        for kind in ("volume", "system", "image", "container")
        for act in ("rm", "prune")
    ),
    *(("docker rm", _REMOTE), ("docker rmi", _REMOTE), ("docker compose down -v", _REMOTE), ("zpool destroy", _DISK)),
    *(("zfs destroy", _DISK), ("mysqladmin drop", _DROP), ("redis-cli flushall", _DROP), ("redis-cli flushdb", _DROP)),
    *(("crontab -r", _DELETE), ("conda env remove", _DELETE), ("apt purge", _DELETE), ("apt-get purge", _DELETE)),
)
"""A program and the words that must all follow it, in this order."""

_SQL = re.compile(
    r"\bdrop\s+(?:table|database|schema|view|materialized\s+view|keyspace|collection)\b|\btruncate\s+table\b"
    r"|\bdelete\s+from\s+[\w.\"`\[\]]+\s*(?:;|[\"']|\Z)",
    re.IGNORECASE,
)
"""Of a deletion only one without a condition."""

_PYTHON_DELETES = re.compile(
    r"os\.(?:remove|unlink|truncate)|shutil\.rmtree|.+\.unlink|.+\.rmtree|send2trash\.send2trash"
)
_PYTHON_DROPS = re.compile(r".+\.(?:drop_all|drop_database|drop_collection|drop_table|delete_bucket|flushall|flushdb)")
_BY_ONE = re.compile(r"os\.(?:remove|unlink)|pathlib\.\w*Path\(\)(?:\.\w+\(\))*\.unlink")


def find_harm(
    reading: SourceFacts, source: str, base: Base, made: frozenset[str], losses: Sequence[Loss] = ()
) -> Harm | None:
    """The first thing the source would destroy, None if the reading finds none; `made` are the absolute paths of files
    that earlier runs of the session created, which it may delete, and `losses` what it would overwrite."""
    unpromised = (Harm(risk.what, risk.line) for risk in reading.risks if risk.what in _UNPROMISED)
    for harm in (*unpromised, *_of_commands(reading, source), *_of_python(reading), *_of_sql(source)):
        mine = harm.paths and not reading.moves and all(base.absolute(path) in made for path in harm.paths)
        if not mine:
            return harm
    return _of_losses(losses, base)


def tell_losses(losses: Sequence[Loss], base: Base) -> str:
    """The losses as a label: “overwrites notes.md, whose changes are not committed, line 3”; "" if there are none."""
    harm = _of_losses(losses, base)
    return "" if harm is None else harm.words


def _of_losses(losses: Sequence[Loss], base: Base) -> Harm | None:
    if not losses:
        return None
    first = losses[0]
    more = len({loss.path for loss in losses}) - 1
    name = safe_text(first.path.removeprefix(f"{base.cwd.rstrip('/')}/")).replace("\n", "\\n")
    if len(name) > LONGEST_NAME:
        name = f"…{name[-LONGEST_NAME:]}"
    others = f" and {more} more file{'s' if more > 1 else ''}" if more > 0 else ""
    return Harm(f"{'loses' if first.target.moved else 'overwrites'} {name}{others}{first.why}", first.target.line)


LONGEST_NAME = 80
"""Characters of a path that are shown, its end."""


def _of_commands(reading: SourceFacts, source: str) -> Iterator[Harm]:
    for command in reading.commands:
        if may_destroy_unseen(command, source):
            yield Harm("may delete files: what it runs is known at the run only", command.line)
        for one in (command, *inner_commands(command)):
            if what := _harm_of(one, alone=one is command):
                yield Harm(what, one.line, _single_files(one) if one is command else ())


def _harm_of(command: ShellCommand, alone: bool) -> str:
    """Alone, `rm` without a word deletes nothing; what is behind `xargs` is given some."""
    program, words = command.program, [word.text for word in command.words[1:]]
    if program in ("rm", "unlink"):
        return "" if alone and all(word.startswith("-") for word in words) else _DELETE
    if program.startswith("mkfs"):
        return _DISK
    if program == "dd":
        return _DISK if any(word.startswith("of=/dev/") and word != "of=/dev/null" for word in words) else ""
    if program in _ALWAYS:
        return _ALWAYS[program]
    if runs_clean_target(command):
        return _DELETE
    if program == "rsync" and any(word.startswith(("--del", "--remove-source")) for word in words):
        return _DELETE
    if program == "git":
        return _harm_of_git(words[git_options(command.words[1:]) :]) or _phrase(program, words)
    return _phrase(program, words)


def _harm_of_git(words: list[str]) -> str:
    rest = words[1:]
    match words[:1]:
        case ["clean"]:
            return "" if any(re.fullmatch(r"-[a-z]*n[a-z]*|--dry-run", word) for word in rest) else _DELETE
        case ["restore"]:
            return "" if "--staged" in rest and "--worktree" not in rest else _DISCARD
        case ["push"] if any(word.startswith(("+", ":", "--forc")) or _SHORT_FORCE.fullmatch(word) for word in rest):
            return _FORCE
        case _:
            return _phrase("git", words)


_SHORT_FORCE = re.compile(r"-[a-z]*[fd][a-z]*")


def _phrase(program: str, words: list[str]) -> str:
    return next((what for phrase, what in _PHRASES_OF.get(program, ()) if _in_order(phrase, words)), "")


def _in_order(phrase: tuple[str, ...], words: list[str]) -> bool:
    rest = iter(words)
    return all(any(_is_word(word, one) for one in rest) for word in phrase)


def _is_word(wanted: str, given: str) -> bool:
    """Long options may be abbreviated, and have a value: `--har`, `--force-with-lease=main`."""
    name = given.partition("=")[0]
    return given == wanted or (wanted.startswith("--") and len(name) > 4 and wanted.startswith(name))


_PHRASES_OF: dict[str, list[tuple[tuple[str, ...], str]]] = {}
for _text, _what in _PHRASES:
    _program, *_words = _text.split()
    _PHRASES_OF.setdefault(_program, []).append((tuple(_words), _what))


def _single_files(command: ShellCommand) -> tuple[str, ...]:
    """The files that `rm` deletes one by one; none if it takes folders, or they are known only at run time."""
    words = command.words[1:]
    folders = any(re.match(r"-\w*[rRd]|--(?:r|d)", word.text) for word in words)
    if command.program not in ("rm", "unlink") or folders or not all(word.sure for word in words):
        return ()
    return tuple(word.text for word in words if not word.text.startswith("-"))


def _of_python(reading: SourceFacts) -> Iterator[Harm]:
    unknown = {one.line for one in reading.handovers if not one.key}
    for name in reading.names:
        if _PYTHON_DROPS.fullmatch(name.name) and name.called:
            yield Harm(_DROP, name.line)
        elif _PYTHON_DELETES.fullmatch(name.name) and (name.called or name.used):
            known = _BY_ONE.fullmatch(name.name) and name.called and name.line not in unknown
            paths = (place.path for place in reading.places if place.writes and place.line == name.line)
            yield Harm(_DELETE, name.line, tuple(paths) if known else ())


def _of_sql(source: str) -> Iterator[Harm]:
    if (found := _SQL.search(source)) is not None:
        yield Harm(_DROP, source.count("\n", 0, found.start()) + 1)
