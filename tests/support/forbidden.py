"""Programs under test where the system forbids namespaces; it is not the system's settings that are changed.

Run as a script this file is a step before the command: `limit` enters a user namespace in which no other may be made,
`filter` loads a filter of system calls that denies them.
"""

import ctypes
import os
import sys

NEW_USER = 0x10000000


def forbid_by_limit() -> None:
    """In a user namespace of our own, with a limit of zero."""
    uid, gid = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_USER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    texts = {"setgroups": "deny", "uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
    for name, text in texts.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")


def forbid_by_filter() -> None:
    """By what no process that descends from this one can undo."""
    from oi_tui.app.engine.sandbox.launcher import NO_NEW_RIGHTS, libc, load_filter
    from oi_tui.app.engine.sandbox.seccomp import filter_program

    libc.prctl(NO_NEW_RIGHTS, 1, 0, 0, 0)
    load_filter(filter_program())


if __name__ == "__main__":
    {"limit": forbid_by_limit, "filter": forbid_by_filter}[sys.argv[1]]()
    os.execvp(sys.argv[2], sys.argv[2:])
