"""Poses as ssh with a Jupyter server behind it; run as a program. `POSE` names a folder. The file `mood` in it says how
it answers what it is asked (`silent`: not at all, `chatty`: all but that), `slow` how many seconds a start takes, and
`terminals` what the server has, as JSON; in `told` it notes what it was told."""

import os
import socket
import sys
import threading
import time
from pathlib import Path


def pose(folder: Path) -> None:
    """Do as ssh and our script would."""
    if "-L" not in sys.argv:
        time.sleep(float((folder / "slow").read_text()) if (folder / "slow").exists() else 0)
        say("state 0 1 /tmp/s tok")
        return
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[sys.argv.index("-L") + 1].partition(":")[0])
    listener.listen()
    threading.Thread(target=serve, args=(listener, folder), daemon=True).start()
    while sys.stdin.readline() != "#end\n":
        pass
    say("ready")
    while words := sys.stdin.readline().split():
        with (folder / "told").open("a") as told:
            told.write(f"{words[0]}\n")
        mood = (folder / "mood").read_text() if (folder / "mood").exists() else ""
        while mood:
            if mood == "chatty":
                say("alive 0")
            time.sleep(0.05)
        say("stopped" if words[0] == "stop" else f"alive {words[1]}")


def say(text: str) -> None:
    """One line of the script."""
    os.write(1, f"oi-tui {text}\n".encode())


def serve(listener: socket.socket, folder: Path) -> None:
    """Answer each request."""
    while True:
        other, _ = listener.accept()
        asked = other.recv(65_536).decode()
        body = (folder / "terminals").read_text() if "/api/terminals" in asked else "[]"
        head = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        other.sendall((head + body).encode())
        other.close()


if __name__ == "__main__":
    pose(Path(os.environ["POSE"]))
