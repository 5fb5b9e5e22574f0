"""Ports of the loopback interface."""

import socket


def free_port() -> int:
    """One that the kernel has just given, and nobody else was given lately."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])
