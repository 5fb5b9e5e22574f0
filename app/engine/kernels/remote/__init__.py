"""Kernels on a Jupyter server or gateway: REST to start and end them, a WebSocket for their messages."""
