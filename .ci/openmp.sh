#!/bin/sh
# openmp.sh VENV: the library libgomp, which the built-in model's runtime needs and does not contain. If the system has
# none, Debian's package is put into the environment: apt downloads and verifies it without root. If that fails, prints
# what to install; nothing else needs it.
set -u
venv=$(cd "$1" && pwd) || exit 1
loads() { "$venv/bin/python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$1" 2>/dev/null; }
if loads libgomp.so.1 || loads "$venv/lib/libgomp.so.1"; then exit 0; fi

folder=$venv/openmp
fetch() { (cd "$folder" && apt-get "$@" download libgomp1) >/dev/null 2>&1 </dev/null; }
# On a machine without lists of packages, use temporary ones.
renew() { apt-get -o Dir::State::lists="$folder/lists" update >/dev/null 2>&1 </dev/null; }
rm -rf "$folder"
mkdir -p "$folder/lists/partial"
if command -v apt-get >/dev/null && { fetch || { renew && fetch -o Dir::State::lists="$folder/lists"; }; }; then
    dpkg-deb -x "$folder"/libgomp1*.deb "$folder" && cp "$folder"/usr/lib/*/libgomp.so.1 "$venv/lib/"
fi
rm -rf "$folder"
loads "$venv/lib/libgomp.so.1" ||
    echo "The built-in model needs the system's library libgomp (Debian and Ubuntu: apt install libgomp1); other models do not." >&2
