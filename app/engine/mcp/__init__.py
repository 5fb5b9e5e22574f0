"""Servers of tools that speak the Model Context Protocol: which there are, what they offer, how they are called.

Imports tools (what a tool is), kernels (how a process ends), sandbox and files; the session asks it for tools.
`sdk_session.py` alone knows the official SDK, and is imported when a server starts.
"""
