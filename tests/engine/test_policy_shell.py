"""Rules for shell commands: none allows a part that it does not cover, and no denial is ever talked away."""

import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.programs import WRAPPER_WORDS
from oi_tui.app.engine.policy.reading import LONGEST_SHELL
from oi_tui.app.engine.policy.rules import Base, Effect, Rule, WrongRule, short_form
from oi_tui.app.engine.policy.shell import NESTED, read_shell
from support.bash_stubs import EVADING, EVADING_PROGRAMS, PIECES, Bash, beyond_git_log
from support.fuzzing import examples


def policy(
    *, allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = (), **more: Any
) -> Policy:
    given: list[tuple[Effect, tuple[str, ...]]] = [("allow", allow), ("ask", ask), ("deny", deny)]
    rules = tuple(short_form(text, verdict) for verdict, texts in given for text in texts)
    return Policy(rules=rules, **more)


def decided(source: str, rules: Policy, approval: ApprovalMode = "ask", **more: Any) -> PolicyDecision:
    return decide(PolicyRequest("shell", source, **more), rules, approval)


LOG = policy(allow=("Shell(git log *)",))


@pytest.mark.parametrize(
    "source",
    [
        *("git log", "git log -3 --oneline", "git log; git log -1", "git log && git log\n", "git log | git log"),
        *("git log 'a b' \"c d\"", "git log src/*.py", "git log 2>/dev/null", "git log >/dev/null 2>&1"),
        *("# what was done\ngit log  # lately\n", "LC_ALL=C git log", "  git log -3 ;\n\n"),
    ],
)
def test_U12_what_a_rule_covers_runs_and_the_rule_is_named(source: str) -> None:
    found = decided(source, LOG)
    assert (found.verdict, found.ground, found.by) == ("allow", "rule", "the rule Shell(git log *)")


@pytest.mark.parametrize(
    "source",
    [
        *("git logout", "git", "git status", "git log && rm x", "git log; rm x", "git log | sh", "git log & rm x"),
        *("git log\nrm x", "git log $(rm x)", "git log `rm x`", "git log <(rm x)", "git log >(tee x)", "git log > out"),
        *(
            "git log >> out",
            "git log &> out",
            "cat <<E\n$(rm x)\nE",
            "git log <<E\n$(rm x)\nE",
            "git log ${x:-$(rm x)}",
        ),
        *(
            "git log &&& rm x",
            "git log &",
            "git log || rm x",
            "git log |& cat",
            "git log < /etc/passwd",
            "(git log; rm)",
        ),
        *("git log $x", "git log \\\n; rm x", "git log \\; rm", "git log \r rm", "git log <<<x", "! git log", ""),
        *(
            "git log ;; git log",
            "git log ; ; rm",
            "{ git log; }",
            "if git log; then rm x; fi",
            "while git log; do rm; done",
        ),
        *(
            "git log () { rm x; }",
            "git() { rm x; }; git log",
            "alias git=rm; git log",
            "x=1; git log",
            "git log *",
            "git log -*",
        ),
        *(
            "git log ?x",
            "git log ''*",
            "git log {a,b}",
            "git log $'\\n'",
            "git log [a-z]*",
            "git log !!",
            "git log #x\nrm",
        ),
    ],
)
def test_U12_a_part_that_the_rule_does_not_cover_is_asked_about(source: str) -> None:
    assert decided(source, LOG).verdict == "ask"


OPEN_RULES = (
    *(
        "env",
        "xargs",
        "find",
        "git",
        "bash",
        "python -m",
        "sed",
        "awk",
        "tar",
        "echo",
        "sudo",
        "timeout",
        "eval",
        "time",
    ),
    *("command", "exec", "export", "sort", "curl", "rsync", "ssh", "cd", "git log", "go test", "python3 -c", "nice"),
)


def accepted(*rules: str) -> Policy:
    """A policy of those of these rules that are not refused when they are read."""
    kept: list[Rule] = []
    for rule in rules:
        with suppress(WrongRule):
            kept.append(short_form(rule, "allow"))
    return Policy(rules=tuple(kept))


