"""What is known of shell programs: which run others, which delete, write, or reach the network.

The tables serve labels and make decisions stricter. That a program is missing here never allows anything.
"""

import re

from oi_tui.app.engine.policy.reading import ShellCommand

SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash", "fish", "rbash"})

RIGHTS = frozenset({"sudo", "doas", "su", "pkexec", "run0"})

WRAPPERS = RIGHTS | frozenset({
    *("env", "xargs", "parallel", "nohup", "nice", "ionice", "timeout", "time", "stdbuf", "setsid", "command"),
    *("builtin", "exec", "coproc", "watch", "strace", "ltrace", "script", "ssh", "busybox", "toybox", "unbuffer"),
    *("flock", "chroot", "nsenter", "unshare", "bwrap", "firejail", "systemd-run", "chrt", "taskset", "prlimit"),
    *("setarch", "entr", "at", "docker", "podman", "kubectl", "direnv", "dbus-run-session", "xvfb-run", "find"),
    *("fd", "fdfind", "then", "do", "if", "while", "until", "else", "elif", "!", "{", "npx", "uv", "uvx", "poetry"),
    *("pipenv", "conda"),
})  # fmt: skip
"""Programs that run the command behind them: where a rule denies, each rest of their words counts as a command."""

WRAPPER_WORDS = 60
"""Words of a wrapper among which the command behind it is looked for."""

INTERPRETERS = frozenset(
    {"node", "nodejs", "deno", "bun", "php", "lua", "luajit", "perl", "ruby", "R", "Rscript", "julia", "osascript"}
) | {"tclsh", "ghci", "guile", "irb", "python-config"}

_PYTHON = re.compile(r"(?:i?python|pypy)[\d.]*w?")
_WITH_VERSION = re.compile(r"[\d.]+\Z")

BY_WORDS = WRAPPERS | SHELLS | frozenset({
    *("eval", "source", ".", "trap", "alias", "enable", "bind", "complete", "compgen", "mapfile", "readarray", "let"),
    *("awk", "gawk", "mawk", "nawk", "sed", "gsed", "ed", "ex", "vi", "vim", "nvim", "view", "emacs", "nano", "less"),
    *("more", "man", "gdb", "lldb", "sqlite3", "psql", "mysql", "ftp", "sftp", "expect", "crontab", "batch", "m4"),
    *("gnuplot", "socat", "nc", "ncat", "telnet", "screen", "tmux", "fc", "history", "tar", "zip", "rsync", "scp"),
    *("sort", "split", "wget", "curl", "openssl", "gcc", "cc", "g++", "clang", "ld", "cmake", "dpkg", "rpm", "dc"),
    *("install", "systemctl", "setpriv", "runuser", "sg", "capsh", "linux64", "linux32", "i386", "x86_64", "choom"),
    *("fakeroot", "run-parts", "newgrp", "busctl", "gpg", "mail", "sendmail", "start-stop-daemon", "logrotate"),
    *("cpio", "7z", "find", "fd", "vipe", "hash", "ld.so", "pax"),
})  # fmt: skip
"""Programs that may run others by what their words say, or by what they are given to read."""

_INLINE = re.compile(r"-(?:[A-Za-z]*[ceEnprRi]|-eval.*|-print.*|-run.*|-exec.*|-)?")
"""An interpreter is given its program in the words, or reads it from its standard input."""

DELETES = frozenset({"rm", "rmdir", "unlink", "shred", "wipefs", "trash", "trash-put", "srm"})

WRITES = frozenset({
    *("cp", "mv", "ln", "tee", "touch", "mkdir", "install", "dd", "truncate", "rsync", "unzip", "gzip", "gunzip"),
    *("xz", "bzip2", "zip", "patch", "split", "csplit", "mkfifo", "mknod", "sponge", "wget", "scp", "ed", "ex"),
})  # fmt: skip

NETWORK = frozenset({
    *("curl", "wget", "ssh", "scp", "sftp", "ftp", "nc", "ncat", "netcat", "socat", "telnet", "ping", "dig"),
    *("nslookup", "host", "nmap", "aria2c", "lynx", "w3m", "http", "https", "xh", "gh", "glab", "aws", "gcloud"),
    *("az", "traceroute", "npx", "uvx", "mail", "sendmail", "huggingface-cli", "hf", "whois", "mosh", "rclone"),
    *("kaggle",),
})  # fmt: skip

