"""What lives in modules of its own, each imported when it is asked for: the screen must not wait for it."""

import click

SUBCOMMANDS = (
    "attach",
    "audit",
    "auth",
    "config",
    "doctor",
    "help",
    "kernels",
    "logs",
    "models",
    "profile",
    "replay",
    "sessions",
    "theme",
    "trust",
    "usage",
)


def subcommand(name: str) -> click.Command | None:
    """The command of a module of its own."""
    match name:
        case "attach":
            from oi_tui.app.subcommands.attach import attach

            return attach
        case "audit":
            from oi_tui.app.subcommands.audit import audit

            return audit
        case "auth":
            from oi_tui.app.subcommands.auth import auth

            return auth
        case "config":
            from oi_tui.app.subcommands.config import config

            return config
        case "doctor":
            from oi_tui.app.subcommands.doctor import doctor

            return doctor
        case "help":
            from oi_tui.app.subcommands.help import print_guide

            return print_guide
        case "kernels":
            from oi_tui.app.subcommands.kernels import kernels

            return kernels
        case "logs":
            from oi_tui.app.subcommands.logs import print_logs

            return print_logs
        case "models":
            from oi_tui.app.subcommands.models import models

            return models
        case "profile":
            from oi_tui.app.subcommands.profile import profile

            return profile
        case "replay":
            from oi_tui.app.subcommands.replay import replay

            return replay
        case "sessions":
            from oi_tui.app.subcommands.sessions import sessions

            return sessions
        case "theme":
            from oi_tui.app.subcommands.theme import theme

            return theme
        case "trust":
            from oi_tui.app.subcommands.trust import trust

            return trust
        case "usage":
            from oi_tui.app.subcommands.usage import print_usage

            return print_usage
        case _:
            return None
