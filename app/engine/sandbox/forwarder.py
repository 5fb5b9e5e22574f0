"""The only way out, from inside: forwards a port of the sandbox's own loopback to the proxy outside.

`inside.py` receives and runs it. No first-party imports.
"""

import contextlib
import os
import signal
import socket
import threading

PIECE = 65_536


def forward(path: str, port: int) -> None:
    """A process that forwards a port of the sandbox's own loopback to the proxy's socket outside."""
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork():
        listener.close()
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    for number in range(3, 256):
        if number != listener.fileno():
            with contextlib.suppress(OSError):
                os.close(number)
    while True:
        caller, _ = listener.accept()
        threading.Thread(target=carry_both_ways, args=(caller, path), daemon=True).start()


def carry_both_ways(caller: socket.socket, path: str) -> None:
    """Copy between one caller and the proxy, in both directions, until both have ended."""
    with contextlib.suppress(OSError), caller, socket.socket(socket.AF_UNIX) as proxy:
        proxy.connect(path)
        back = threading.Thread(target=carry, args=(proxy, caller), daemon=True)
        back.start()
        carry(caller, proxy)
        back.join()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Hand on what comes until its end, and then the end."""
    with contextlib.suppress(OSError):
        while data := source.recv(PIECE):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
