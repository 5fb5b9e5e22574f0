"""File and folder names that hold secrets."""

import re

_SECRET = re.compile(
    r"(?:^|[/~])\.(?:ssh|gnupg|aws|azure|kube|docker|netrc|git-credentials|npmrc|pypirc|pgpass|password-store|vault-token)"
    r"(?:/|$)"
    r"|(?:^|/)\.env(?:\.(?!example$|sample$|template$|dist$)[\w.-]+)?$"
    r"|(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)$|\.(?:pem|p12|pfx|kdbx)$"
    r"|/etc/(?:shadow|sudoers)|/proc/(?:\d+|self|\*)/environ"
    r"|/\.config/(?:gh|gcloud|rclone|hub)(?:/|$)|/(?:keyrings|kwalletd)(?:/|$)|(?:^|/)credentials(?:\.\w+)?$"
)


def names_secret(path: str) -> bool:
    """Whether the path looks like one of credentials."""
    return len(path) < 1_000 and _SECRET.search(path) is not None
