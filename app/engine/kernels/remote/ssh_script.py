"""The script that starts, finds and stops a Jupyter server of ours on the other machine, for any `sh`.

It comes by stdin, so no line of it is in a list of processes, and its answers are lines that begin with `oi-tui`:
output of profiles is ignored. The token is made there and kept in a file that only its owner can read.
"""

import hashlib
import shlex
from typing import Literal

Way = Literal["socket", "port"]
"""How the server listens: a socket in a private folder, or a port of its loopback interface."""

EMPTY = 600
"""Seconds after which a server without kernels ends by itself."""

KEPT = 86_400
"""Seconds that an idle kernel to which nobody is connected is kept: a connection may be lost over night."""

END = "#end"

BOOTSTRAP = (
    r"""sh -c 'N=$(printf "\n."); S=; while IFS= read -r L; do [ "$L" = "#end" ] && break; S="$S$L${N%.}"; done; """
    r"""OI_TUI_SCRIPT=$S; export OI_TUI_SCRIPT; case ${SHELL:-/bin/sh} in *csh) exec sh -c "$OI_TUI_SCRIPT";; """
    r"""*) exec "${SHELL:-/bin/sh}" -l -c "exec sh -c \"\$OI_TUI_SCRIPT\"";; esac'"""
)
"""The command for ssh: reads the script and runs it in the login shell, whose profile says where jupyter is. Every
usual shell reads these quotes the same way."""

_COMMON = r"""
umask 077
unset OI_TUI_SCRIPT
say() { printf 'oi-tui %s\n' "$*"; }
fail() { say failed "$1" "$(tail -c 3000 "$dir/log" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')"; exit 1; }
dir=${XDG_DATA_HOME:-$HOME/.local/share}/oi-tui/ssh/$(uname -n)-$key
mkdir -p "$dir/clients" "$dir/runtime" 2>/dev/null && cd "$HOME" || fail folder
chmod 700 "$dir"
unlock() { rm -rf "$dir/lock"; trap - EXIT; }
left_behind() {
    holder=$(cat "$dir/lock/pid" 2>/dev/null)
    [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null
}
lock() {
    tries=0
    until mkdir "$dir/lock" 2>/dev/null; do
        tries=$((tries + 1))
        # One at a time, and looked at again: what another one has just broken may be held again.
        if left_behind && mkdir "$dir/breaking" 2>/dev/null; then
            if left_behind; then rm -rf "$dir/lock"; fi
            rmdir "$dir/breaking"
        fi
        if [ "$tries" -gt 1000 ]; then rm -rf "$dir/lock" "$dir/breaking"; fi
        sleep 0.1
    done
    echo $$ >"$dir/lock/pid"
    trap unlock EXIT
}
alive() {
    { read -r pid port socket <"$dir/state"; } 2>/dev/null || return 1
    kill -0 "$pid" 2>/dev/null || return 1
    { tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } 2>/dev/null | grep -q -e --ServerApp
}
forget() {
    rm -f "$dir/state" "$dir/token" "$dir/s"
    case ${socket:-} in /tmp/oi-tui-*/s) rm -rf "${socket%/s}" ;; esac
}
"""

