"""Which environment variables hold credentials: the one rule, for what kernels see and for what messages may say.

It goes by words of the name, so it errs to the side of withholding. What only shows the way to a credential that
is kept elsewhere and guarded there (SSH_AUTH_SOCK, SSH_ASKPASS) is left alone: `git push` in a shell needs it.
"""

import re

_SECRET_WORD = re.compile(
    r"(?:[A-Z0-9]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?|PASS|SSHPASS|PWD|PAT|CREDS)[0-9]*"
)

_SECRET_VALUE = re.compile(r"://[^/\s:@]*:[^/\s@]+@|\b(?:password|accountkey)=", re.IGNORECASE)
"""An address or a connection string with a password in it."""

_HARMLESS = frozenset({"PWD", "OLDPWD", "XDG_ACTIVATION_TOKEN", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY"})
"""Folders, a window, and proxies: without their password nothing that runs here would reach the network."""


def is_credential(name: str, value: str) -> bool:
    """Whether this variable is not to be seen by code that runs here, nor its value in any message."""
    upper = name.upper()
    if upper in _HARMLESS:
        return False
    words = re.split(r"[^A-Z0-9]+", upper)
    return any(map(_SECRET_WORD.fullmatch, words)) or _SECRET_VALUE.search(value) is not None