@pytest.mark.parametrize(
    "source",
    [
        *("env rm x", "xargs rm", "find . -exec rm {} +", "find . -delete", "git -c core.pager=sh log", "eval rm x"),
        *("GIT_PAGER='rm x' git log", "bash -c 'rm x'", "python3 -c 'print(1)'", "sed 1e f", "sed s/a/b/e f"),
        *("awk 'BEGIN{system(\"rm x\")}'", "tar xf a --checkpoint-action=exec=rm", "tar xf a --checkpoint-act exec=rm"),
        *("{rm,-rf,x}", "$'\\x72m' x", "$x -rf", "echo | xargs rm", "sudo rm x", "timeout 5 rm x", "time rm x"),
        *("command rm x", "exec rm x", "export PATH=/tmp", "sort --compress-program=rm f", "sort -o f g"),
        *("curl -o f u", "rsync -e rm a b", "ssh host rm x", "git log --output=f", "git --exec-path=/tmp log"),
        *("git log --ext-diff", "go test -exec rm", "bash", "echo rm x | bash", "nice rm", "/bin/git log", "./git log"),
        *("git -C /tmp log", "find . -fprint f", "git log --outp=f", "sort --outp=f g", "sort -ro f g"),
    ],
)
def test_U13_no_pattern_with_a_star_covers_what_can_run_another_command(source: str) -> None:
    assert decided(source, accepted(*(f"Shell({name} *)" for name in OPEN_RULES))).verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("git clone *", "git clone -u 'touch PWNED;git-upload-pack' . x --no-local"),
        ("git clone *", "git clone --template=tpl . x"),
        *(("git difftool *", "git difftool -y --extcmd='touch PWNED' HEAD~1"),),
        *(("git *", "git difftool -y --extcmd='touch PWNED' HEAD~1"), ("git bisect *", "git bisect run CMD")),
        ("git filter-branch *", "git filter-branch --tree-filter CMD"),
        *(
            ("git *", "git config alias.zz '!CMD' && git zz"),
            ("git *", "git config core.fsmonitor 'CMD' && git status"),
        ),
        *(("wget *", f"wget {how} URL") for how in ("--use-askpass=./e.sh", "-e use_askpass=./e.sh", "--execute=x=y")),
        *(("wget *", f"wget {how}=f URL") for how in ("--append-output", "--warc-file", "--save-cookies")),
        *(("npm *", "npm exec -c CMD"), ("cmake *", "cmake -E touch X"), ("gcc *", "gcc -wrapper P,x a.c")),
        ("dpkg *", "dpkg --pre-invoke=CMD --configure -a"),
        *(
            (f"{name} *", f"{name} touch x")
            for name in ("ld.so", "setpriv", "runuser", "sg", "capsh", "linux64", "i386")
        ),
        *((f"{name} *", f"{name} touch x") for name in ("choom", "fakeroot", "run-parts")),
        *(
            (f"{name} *", f"{name} -e 1")
            for name in ("perl5.36.0", "php8.2", "lua5.4", "nodejs", "ruby3.1", "R", "ghci")
        ),
        *(("luajit *", "luajit -e 1"), ("python3 -m *", "python3 -m timeit -n1 -s 'import os' 'os.system(1)'")),
        *(("tar tf *", "tar tf a --index-file=F"), ("tar tf *", "tar tf a --volno-file=F -M")),
        *(
            ("pip list *", "pip list --log F"),
            ("uniq *", "uniq a b"),
            ("uniq *", "uniq -- -c b"),
            ("shuf *", "shuf -o f"),
        ),
        *(("uniq *", "uniq - b"), ("uniq *", "uniq f*"), ("xxd *", "xxd a b"), ("iconv *", "iconv -o f a")),
        *(("curl *", f"curl {how} f u") for how in ("--libcurl", "--stderr", "--cookie-jar", "--etag-save", "--hsts")),
        *(("curl *", "curl --remote-name u"), ("openssl *", "openssl rand -out f 1"), ("tree *", "tree -Lo 2 f")),
        *(("git branch *", "git branch new"), ("git branch *", "git branch -D old"), ("diff *", "diff -l a b")),
        *(("rg *", "rg --pre ./x a"), ("rg *", "rg -z a"), ("file *", "file -C -m f"), ("date *", "date 010100002026")),
        *(
            ("fd *", "fd -x rm"),
            ("find *", "find . -ok rm {} +"),
            ("hostname *", "hostname evil"),
            ("sort *", "sort -T x"),
        ),
        *(("git grep *", "git grep -Orm a"), ("git grep *", "git grep --open-files-in-pager=rm a")),
        *(("git log *", "git log --output f"), ("cat *", "./cat f"), ("git log --output *", "git log --output f")),
        *(("git log *", "git log --outpu=f"), ("git config --get *", "git config --get x --unset y")),
        *(
            ("git * log", "git -crm log"),
            ("git log --out* ", "git log --output f"),
            ("git lo* *", "git log --output f"),
        ),
    ],
)
def test_U21_an_open_rule_is_refused_or_asks_about_what_runs_another_program_or_writes_a_file(
    rule: str, source: str
) -> None:
    assert decided(source, accepted(f"Shell({rule})")).verdict == "ask"


