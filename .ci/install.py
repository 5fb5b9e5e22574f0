"""install.py [--into PYTHON] WHAT...: installs packages, given as to pip, into the environment of this Python or of
another one, which need not have pip.

uv takes a tenth of pip's time, but does not read pip's settings: it gets them here. pip does the work if it has a
setting that uv lacks, if there is no uv, and if uv fails.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

VENV = Path(sys.prefix)
INTO = sys.argv[2] if sys.argv[1] == "--into" else sys.executable
WHAT = sys.argv[3:] if sys.argv[1] == "--into" else sys.argv[1:]
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
LIMIT = 900
"""Seconds for uv; after that the network is taken to be down."""

WORDS = {"index-url": "--index-url", "extra-index-url": "--extra-index-url", "find-links": "--find-links",
         "trusted-host": "--allow-insecure-host", "constraint": "--constraint"}  # fmt: skip
"""pip's settings that are lists of words, and uv's option for each word."""

VARIABLES = {"cert": ("SSL_CERT_FILE",), "proxy": ("HTTP_PROXY", "HTTPS_PROXY")}
"""pip's settings that uv takes from the environment."""

WITHOUT_EFFECT = frozenset(
    """
    break-system-packages cache-dir compile default-timeout disable-pip-version-check log no-cache-dir no-color
    no-compile no-input no-python-version-warning no-warn-script-location progress-bar quiet require-virtualenv retries
    root-user-action timeout verbose
    """.split()  # noqa: SIM905  lines of words are read faster than a column of quotations
)
"""pip's settings that do not change what is installed and from where."""


def pip_settings() -> dict[str, str]:
    """pip's settings for `pip install`, from its files and the environment: `{"index-url": "https://…"}`."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    rows = [line.split("=", 1) for line in listed.stdout.splitlines() if "=" in line]
    found: dict[str, str] = {}
    for section in ("global.", "install.", ":env:."):  # later ones override
        found |= {name.removeprefix(section): value for name, value in rows if name.startswith(section)}
    return {name.replace("_", "-"): str(ast.literal_eval(value)) for name, value in found.items()}


def install_with_uv(what: list[str]) -> bool:
    """Install with uv; returns whether that worked."""
    settings = {name: value for name, value in pip_settings().items() if name not in WITHOUT_EFFECT}
    if settings.keys() - WORDS.keys() - VARIABLES.keys():
        return False
    if subprocess.run([*PIP, "--only-binary", "uv", "uv"], capture_output=True, check=False).returncode:
        return False
    # As pip does: the newest version of all indexes.
    options = ["--index-strategy", "unsafe-best-match"]
    for name, option in WORDS.items():
        for word in settings.get(name, "").split():
            options += [option, word]
    environ = {variable: settings[name] for name in VARIABLES.keys() & settings.keys() for variable in VARIABLES[name]}
    # A shared cache would hard-link its files into the environments of other programs: code that may write one of those
    # would write this one too.
    cache = VENV / "uv-cache"
    command = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", INTO]
    try:
        ended = subprocess.run(
            [*command, *options, "--cache-dir", str(cache), *what],
            env=os.environ | environ, timeout=LIMIT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    return ended.returncode == 0


FAILED = """\
The packages could not be installed; the reason is above. They come from the package index of pip's settings
(python3 -m pip config list): once, a network is needed, or a proxy or an index of your own in those settings."""

ELSEWHERE = [] if sys.executable == INTO else ["--python", INTO]
BY_PIP = [*PIP[:3], *ELSEWHERE, *PIP[3:], *WHAT]
if not install_with_uv(WHAT) and (code := subprocess.run(BY_PIP, check=False).returncode):
    print(FAILED, file=sys.stderr)
    sys.exit(code)
