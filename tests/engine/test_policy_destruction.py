"""What destroys something is asked about unless the session made it, or it is wanted."""

from typing import Any

import pytest

from oi_tui.app.engine.core.values import Confinement, Language, PermissionMode
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.losses import made_paths
from oi_tui.app.engine.policy.rules import Base, short_form

BASE = Base(cwd="/work", home="/home/me")
POLICY = Policy(mode="unlessDestructive", base=BASE)
ENCLOSED = Confinement(sandboxed=True, offline=True)


def decided(language: Language, source: str, policy: Policy = POLICY, **more: Any) -> PolicyDecision:
    return decide(PolicyRequest(language, source, **more), policy, "auto")


DESTROYS: dict[Language, tuple[str, ...]] = {
    "shell": (
        *(
            "rm -rf build",
            "rm x",
            "ls && rm -f a b",
            "find . -name '*.o' -delete",
            "find . -exec rm {} +",
            "xargs rm < f",
        ),
        *(
            "bash -c 'rm -rf x'",
            "sudo rm x",
            "git clean -fdx",
            "git reset --hard",
            "git reset -q --hard HEAD~1",
            "unlink a",
        ),
        *(
            "git checkout -- .",
            "git checkout .",
            "git checkout HEAD -- a",
            "git restore a",
            "git stash drop",
            "shred a",
        ),
        *("git branch -D a", "git push -f", "git push --force-with-lease origin a", "git push origin +a", "git rm a"),
        *(
            "git push origin :a",
            "git push -uf origin a",
            "git -C x push --force",
            "git push --delete origin a",
            "dropdb a",
        ),
        *(
            "psql -c 'DROP TABLE a'",
            "sqlite3 a.db 'drop table if exists b'",
            "mysql -e 'delete from a'",
            "truncate -s0 a",
        ),
        *("mkfs.ext4 /dev/sda", "dd if=a of=/dev/sda", "fdisk /dev/sda", "wipefs -a /dev/sda", "rsync -a --delete a b"),
        *(
            "docker volume rm a",
            "docker system prune -f",
            "kubectl delete pod a",
            "terraform destroy",
            "aws s3 rm s3://a",
        ),
        *(
            "python3 -c \"import os; os.remove('a')\"",
            "python3 - <<E\nimport shutil\nshutil.rmtree('a')\nE",
            "sh <<E\nrm a\nE",
        ),
        *("make clean", "make -C a clean all", "ninja clean", "cargo clean", "npm run clean", "yarn clean:all"),
        *(
            "cmake --build a --target clean",
            "mvn clean install",
            "./gradlew clean",
            "python setup.py clean",
            "make distclean",
        ),
        *(
            "$x -rf",
            "$x -rf a",
            "sudo $x -rf a",
            '"$cmd" -fr a',
            "${x} --no-preserve-root /",
            "$(echo rm) a",
            "x=rm; $x a",
            "`echo rm` a",
        ),
        *("git reset --har", "git push --forc", "git push --mirr", "git push --dele origin a", "git clean --forc"),
        *(
            "git checkout --for",
            "git merge --abort",
            "git rebase --abort",
            "git checkout-index -f -a",
            "git switch --disc a",
        ),
        *(
            "rsync -a --del a b",
            "rsync --delete-after a b",
            "rsync --remove-source-files a b",
            "git read-tree --reset -u a",
        ),
        *("git worktree remove -f a", "git update-ref -d a", "if true; then rm x; fi", "echo $(rm x)", "crontab -r"),
    ),
    "python": (
        *("!rm -rf build", "%rm x", "%%bash\nrm x", "import os\nos.remove('a')", "import shutil\nshutil.rmtree('a')"),
        *(
            "from pathlib import Path\nPath('a').unlink()",
            "import os\nlist(map(os.remove, a))",
            "import os\nos.system('rm a')",
        ),
        *(
            "import subprocess\nsubprocess.run(['rm', '-rf', path])",
            "from os import unlink as u\nu('a')",
            "db.drop_all()",
        ),
        *(
            "cursor.execute('DROP TABLE a')",
            "cursor.execute('''\ndelete from a;\n''')",
            "for p in paths:\n    p.unlink()",
        ),
        *("import os\nfor a in b:\n    os.remove(a)", "import shutil as s\ns.rmtree(a, ignore_errors=True)"),
    ),
}
HARMLESS: dict[Language, tuple[str, ...]] = {
    "shell": (
        *(
            "ls",
            "git push",
            "git push -u origin a",
            "git checkout main",
            "git checkout -b a",
            "git clean -n",
            "make -n clean",
        ),
        *("git restore --staged a", "git stash", "git commit -am 'rm x'", "echo rm x", "dd if=/dev/zero of=a count=1"),
        *(
            "echo x > a",
            "mv a b",
            "sqlite3 a 'delete from b where c = 1'",
            "rmdir a",
            "git branch -d a",
            "cp a b",
            "rm",
        ),
        *(
            "docker ps -a",
            "pip install x",
            "python x.py",
            "git reset a",
            "git diff; git add -A",
            "rsync -a a b",
            "$x -v f",
            '"$PYTHON" -m pytest -rfE',
        ),
        *("make cleaner", "make all", "npm run build", "echo clean", "cargo build", "ninja -n clean", "git merge a"),
        *("git reset --keep a", "git checkout --theirs", "$(which python) a.py", "for f in a; do $x $f; done"),
    ),
    "python": (
        *(
            "print('os.remove')",
            "df.drop(columns=['a'])",
            "open('a', 'w').write('x')",
            "import os\nos.rmdir('a')",
            "eval(x)",
        ),
        *("import shutil\nshutil.copy('a', 'b')", "x.remove(1)", "df.truncate(1)", "sql = 'select * from drops'"),
    ),
}


