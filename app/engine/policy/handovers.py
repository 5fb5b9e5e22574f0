"""What may run another program, or text as code, that no reading follows; and the texts that a command runs as shell.

Where a rule denies something, such a part could be the way around it, and is asked about.
"""

import re

from oi_tui.app.engine.policy.harmless import is_harmless, known_name
from oi_tui.app.engine.policy.programs import BY_WORDS, DELETES, has_inline_program, is_interpreter
from oi_tui.app.engine.policy.reading import Handover, ShellCommand, Word

QUIET = DELETES | frozenset({
    *("cp", "mv", "ln", "mkdir", "touch", "tee", "truncate", "dd", "chmod", "chown", "chgrp", "mkfifo", "mktemp"),
    *("gzip", "gunzip", "zcat", "xz", "bzip2", "unzip", "cd", "pushd", "popd", "dirs", ":", "exit", "return", "break"),
    *("continue", "shift", "jobs", "kill", "umask", "ulimit", "wait", "date", "hostname", "file", "tree", "sync"),
    *("test", "export", "declare", "typeset", "local", "readonly", "unset", "set", "shopt", "read", "printf", "ping"),
    *("git add", "git branch", "git tag", "git remote", "git stash", "git init", "git mv", "git rm", "git reset"),
    *("pip list", "pip show", "pip freeze", "xxd", "iconv", "shuf", "base64", "column", "clear", "type"),
})  # fmt: skip
"""Programs that run no other, whatever they do to files."""

_TAKE_SUBSCRIPTS = frozenset({
    *("test", "[", "unset", "printf", "read", "declare", "typeset", "local", "readonly", "export", "wait", "getopts"),
    *("mapfile", "readarray", "let"),
})  # fmt: skip
"""Builtins that are given names of variables, which may be places of an array."""

_SUBSCRIPT = re.compile(r"\[[^\]]*(?:\$\(|`|\$\{)", re.DOTALL)

_WITH_SUBCOMMANDS = frozenset({
    *("git", "npm", "pnpm", "yarn", "pip", "pip3", "uv", "cargo", "go", "docker", "podman", "kubectl", "conda"),
    *("apt", "apt-get", "brew", "gh", "poetry", "systemctl"),
})  # fmt: skip

NAMES_PROGRAM = re.compile(
    r"(?:\w*(?:PAGER|EDITOR|VISUAL|BROWSER|SHELL|SSH|RSH|ASKPASS|COMMAND|CMD|OPTIONS|OPTS?|FLAGS|PRELOAD|PATH|HOOK|HELPER)"
    r"|LESSOPEN|LESSCLOSE|GIT_\w+|LD_\w+|BASH\w*|ENV|IFS|PS[0-4]|CC|CXX|PYTHON\w+|PERL\w+|RUBY\w+|NODE_\w+|JAVA_\w+)"
)
"""Variables of the environment that name a program, or where programs are looked for."""

_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin")

_TEXT_OPTION = {
    "su": ("c", "--command"), "runuser": ("c", "--command"), "script": ("c", "--command"), "sg": ("c", "--command"),
    "flock": ("c", "--command"), "env": ("S", "--split-string"), "rsync": ("e", "--rsh"), "tar": ("I", "--to-command"),
    "newgrp": ("c", "--command"), "chroot": ("c", "--command"), "vim": ("c", "--cmd"), "ex": ("c", "--cmd"),
}  # fmt: skip
"""Options with a text that is run as shell, or holds it."""

_TEXT_WITHIN = re.compile(r"(?:[\w.-]*=)?(?:!|exec=)(.+)", re.DOTALL)
"""`alias.z=!rm x`, `--checkpoint-action=exec=rm x`"""


