"""Files that other programs run or obey later, by name and place: pure, no file is opened here.

A sandbox ends at such a file: code writes a hook today, the user's own shell runs it tomorrow. The list cannot be
complete, for any program can be made to read anything; it has the files that run without another question.
"""

import stat
from collections.abc import Collection

NAMES = frozenset({
    # Python, when a folder is worked in
    *("conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py", "noxfile.py", "tasks.py", "fabfile.py"),
    *("dodo.py", "manage.py", "tox.ini", "pytest.ini", "setup.cfg", "pyproject.toml", "pyvenv.cfg", ".pdbrc"),
    *(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", "ipython_config.py"),
    *("jupyter_server_config.py", "jupyter_notebook_config.py"),
    # Builds
    *("makefile", "gnumakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "cmakelists.txt"),
    *("rakefile", "gemfile", "gruntfile.js", "gulpfile.js", "build.rs", "build.gradle", "build.gradle.kts", "gradlew"),
    *("pom.xml", "sconstruct", "wscript", "meson.build", "configure", "build.xml", "build.sbt"),
    # JavaScript: package.json itself is looked into
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".eslintrc.js", "eslint.config.js", "vite.config.js"),
    *("vite.config.ts", "webpack.config.js", "babel.config.js", "jest.config.js", "postcss.config.js"),
    # Shells, when a folder is entered or a terminal opened
    *(".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc"),
    *(".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".inputrc", ".xprofile", ".xsessionrc", ".xinitrc"),
    *("config.fish", ".tmux.conf", ".screenrc", ".pam_environment"),
    # Editors and other programs
    *(".vimrc", ".nvimrc", ".exrc", "init.lua", "init.vim", ".emacs", ".dir-locals.el", ".gdbinit", ".lldbinit"),
    *(".gitconfig", ".gitmodules", ".gitattributes", ".git", ".hgrc", "hgrc", ".mcp.json", "authorized_keys"),
    *("dockerfile", "containerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"),
    *("vagrantfile", "jenkinsfile", "procfile", ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "crontab"),
})  # fmt: skip
"""In small letters: some file systems do not tell them apart."""

ENDINGS = (".pth", ".mk", ".service", ".timer", ".socket", ".desktop", ".code-workspace", ".plist", ".rules")

PLACES = (
    *("/.git/hooks/", "/.githooks/", "/.husky/", "/.github/workflows/", "/.github/actions/", "/.circleci/"),
    *("/.forgejo/workflows/", "/.gitea/workflows/", "/.vscode/", "/.devcontainer/", "/.idea/runConfigurations/"),
    *("/.oi/", "/.claude/", "/.cursor/", "/.codex/", "/.gemini/", "/.direnv/", "/startup/", "/autostart/"),
    *("/profile.d/", "/conf.d/", "/fish/functions/", "/.vim/plugin/", "/nvim/plugin/", "/nvim/lua/"),
)
"""Folders everything in which is run or obeyed by something."""

GIT = "/.git/"
GIT_FILES = frozenset({"config", "config.worktree", "hooks"})
"""What is looked at of a repository's own folder; the rest is data."""

HEAD, CONFIGURED = "head", frozenset({"head", "config", "config.worktree", "commondir"})
"""In small letters: what git obeys of a folder that it takes for a repository, whatever that is called."""

PARTS = frozenset({"objects", "refs"})
"""Folders that make a folder a repository."""

SCRIPTED = "package.json"
"""Runs something if it names scripts."""


def is_place(folder: str) -> bool:
    """Whether everything in this folder (relative, `""` or with a `/` at the end) is such a file."""
    path = f"/{folder}"
    return path.endswith(GIT) or any(place in path for place in PLACES)


def is_repository(names: Collection[str]) -> bool:
    """Whether git would take a folder with these names in it for a (bare) repository, and run what its config says."""
    small = {name.lower() for name in names}
    return HEAD in small and ("commondir" in small or ("config" in small and not small.isdisjoint(PARTS)))


def runs_later(name: str, mode: int, *, in_place: bool = False) -> bool:
    """Whether a file of this name is of that kind."""
    small = name.lower()
    if in_place:
        return not small.endswith(".sample")  # git's own examples
    if small in NAMES or small.endswith(ENDINGS):
        return True
    return stat.S_ISREG(mode) and bool(mode & 0o111)