@pytest.mark.parametrize(("language", "source"), [(one, source) for one in DESTROYS for source in DESTROYS[one]])
@pytest.mark.parametrize("mode", ["unlessDestructive", "auto"])
def test_what_destroys_is_asked_about_also_where_all_runs_unasked_in_a_sandbox(
    mode: PermissionMode, language: Language, source: str
) -> None:
    found = decided(language, source, Policy(mode=mode, base=BASE), confinement=ENCLOSED)
    assert found.verdict == "ask"
    if mode == "unlessDestructive":
        assert found.ground == "harm"
        assert "--allow-destructive" in found.by
        assert "line " in found.by


@pytest.mark.parametrize(("language", "source"), [(one, source) for one in HARMLESS for source in HARMLESS[one]])
def test_what_destroys_nothing_that_can_be_told_runs_unasked(language: Language, source: str) -> None:
    assert decided(language, source).verdict == "allow"


@pytest.mark.parametrize(("language", "source"), [(one, source) for one in DESTROYS for source in DESTROYS[one]])
def test_the_mode_that_is_named_so_and_the_flag_run_everything(language: Language, source: str) -> None:
    assert decided(language, source, Policy(base=BASE)).verdict == "allow"
    assert decided(language, source, Policy(mode="unlessDestructive", allow_destructive=True)).verdict == "allow"


def test_a_rule_permits_what_it_names_and_the_mode_that_asks_stays_strict() -> None:
    rule = short_form("Shell(rm -rf build)", "allow")
    assert decided("shell", "rm -rf build", Policy(mode="unlessDestructive", rules=(rule,))).verdict == "allow"
    assert decided("shell", "rm -rf src", Policy(mode="unlessDestructive", rules=(rule,))).verdict == "ask"
    strict = Policy(mode="default", allow_destructive=True)
    assert decided("shell", "rm -rf src", strict).verdict == "ask"


def written(language: Language, source: str) -> frozenset[str]:
    reading = decided(language, source).reading
    assert reading is not None
    return made_paths(reading, source, BASE)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        *(("shell", "echo x > a.tmp"), ("python", "open('a.tmp', 'w')"), ("python", "open('./b/../a.tmp', 'wb')")),
        ("python", "from pathlib import Path\nPath('a.tmp').write_text('x')"),
    ],
)
def test_a_file_that_the_session_wrote_whole_may_go(language: Language, source: str) -> None:
    made = written(language, source)
    assert made == {"/work/a.tmp"}
    for tongue, deletion in (
        ("shell", "rm a.tmp"),
        ("shell", "rm -f ./a.tmp"),
        ("python", "import os\nos.remove('a.tmp')"),
        ("python", "from pathlib import Path\nPath('a.tmp').unlink()"),
    ):
        assert decided(tongue, deletion, made=made).verdict == "allow", deletion
    for tongue, deletion in (
        *(("shell", "rm -r a.tmp"), ("shell", "rm a.tmp b"), ("shell", "rm $x a.tmp"), ("shell", "cd b; rm a.tmp")),
        *(("shell", "rm a*"), ("shell", "xargs rm a.tmp"), ("python", "import os\nos.remove(x)")),
        *(
            ("python", "import shutil\nshutil.rmtree('a.tmp')"),
            ("python", "import os\nos.remove('a.tmp'); os.remove(x)"),
        ),
    ):
        assert decided(tongue, deletion, made=made).verdict == "ask", deletion


@pytest.mark.parametrize(
    ("language", "source"),
    [
        *(("shell", "echo x >> a"), ("shell", "cp a b"), ("shell", "mkdir -p src"), ("shell", "cd b; echo x > a")),
        *(("shell", "touch a"), ("shell", "cat < a"), ("python", "open('a', 'a')"), ("python", "open('a', 'r+')")),
        *(("shell", "false && echo x > a"), ("shell", "if b; then echo x > a; fi"), ("shell", "f() { echo x > a; }")),
        *(("python", "if b:\n    open('a', 'w')"), ("python", "def f():\n    open('a', 'w')")),
        *(("python", "b and open('a', 'w')"), ("python", "f = lambda: open('a', 'w')")),
        *(("python", "open(a, 'w')"), ("python", "open('a')"), ("python", "import os\nos.mkdir('src')")),
    ],
)
def test_what_may_have_been_there_before_is_not_taken_for_the_sessions_own(language: Language, source: str) -> None:
    assert written(language, source) == frozenset()