ONLY_NETWORK = frozenset({
    *("curl", "wget", "ssh", "sftp", "ftp", "nc", "ncat", "netcat", "telnet", "ping", "dig", "nslookup", "host"),
    *("nmap", "aria2c", "lynx", "w3m", "whois", "mosh"),
})  # fmt: skip
"""What is of no use without."""

_GIT_NETWORK = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "submodule", "remote"})
_GIT_DELETES = frozenset({"clean", "rm"})
_INSTALLERS = frozenset({
    *("pip", "pip3", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "apt", "apt-get", "dnf", "yum", "pacman", "apk"),
    *("brew", "conda", "mamba", "micromamba", "cargo", "gem", "go", "snap", "flatpak", "zypper", "port", "poetry"),
    *("dpkg", "rpm"),
})  # fmt: skip
_INSTALLS = frozenset(
    {"install", "add", "i", "ci", "upgrade", "update", "sync", "get", "-i", "-S", "-U", "dist-upgrade"}
)
_PERMISSIONS = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr", "setcap"})
_ENDS = frozenset({"kill", "pkill", "killall", "xkill", "shutdown", "reboot", "poweroff", "halt"})
_DISKS = frozenset({"fdisk", "parted", "sfdisk", "mount", "umount", "swapoff", "losetup", "cryptsetup", "wipefs"})


def is_python(program: str) -> bool:
    """Whether this is a name of Python."""
    return _PYTHON.fullmatch(program) is not None


def has_inline_program(command: ShellCommand) -> bool:
    """Whether an interpreter is given its program in its words, or on its standard input."""
    words = command.words[1:2]
    return is_interpreter(command.program) and (not words or _INLINE.fullmatch(words[0].text) is not None)


def is_interpreter(program: str) -> bool:
    """Whether it runs programs of its own language."""
    return is_python(program) or program in INTERPRETERS or _WITH_VERSION.sub("", program) in INTERPRETERS


def effects(command: ShellCommand) -> list[tuple[str, bool]]:
    """Its effects, as labels; True if it needs approval even in a sandbox."""
    program, words = command.program, [word.text for word in command.words[1:]]
    found: list[tuple[str, bool]] = []
    first = next((word for word in words if not word.startswith("-")), "")
    if program in RIGHTS:
        found.append(("asks for more rights", True))
    if program in DELETES or (program == "find" and "-delete" in words) or (program == "git" and first in _GIT_DELETES):
        found.append(("deletes files", False))
    if program in WRITES or (program in ("sed", "perl") and any(re.match(r"-\w*i", word) for word in words)):
        found.append(("writes files", False))
    if program == "tar" and words and re.match(r"-?[a-zA-Z]*[cxru]|--(?:create|extract|get|append|update)", words[0]):
        found.append(("writes files", False))
    with_pip = is_python(program) and words[:2] == ["-m", "pip"]
    if (program in _INSTALLERS or with_pip) and _INSTALLS.intersection(words):
        found.append(("installs packages", False))
        found.append(("network", False))
    if program in NETWORK or (program == "git" and first in _GIT_NETWORK):
        found.append(("network", False))
    if program in _PERMISSIONS:
        found.append(("changes who may use files", False))
    if program in _ENDS:
        found.append(("ends processes", False))
    if program in _DISKS or program.startswith("mkfs"):
        found.append(("changes disks", True))
    if program in ("eval", "source", "."):
        found.append(("runs text as code", True))
    if any(word.text.startswith(("/dev/tcp/", "/dev/udp/")) for word in command.words):
        found.append(("network", False))
    return found


def inner_commands(command: ShellCommand) -> list[ShellCommand]:
    """The commands that its words may hold, where it runs others: each rest of them."""
    if command.program not in WRAPPERS:
        return []
    words = command.words[:WRAPPER_WORDS]
    starts = [
        place for place in range(1, len(words)) if words[place].text[:1] not in ("-", "") and words[place].text != "."
    ]
    return [command._replace(words=words[start:], variables=()) for start in starts]