@pytest.mark.parametrize(
    "source",
    [
        *("git log -3 --oneline --since=yesterday -- src", "git diff --stat HEAD~1", "git status -sb", "ls -la src"),
        *("cat a | grep -n 'x y' | sort -ru | uniq -c | head -5", "rg -n --hidden 'def f' src", "wc -l src/*.py"),
        *("find . -name '*.py' -type f", "git branch --list 'a*'", "git branch -a", "tail -n 20 log", "diff -u a b"),
    ],
)
def test_U21_open_rules_for_programs_that_only_look_hold_with_their_harmless_options(source: str) -> None:
    rules = (
        "git log",
        "git diff",
        "git status",
        "ls",
        "cat",
        "grep",
        "sort",
        "uniq",
        "head",
        "rg",
        "wc",
        "find",
        "tail",
    )
    more = ("git branch --list", "git branch", "diff")
    assert decided(source, policy(allow=tuple(f"Shell({rule} *)" for rule in (*rules, *more)))).verdict == "allow"


def test_U13_spelled_out_completely_such_a_command_is_allowed() -> None:
    tests = short_form("Shell(python -m pytest *)", "allow", unchecked=True)
    spelled = Policy(rules=(short_form("Shell(find . -name x -delete)", "allow"), tests))
    assert decided("find . -name x -delete", spelled).verdict == "allow"
    assert decided("find . -name y -delete", spelled).verdict == "ask"
    assert decided("python -m pytest -q tests", spelled).verdict == "allow"


@pytest.mark.parametrize(
    "source",
    [
        *(
            "rm x",
            "/bin/rm x",
            "\\rm x",
            "'rm' x",
            "r''m x",
            'r"m" x',
            "sudo rm x",
            "sudo -u root -- rm x",
            "env A=1 rm x",
        ),
        *(
            "xargs -0 rm",
            "find . -exec rm {} +",
            "timeout 5 nice rm x",
            "bash -c 'rm x'",
            "bash -lc 'cd /; rm x'",
            "eval 'rm x'",
        ),
        *("sudo sh -c 'rm x'", "git log; rm x", "git log | xargs -I{} rm {}", "echo $(rm x)", "cat <<E\n$(rm x)\nE"),
        *("if true; then rm x; fi", "f() { rm x; }", "for i in a; do rm $i; done", "( rm x )", "echo `rm x`", "rm x &"),
        *(
            "git log\nrm x",
            "diff <(rm x) y",
            "A=1 rm x",
            "git log &&& rm x",
            "echo ${x:-$(rm x)}",
            "time rm x",
            "! rm x",
        ),
    ],
)
@pytest.mark.parametrize("approval", ["ask", "auto"])
def test_U15_a_denied_command_is_found_wherever_it_hides(source: str, approval: ApprovalMode) -> None:
    rules = policy(allow=("Shell(rm x)", "Shell(git log *)"), ask=("Shell(rm x)",), deny=("Shell(rm *)",))
    found = decided(source, rules, approval)
    assert (found.verdict, found.by) == ("deny", "the rule Shell(rm *)")


def test_U15_of_all_rules_the_strictest_wins_whatever_the_order_and_the_length() -> None:
    rules = policy(allow=("Shell(git push origin main)",), ask=("Shell(git *)",), deny=())
    assert decided("git push origin main", rules, "auto").verdict == "ask"
    assert (
        decided("git push origin main", policy(allow=("Shell(git push origin main)",), deny=("Shell",))).verdict
        == "deny"
    )


@pytest.mark.parametrize(
    "source", ["$x -rf", "$'\\x72m' x", "echo x | sh", 'bash -c "$y"', "python -c 'x'", "e(", "eval $z", "{rm,-rf,x}"]
)
def test_U13_what_could_be_denied_is_asked_about_even_where_everything_runs(source: str) -> None:
    found = decided(source, policy(deny=("Shell(rm *)",)), "auto")
    assert found.verdict == "ask"
    assert "a part that cannot be read" in found.by
    assert decided(source, policy(), "auto").verdict == "allow"


