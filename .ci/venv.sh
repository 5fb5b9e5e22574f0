#!/bin/sh
# venv.sh PYTHON FOLDER: make an environment in which pip works; an unfinished one is made again.
set -u
"$2/bin/python" -m pip --version >/dev/null 2>&1 && exit 0
"$1" -c 'import sys; sys.exit("oi-tui needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)' || exit 1
if ! "$1" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "$1 cannot make $2: install the package python3-venv (Debian and Ubuntu: apt install python3-venv), then try again." >&2
    exit 1
fi
if ! mkdir -p "$2" 2>/dev/null || ! [ -w "$2" ]; then
    echo "$2 cannot be made in $(pwd): you may not write there. Copy the checkout to a folder that is yours, and use make in the copy." >&2
    exit 1
fi
exec "$1" -m venv --clear "$2"