def find_handover(command: ShellCommand) -> Handover | None:
    """What this command may run unseen, None if it is known to run nothing else."""
    text = " ".join(word.text for word in command.words)
    named = next((name for name in command.variables if NAMES_PROGRAM.fullmatch(name)), "")
    if named:
        return Handover(f"{named}=", command.line, f"{named}= {text}")
    if command.program in _TAKE_SUBSCRIPTS and (subscript := _find_subscript(command, text)) is not None:
        return subscript
    if not command.program or is_harmless(command):
        return None
    first = command.words[0].text
    folder, _, program = first.rpartition("/")
    known = folder in _FOLDERS
    second = next((word.text for word in command.words[1:] if not word.text.startswith("-")), "")
    in_words = _has_text(command)
    if known and (program in QUIET or f"{program} {second}" in QUIET) and not in_words:
        return None
    if known and (program in BY_WORDS or has_inline_program(command) or in_words):
        return Handover(program, command.line, text)
    if known and is_interpreter(program):
        return Handover(program, command.line, " ".join(_program_words(command)))
    if known and program == "git" and command.words[1:2] and command.words[1].text.startswith("-"):
        return Handover("git", command.line, text)
    if known and program in _WITH_SUBCOMMANDS:
        return Handover(f"{program} {second}".strip(), command.line, f"{program} {second}")
    return Handover(first if folder else program, command.line, first)


def _find_subscript(command: ShellCommand, text: str) -> Handover | None:
    """`test -v 'a[$(rm x)]'`: bash runs the subscript to find the element."""
    if any(_SUBSCRIPT.search(word.text) for word in command.words):
        return Handover("arithmetic", command.line, text)
    unsure = any(not word.sure for word in command.words[1:])
    return Handover("arithmetic", command.line) if unsure else None


def _program_words(command: ShellCommand) -> list[str]:
    """`python -m pytest`, `python build.py`: up to what is run."""
    words = [word.text for word in command.words]
    for place, word in enumerate(words[1:], 1):
        if not word.startswith("-"):
            return words[: place + 1]
    return words


def _has_text(command: ShellCommand) -> bool:
    """Whether its words hold a command, or an option that is not known to be harmless."""
    words, program = [word.text for word in command.words[1:]], command.program
    if program in _TEXT_OPTION and given_texts(command):
        return True
    if program == "git":
        return words[:1] != [] and (known_name(["git", *words[:2]]) is not None or any(map(_GIT_TEXT.search, words)))
    return any(_TEXT_WITHIN.fullmatch(word) for word in words)


_GIT_TEXT = re.compile(
    r"^(?:config|bisect|filter-branch|clone|submodule|difftool|mergetool|rebase|-x)$|exec|pack|ext::|=!"
)


def given_texts(command: ShellCommand) -> list[Word]:
    """The words, or parts of words, that a shell is given to run: `su -c TEXT`, `trap TEXT EXIT`, `alias x=TEXT`."""
    program, words = command.program, command.words[1:]
    plain = [word for word in words if not word.text.startswith("-")]
    match program:
        case "trap" | "watch":
            return plain[:1] if program == "trap" else [_join(plain)]
        case "alias":
            return [Word(word.text.partition("=")[2], word.sure) for word in plain if "=" in word.text]
        case "ssh":
            return [_join(plain[1:])] if len(plain) > 1 else []
        case _ if program in _TEXT_OPTION:
            found = list(_after_option(words, *_TEXT_OPTION[program]))
        case _:
            found = []
    within = (_TEXT_WITHIN.fullmatch(word.text) for word in words)
    return [*found, *(Word(one[1]) for one in within if one is not None)]


def _join(words: list[Word]) -> Word:
    return Word(" ".join(word.text for word in words), all(word.sure for word in words))


def _after_option(words: tuple[Word, ...], letter: str, long: str) -> list[Word]:
    found: list[Word] = []
    for place, word in enumerate(words):
        name, sign, value = word.text.partition("=")
        short = re.fullmatch(rf"-[A-Za-bd-z]*?{letter}(.*)", word.text, re.DOTALL)
        if len(name) > 3 and name.startswith("--") and long.startswith(name):
            found += [Word(value, word.sure)] if sign else words[place + 1 : place + 2]
        elif short is not None:
            found += [Word(short[1], word.sure)] if short[1] else words[place + 1 : place + 2]
    return found