_BEGIN = r"""
lock
fresh=0
if ! alive; then
    [ "$starts" = 1 ] || fail asleep
    forget
    fresh=1
    case $python in '~/'*) python=$HOME/${python#??} ;; esac
    if [ -z "$python" ]; then
        command -v jupyter >/dev/null 2>&1 || fail jupyter
        set -- jupyter server
    elif [ -x "$python/bin/python" ]; then
        set -- "$python/bin/python" -m jupyter_server
    elif [ -f "$python" ] && [ -x "$python" ]; then
        case $python in */jupyter) set -- "$python" server ;; *) set -- "$python" -m jupyter_server ;; esac
    else
        fail python
    fi
    socket=$dir/s
    case ${#socket}$socket in
        ?/*[!A-Za-z0-9/._-]* | ??/*[!A-Za-z0-9/._-]* | ???*) socket=$(mktemp -d /tmp/oi-tui-XXXXXX)/s ;;
    esac
    if [ "$way" = socket ]; then
        set -- "$@" "--ServerApp.sock=$socket" --ServerApp.port=8888
    else
        set -- "$@" --ServerApp.ip=127.0.0.1 --ServerApp.port=0
    fi
    if [ "$(id -u)" = 0 ]; then set -- "$@" --allow-root; fi
    set -- "$@" --no-browser --ServerApp.base_url=/ --ServerApp.certfile= --ServerApp.keyfile= \
        "--ServerApp.shutdown_no_activity_timeout=$empty" "--MappingKernelManager.cull_idle_timeout=$kept"
    od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n' >"$dir/token"
    rm -f "$dir"/runtime/jpserver-*.json
    unset JUPYTER_TOKEN JPY_PARENT_PID
    export JUPYTER_TOKEN_FILE="$dir/token" JUPYTER_RUNTIME_DIR="$dir/runtime"
    if command -v setsid >/dev/null 2>&1; then
        setsid "$@" </dev/null >"$dir/log" 2>&1 &
    else
        nohup "$@" </dev/null >"$dir/log" 2>&1 &
    fi
    pid=$! tries=0
    until grep -q '}' "$dir"/runtime/jpserver-*.json 2>/dev/null; do
        tries=$((tries + 1))
        kill -0 "$pid" 2>/dev/null || fail ended
        if [ "$tries" -gt 600 ]; then kill "$pid"; fail slow; fi
        sleep 0.1
    done
    port=$(sed -n 's/.*"port": *\([0-9]*\).*/\1/p' "$dir"/runtime/jpserver-*.json)
    # A server that knows nothing of sockets listens on a port all the same; a token of the person's own counts there.
    sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' "$dir"/runtime/jpserver-*.json | tr -d '\n' >"$dir/token"
    if [ ! -S "$socket" ]; then socket=-; fi
    echo "$pid $port $socket" >"$dir/state.new"
    mv "$dir/state.new" "$dir/state"
fi
say state "$fresh" "$port" "$socket" "$(cat "$dir/token")"
"""

_HOLD = r"""
lock
echo $$ >"$dir/clients/$client"
if alive; then unlock; say ready; else rm -f "$dir/clients/$client"; say gone; exit; fi
while read -r word number; do
    case $word in
    check) if alive; then say alive "$number"; else say gone "$number"; fi ;;
    stop)
        lock
        rm -f "$dir/clients/$client"
        for other in "$dir"/clients/*; do
            if kill -0 "$(cat "$other" 2>/dev/null)" 2>/dev/null; then say left; exit; fi
            rm -f "$other"
        done
        if alive; then
            kill "$pid" 2>/dev/null
            tries=0
            while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 80 ]; do tries=$((tries + 1)); sleep 0.05; done
            kill -9 "$pid" 2>/dev/null
        fi
        forget
        say stopped
        exit
        ;;
    esac
done
# A connection that was made again goes by the same name; this one may notice later that it is lost.
if [ "$(cat "$dir/clients/$client" 2>/dev/null)" = $$ ]; then rm -f "$dir/clients/$client"; fi
"""


def begin_script(python: str, way: Way, *, starts: bool = True) -> str:
    """Find the server or start it (only with `starts`); answers `state FRESH PORT SOCKET TOKEN` or `failed WHY LOG`,
    where WHY is `asleep` if none runs and none should be started."""
    return f"{_variables(python, way)}starts={int(starts)}\n{_COMMON}{_BEGIN}{END}\n"


def hold_script(python: str, way: Way, client: str) -> str:
    """Stay beside the server; answers `ready` or `gone`, to `check N` with `alive N` or `gone N`, and to `stop` with
    `stopped`, or `left` where somebody else uses it."""
    return f"{_variables(python, way)}client={shlex.quote(client)}\n{_COMMON}{_HOLD}{END}\n"


def _variables(python: str, way: Way) -> str:
    key = f"{way}-{hashlib.sha256(python.encode()).hexdigest()[:8]}"
    return f"python={shlex.quote(python)} way={way} key={key} empty={EMPTY} kept={KEPT}\n"
