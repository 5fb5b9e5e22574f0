#!/bin/sh
# Looks for system packages that the tests need and pip cannot install, before anything takes time. The program itself
# needs none: without bubblewrap it uses its own sandbox.
#
#   machine.sh test       the libraries that the tests load
#   machine.sh servers    a browser, a keyring, sshd
#
# Installs them after a yes, and without a question only for root where there is no terminal. Otherwise prints what to
# do. A missing package is no error here: the tests say themselves what they skip.
set -u
[ "$(uname -s)" = Linux ] || exit 0

# $1 is a library's file name. Python is available, ldconfig may not be.
loads() { "${PYTHON:-python3}" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$1" 2>/dev/null; }

apt= dnf= pacman= apk= what=
need() { apt="$apt $2" dnf="$dnf $3" pacman="$pacman $4" apk="$apk $5" what="$what${what:+, }$1"; }

if [ "$1" = servers ]; then
    browser=
    for name in chromium-headless-shell headless_shell chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && browser=$name
    done
    [ -n "$browser" ] ||
        need "a browser (for exported pages)" chromium-headless-shell chromium-headless chromium chromium
    [ -x /usr/sbin/sshd ] || command -v sshd >/dev/null ||
        need "sshd (for kernels over ssh)" "openssh-server openssh-client" "openssh-server openssh-clients" openssh openssh
    command -v dbus-run-session >/dev/null && command -v gnome-keyring-daemon >/dev/null ||
        need "a keyring (for tokens)" "dbus-daemon gnome-keyring" "dbus-daemon gnome-keyring" "dbus gnome-keyring" "dbus gnome-keyring"
else
    loads libcairo.so.2 || need "cairo (for pictures)" libcairo2 cairo cairo cairo
    # Without a terminal, as in CI, each kind of sandbox is tested; elsewhere those that are installed.
    if [ "$(id -u)" -eq 0 ] && ! { [ -t 0 ] && [ -t 2 ]; } && ! command -v bwrap >/dev/null; then
        need "bubblewrap (to be tested as well)" bubblewrap bubblewrap bubblewrap bubblewrap
    fi
fi
[ -n "$what" ] || exit 0

fetch=
if command -v apt-get >/dev/null; then
    packages=$apt tool="apt-get install -y --no-install-recommends" fetch="apt-get update"
elif command -v dnf >/dev/null; then
    packages=$dnf tool="dnf install -y"
elif command -v pacman >/dev/null; then
    packages=$pacman tool="pacman -S --noconfirm" fetch="pacman -Sy"
elif command -v apk >/dev/null; then
    packages=$apk tool="apk add" fetch="apk update"
else
    echo "Not installed: $what. Install it with the packages of this system." >&2
    exit 0
fi

rights=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Not installed: $what. As root: $tool$packages" >&2
        exit 0
    fi
    rights="sudo "
fi

if [ -t 0 ] && [ -t 2 ]; then
    printf 'Not installed: %s.\nInstall it now with “%s”? [y/N] ' "$what" "$rights$tool$packages" >&2
    read -r answer || answer=
    case $answer in [yY] | [yY][eE][sS]) ;; *) exit 0 ;; esac
elif [ -n "$rights" ]; then
    echo "Not installed: $what. To install it: $rights$tool$packages" >&2
    exit 0
else
    echo "Not installed: $what. Installing: $tool$packages" >&2
fi

export DEBIAN_FRONTEND=noninteractive
# Unquoted: these are words. If the list of packages cannot be updated, the old one may do.
[ -z "$fetch" ] || said=$($rights$fetch 2>&1 </dev/null) || echo "$said" >&2
if ! said=$($rights$tool$packages 2>&1 </dev/null); then
    echo "$said" >&2
    echo "Not installed: $what. Continuing without." >&2
fi