@pytest.mark.parametrize(
    "source",
    [
        "echo " + "a" * 1_000_000,
        "rm x;" * (LONGEST_SHELL // 5 + 1),
        "$(" * 100_000,
        "(" * (NESTED + 1),
        "echo " + "(" * 40_000 + " rm x",
    ],
    ids=["long", "many", "deep", "brackets", "hidden behind brackets"],
)
def test_U14_what_is_too_long_or_too_deep_is_not_looked_at_and_no_denial_becomes_a_question(source: str) -> None:
    assert read_shell(source).has_unseen
    assert decided(source, policy(allow=("Shell(echo *)",))).verdict == "ask"
    assert decided(source, policy(deny=("Shell(rm *)",)), "auto").verdict == "deny"


@pytest.mark.parametrize("piece", ["a|", ")", "<b>", "a)", "<<<", "||", "<<E\n", "a() "])
def test_U14_no_row_of_signs_takes_long(piece: str) -> None:
    """Of some the grammar takes the square of their length, and more."""
    begun = time.thread_time()
    verdict = decided(piece * (LONGEST_SHELL // len(piece)), policy(deny=("Shell(rm *)",)), "auto").verdict
    assert verdict in ("ask", "deny")
    assert time.thread_time() - begun < 5


def test_U14_five_thousand_commands_are_all_seen() -> None:
    source = "git log;" * 5_000
    assert decided(source, LOG).verdict == "allow"
    assert decided(source + "rm x", policy(deny=("Shell(rm *)",)), "auto").verdict == "deny"


def test_U13_words_beyond_those_that_are_looked_at_hide_nothing() -> None:
    source = "env " + "A=1 " * WRAPPER_WORDS + "rm x"
    assert decided(source, policy(deny=("Shell(rm *)",)), "auto").verdict == "ask"


def test_a_shell_that_was_changed_allows_nothing_by_name() -> None:
    assert decided("git() { rm x; }", LOG).lasting
    assert not decided("git log", LOG).lasting
    assert decided("git log", LOG, changed=True).verdict == "ask"


@pytest.mark.parametrize(
    "source", ["export PATH=/tmp", "PATH=/tmp", "alias git=rm", "source x", "eval $x", "set -e", "f() { :; }"]
)
def test_what_changes_the_meaning_of_later_words_is_told(source: str) -> None:
    assert decided(source, LOG).lasting


@pytest.mark.parametrize(
    "source",
    [
        *("for PATH in ./x; do :; done", "time PATH=x", "wait -p PATH", ': "${LD_PRELOAD:=x}"', "((A=1))", "let A=1"),
        *("git log {PATH}>f", "select PATH in x; do break; done", ": $((PATH=1))", "[ -v 'a[PATH=1]' ]", "wait -pPATH"),
        *(
            "coproc PATH { :; }",
            "test -v 'a[PATH=1]'",
            "printf -v PATH x",
            "read PATH",
            "compgen -F f",
            "fc -s",
            "! x=1",
        ),
        *("[[ -v a[PATH=1] ]]", "case ${PATH:=x} in esac", "x[PATH=1]=2", "time git log", "history -s x", ". ./f"),
    ],
)
def test_U22_after_what_may_change_how_commands_are_found_no_rule_allows_by_name(source: str) -> None:
    assert decided(source, LOG).lasting
    assert decided("git log", LOG, changed=True).verdict == "ask"


@pytest.mark.parametrize("source", ["git log -3", "ls -la | head -3\ngit log && pwd", "cat 'a b' 2>/dev/null; cd x"])
def test_U22_plain_commands_leave_a_shell_as_it_was(source: str) -> None:
    assert not decided(source, LOG).lasting


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        ("ls\nrm -rf build\ncurl -s u | tee log", ("deletes files, line 2", "network, line 3", "writes files, line 3")),
        ("sudo pip install x", ("asks for more rights, line 1", "network, line 1", "installs packages, line 1")),
        ("rm a\nrm b\nrm c\nrm d", ("deletes files, lines 1, 2, 3 …",)),
        ("rm a\nrm b", ("deletes files, lines 1 and 2",)),
        ("cat ~/.ssh/id_rsa", ("names a place of secrets, line 1",)),
        ("echo a > b", ("writes files, line 1",)),
        ("ls -la | head", ()),
        ("bash -c 'ls\nrm x'", ("deletes files, line 2", "runs text as code, line 1")),
    ],
)
def test_risks_are_told_in_plain_words_with_their_lines(source: str, labels: tuple[str, ...]) -> None:
    assert decided(source, policy()).labels == labels


def test_rules_for_files_speak_of_redirections_and_of_what_programs_are_given() -> None:
    rules = policy(deny=("Edit(secret/**)", "Read(~/.ssh/**)"), base=short_base())
    for source in (
        "echo x > secret/a",
        "rm secret/a/b",
        "cp x ./a/../secret/y",
        "cat /home/me/.ssh/id",
        "cat ~/.ssh/id",
    ):
        assert decided(source, rules, "auto").verdict == "deny", source
    for source in ("cat secret/a", "echo x > other", "ls ~"):
        assert decided(source, rules, "auto").verdict == "allow", source
    assert decided("cd secret; echo x > a", rules, "auto").verdict == "ask"
    assert decided("rm -rf .", rules, "auto").verdict == "ask"


def short_base() -> Base:
    return Policy().base._replace(cwd="/work", home="/home/me")


# -- fuzzing ------------------------------------------------------------------------------------------

COVERED = st.sampled_from(
    ["git log", "git log -3", "git log 'a b'", 'git log "c" d', "LC_ALL=C git log", "git log x/*.py"]
)
UNCOVERED = st.sampled_from([
    *("rm -rf x", "rm", "git logout", "git push", "echo", "bash -c 'git log'", "env git log", "PAGER=x git log"),
    *("$(git log)", "`rm`", "<(rm)", "f() { rm; }", "x=1", "> out", "git -c a=b log", "./git log", "exec git"),
])  # fmt: skip
JOINED = st.sampled_from(
    [";", "&&", "||", "|", "\n", "&", " ", "\n\n", ";\n", "|&", " # c\n", "&&\n", "\t", "\\\n", "\r\n"]
)


@given(st.lists(COVERED, max_size=3), UNCOVERED, st.lists(COVERED, max_size=3), JOINED)
def test_U12_no_line_with_an_uncovered_part_is_ever_allowed(
    before: list[str], part: str, after: list[str], join: str
) -> None:
    for sign in (join, f" {join} "):
        source = sign.join((*before, part, *after))
        if sign.strip(" \t\\\n") or "\n" in sign.replace("\\\n", "") or not before:  # a blank makes it an argument
            assert decided(source, LOG).verdict == "ask", source


@pytest.fixture(scope="module")
def bash() -> Bash:
    return Bash()


@examples(800)
@given(source=st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@example("git log 'a\nrm x'")
@example("git log \"a\" 'b'; git log -3 2>&1 | git log >/dev/null")
def test_U12_what_is_allowed_runs_nothing_else_when_bash_itself_reads_it(bash: Bash, source: str) -> None:
    if decided(source, LOG).verdict != "allow":
        return
    ran, files = bash.run(source)
    assert ran
    assert beyond_git_log(ran) == []
    assert files == []


@pytest.fixture(scope="module")
def full_bash() -> Bash:
    return Bash(*EVADING_PROGRAMS)


@examples(800)
@given(source=st.lists(st.sampled_from(EVADING), max_size=9).map("".join))
@example("echo 'rm x' | cat")
@example("x=rm; echo $x")
def test_U23_what_runs_unasked_runs_nothing_that_is_denied_when_bash_itself_reads_it(
    full_bash: Bash, source: str
) -> None:
    if decided(source, policy(deny=("Shell(rm *)",)), "auto").verdict == "allow":
        _, files = full_bash.run(source)
        assert "ran-rm" not in files


@given(source=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=40).map("".join))
def test_reading_shell_never_raises_and_a_question_never_becomes_an_answer(source: str) -> None:
    read_shell(source)
    milder = decided(source, LOG).verdict
    stricter = decided(source, policy(allow=("Shell(git log *)",), deny=("Shell(rm *)",))).verdict
    assert ("deny", "ask", "allow").index(stricter) <= ("deny", "ask", "allow").index(milder)
    assert decided(source, policy(allow=("Shell(git log *)",), deny=("Shell",)), "auto").verdict == "deny"


@pytest.mark.parametrize("source", ["LC_ALL=C {2\udc857{\x1c眕\udc857{\x1c眕2", "git log \ud800", "echo \udfff"])
def test_half_a_surrogate_pair_is_asked_about_and_crashes_nothing(source: str) -> None:
    """The first of these ended the whole process inside the grammar."""
    assert decided(source, policy(allow=("Shell(git log *)", "Shell(echo *)"))).verdict == "ask"
    assert decided(source, policy(deny=("Shell",))).verdict == "deny"


def test_U14_letters_of_any_alphabet_within_braces_do_not_end_the_process() -> None:
    """The grammar's lexer looked them up beyond the end of a table of 256 letters."""
    program = (
        "from oi_tui.app.engine.policy.shell import read_shell\n"
        "for code in (*range(0x80, 0xD800, 97), *range(0xE000, 0x110000, 97)): read_shell('{1' + chr(code))"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=120, check=False, cwd="/").returncode == 0
    assert [word.text for word in read_shell("echo é größer '日本'").commands[0].words] == [
        "echo",
        "é",
        "größer",
        "日本",
    ]
