"""The programs that a rule with a `*` may allow, with the options that neither run another program nor write a file.

Anything else may be harmless too; it needs approval, or its rule says `unchecked = true`. Long options match exactly,
alone or as `--name=value`; abbreviations do not.
"""

import re
from typing import NamedTuple

from oi_tui.app.engine.policy.reading import ShellCommand, Word


class KnownOptions(NamedTuple):
    """The harmless options of a program."""

    flags: str = ""
    """Letters of options that may be joined: `-la`."""
    valued: str = ""
    """Letters that take a value, behind them or as the next word: `-n5`, `-n 5`."""
    long: frozenset[str] = frozenset()
    """With their dashes."""
    operands: int | None = None
    """How many words that are no options there may be; None for any number. More would be written to, or changed."""


def _options(flags: str = "", valued: str = "", long: str = "", operands: int | None = None) -> KnownOptions:
    named = frozenset(name if name.startswith("-") else f"--{name}" for name in long.split())
    return KnownOptions(flags, valued, named, operands)


WHATEVER = frozenset({
    *("basename", "dirname", "cat", "tac", "head", "tail", "wc", "ls", "cut", "tr", "nl", "fold", "rev", "comm", "cmp"),
    *("paste", "join", "expand", "unexpand", "seq", "echo", "true", "false", "pwd", "whoami", "id", "groups", "nproc"),
    *("uname", "arch", "uptime", "free", "du", "df", "stat", "realpath", "readlink", "which", "type", "printenv"),
    *("grep", "egrep", "fgrep", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"),
    *("cksum", "sum", "od", "sleep", "factor", "numfmt", "lsblk", "lscpu", "ps"),
})  # fmt: skip
"""Programs none of whose options does more than read and print."""

_GIT_COMMON = (
    "oneline graph decorate no-decorate all branches tags remotes stat numstat shortstat summary name-only name-status "
    "patch no-patch author committer grep all-match invert-grep since until after before max-count skip format pretty "
    "abbrev no-abbrev abbrev-commit no-abbrev-commit date relative-date follow merges no-merges first-parent reverse "
    "topo-order date-order author-date-order cached staged word-diff word-diff-regex color color-words no-color "
    "color-moved unified find-renames find-copies no-renames diff-filter ignore-all-space ignore-space-change "
    "ignore-space-at-eol ignore-blank-lines minimal patience histogram diff-algorithm function-context raw full-index "
    "binary check exit-code quiet left-right left-only right-only cherry-pick cherry-mark cherry merge-base relative "
    "no-relative pickaxe-regex pickaxe-all dirstat no-ext-diff no-textconv submodule ignore-submodules no-prefix "
    "src-prefix dst-prefix source full-history simplify-merges ancestry-path regexp-ignore-case extended-regexp "
    "fixed-strings perl-regexp no-index text compact-summary patch-with-stat boundary no-walk children parents "
    "inter-hunk-context break-rewrites"
)
_GIT_LOOK = _options("0123456789puszwbagqRrtmcWiEFPMCh", "nSGLUl", _GIT_COMMON)

OPEN: dict[str, KnownOptions] = {
    **dict.fromkeys(("git log", "git diff", "git show", "git whatchanged", "git rev-list"), _GIT_LOOK),
    "git status": _options(
        "sbvzu",
        "",
        "short branch porcelain long verbose untracked-files ignored ignore-submodules renames no-renames column "
        "no-column ahead-behind no-ahead-behind show-stash find-renames null",
    ),
    "git branch --list": _options(
        "arv",
        "",
        "list all remotes verbose color no-color column no-column contains no-contains merged no-merged sort points-at "
        "format abbrev no-abbrev ignore-case show-current",
    ),
    "git branch": _options(
        "arv",
        "",
        "list all remotes verbose color no-color column no-column contains no-contains merged no-merged sort points-at "
        "format abbrev no-abbrev ignore-case show-current",
        operands=0,
    ),
    "git tag --list": _options("n0123456789", "", "list contains no-contains merged no-merged sort points-at format"),
    "git stash list": _GIT_LOOK,
    "git stash show": _GIT_LOOK,
    "git reflog show": _GIT_LOOK,
    "git worktree list": _options("vz", "", "porcelain verbose"),
    "git remote": _options("v", "", "verbose", operands=0),
    "git config --get": _options("z", "", "get global local system worktree null show-origin show-scope type"),
    "git config --list": _options("z", "", "list global local system worktree null show-origin show-scope name-only"),
    "git rev-parse": _options(
        "q",
        "",
        "verify quiet short abbrev-ref symbolic symbolic-full-name show-toplevel show-prefix show-cdup git-dir "
        "absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository "
        "is-shallow-repository all branches tags remotes show-object-format",
    ),
    "git ls-files": _options(
        "cdmosiutkvz",
        "xX",
        "cached deleted modified others stage ignored unmerged killed directory exclude exclude-standard full-name "
        "error-unmatch abbrev deduplicate eol",
    ),
    "git ls-tree": _options("drtlz", "", "name-only name-status full-name full-tree abbrev long format object-only"),
    "git blame": _options(
        "0123456789bcelnpstwkfMC",
        "LS",
        "root show-stats porcelain line-porcelain incremental date score-debug show-email show-name show-number "
        "reverse first-parent abbrev ignore-rev minimal color-lines color-by-age",
    ),
    "git shortlog": _options("nsec", "", "numbered summary email committer group format all since until no-merges"),
    "git describe": _options("", "", "tags all long always abbrev exact-match candidates match exclude contains dirty"),
    "git merge-base": _options("a", "", "all octopus independent is-ancestor fork-point"),
    "git cat-file": _options("tspe"),
    "git grep": _options(
        "0123456789niwvlLcHhEFPGoqzaIrWp",
        "eABCm",
        "cached untracked no-index line-number ignore-case word-regexp invert-match files-with-matches name-only "
        "files-without-match count extended-regexp basic-regexp fixed-strings perl-regexp only-matching quiet "
        "recursive no-recursive color no-color context after-context before-context max-depth max-count heading break "
        "show-function function-context and or not all-match column null text exclude-standard full-name",
    ),
    "git count-objects": _options("vH", "", "verbose human-readable"),
    "diff": _options(
        "0123456789uqsrNaiEbwBtTyepcdZnH",
        "UCIxWLF",
        "unified context brief report-identical-files recursive new-file text ignore-case ignore-all-space "
        "ignore-space-change ignore-blank-lines ignore-trailing-space side-by-side width suppress-common-lines color "
        "exclude label strip-trailing-cr minimal no-dereference",
    ),
    "find": _options(
        "HLP",
        "",
        "-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -maxdepth -mindepth -depth -size "
        "-mtime -mmin -atime -amin -ctime -cmin -newer -empty -perm -user -group -links -xdev -mount -prune -true "
        "-false -follow -not -and -or -a -o -print -print0 -ls -readable -writable -executable -samefile -inum -quit",
    ),
    "rg": _options(
        "0123456789inlcvwxosSFUPLHINpquaj",
        "efgtTABCmMrjdE",
        "files hidden no-hidden no-ignore no-ignore-vcs glob iglob type type-not type-list files-with-matches "
        "files-without-match count count-matches line-number no-line-number ignore-case smart-case case-sensitive "
        "fixed-strings multiline multiline-dotall only-matching context after-context before-context max-count "
        "max-depth max-columns max-filesize sort sortr json stats heading no-heading color colors vimgrep word-regexp "
        "line-regexp invert-match replace regexp pcre2 trim null column no-column no-messages follow unrestricted "
        "passthru text encoding no-config threads with-filename no-filename",
    ),
    **dict.fromkeys(
        ("fd", "fdfind"),
        _options(
            "HIisgpF0Lau1",
            "tedESc",
            "hidden no-ignore no-ignore-vcs ignore-case case-sensitive glob fixed-strings absolute-path type extension "
            "max-depth min-depth exact-depth exclude size changed-within changed-before color print0 follow full-path "
            "max-results unrestricted relative-path",
        ),
    ),
    "sort": _options(
        "bdfghiMnRrVcCmsuz",
        "kt",
        "reverse numeric-sort unique key field-separator human-numeric-sort version-sort ignore-case "
        "ignore-leading-blanks dictionary-order general-numeric-sort month-sort stable check zero-terminated "
        "merge debug random-sort",
    ),
    "uniq": _options("cdDuiz", "fsw", "count repeated unique ignore-case skip-fields skip-chars zero-terminated", 1),
    # It takes letters behind one with a value for options too: `-Lo 2 FILE`.
    "tree": _options("adfishpugDFCntrUvxNqQAJXLPI", "", "noreport dirsfirst du prune gitignore filelimit"),
    "file": _options("bikLhNnprs0", "F", "brief mime mime-type mime-encoding dereference keep-going extension"),
    "jq": _options(
        "rcnseSCMaj0",
        "",
        "raw-output compact-output null-input slurp exit-status sort-keys color-output monochrome-output raw-input "
        "ascii-output join-output tab indent arg argjson args jsonargs stream",
    ),
    **dict.fromkeys(
        ("pip list", "pip3 list"), _options("ou", "", "outdated uptodate editable local user not-required format pre")
    ),
    **dict.fromkeys(("pip show", "pip3 show"), _options("f", "", "files")),
    **dict.fromkeys(("pip freeze", "pip3 freeze"), _options("l", "", "local user all")),
    "docker ps": _options("aqlsn", "f", "all quiet latest size no-trunc filter format last"),
    "date": _options("uRI", "", "utc rfc-email iso-8601 rfc-3339", operands=0),
    "hostname": _options("fsdiI", "", "fqdn short domain ip-address all-ip-addresses", operands=0),
}
"""Programs, or what is asked of one: as many words as it takes to say that."""

LONGEST_NAME = 3
"""Words of a name in that table."""

_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin")
_WILD = re.compile(r"[*?]")


def known_name(words: list[str]) -> str | None:
    """The known command that these words call, None if none: `git log`, `cat`."""
    folder, _, program = words[0].rpartition("/")
    if folder not in _FOLDERS:
        return None  # a program of the workspace may have any name
    if program in WHATEVER:
        return program
    names = (" ".join((program, *words[1:count])) for count in range(LONGEST_NAME, 0, -1))
    return next((name for name in names if name in OPEN), None)


def is_harmless(command: ShellCommand) -> bool:
    """Whether it is known only to read and print."""
    first = command.words[0] if command.words else Word("", sure=False)
    if not first.sure:
        return False
    name = known_name([word.text for word in command.words[:LONGEST_NAME]])
    if name is None or name in WHATEVER:
        return name is not None
    options, rest = OPEN[name], command.words[name.count(" ") + 1 :]
    if options.operands is not None:
        operands = [word for word in rest if word.text == "-" or not word.text.startswith("-")]
        if len(operands) > options.operands or not all(word.sure and word.text != "--" for word in rest):
            return False
    return all(_is_known(word.text, options) for word in rest if word.text.startswith("-"))


def _is_known(word: str, options: KnownOptions) -> bool:
    """Whether this option is one of the harmless ones; `-` and `--` are no options."""
    if word in ("-", "--") or word.partition("=")[0] in options.long:
        return True
    if word.startswith("--"):
        return False
    for letter in word[1:]:
        if letter in options.valued:
            return True
        if letter not in options.flags:
            return False
    return True


def doubt_about(words: list[str]) -> str:
    """Why a rule that holds these words and a `*` cannot be accepted as it is, "" if it can."""
    name = known_name(words)
    if name is None:
        likely = next((one for one in OPEN if one.startswith(f"{words[0]} ")), "")
        example = f" (known is, for instance, {likely})" if likely else ""
        return f"{' '.join(words[:2])} is not known to do no more than read and print{example}"
    if name in WHATEVER:
        return ""
    options = [word for word in words[name.count(" ") + 1 :] if word.startswith("-")]
    odd = next((word for word in options if _WILD.search(word) or not _is_known(word, OPEN[name])), None)
    return "" if odd is None else f"{name} {odd} is not known to be harmless"
