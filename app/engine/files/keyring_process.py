"""One word with the keyring of this person, in a process of its own: a keyring may hang, ask, print or take the process
along. Run as `python -m`; a question comes on stdin and the answer leaves on stdout, each as one JSON object. Which
keyring it is, the package knows: the Secret Service of a desktop, KWallet, that of macOS, or one that the person chose.
"""

import json
import os
import sys
from typing import Any

MISSING = "the package “keyring” is not installed (oi-tui[keyring] brings it)"
NONE = "there is none on this machine"
GOOD = 1.0
"""Priority from which a backend counts as safe; the user must choose a lower one explicitly."""


def main() -> None:
    """Answer the one question; the answer has `why` if that failed."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what a backend prints is no answer
    question = json.loads(sys.stdin.buffer.read())
    answer = _answer(question["act"], question["service"], question["name"], question["secret"])
    with os.fdopen(answers, "w") as out:
        json.dump(answer, out)


def _answer(act: str, service: str, name: str, secret: str) -> dict[str, Any]:
    try:
        import keyring  # an optional part, imported in this process only
        from keyring import core
    except ImportError:
        return {"why": MISSING}
    try:
        backend = keyring.get_keyring()
        chosen = core.load_env() is not None or core.load_config() is not None
        if backend.priority <= 0 or (backend.priority < GOOD and not chosen):
            return {"why": NONE}
        match act:
            case "get":
                return {"secret": backend.get_password(service, name)}
            case "set":
                backend.set_password(service, name, secret)
                if backend.get_password(service, name) != secret:
                    return {"why": "it did not keep what it was given"}
            case "delete":
                if backend.get_password(service, name) is not None:
                    backend.delete_password(service, name)
    except Exception as error:  # a backend is anybody's code
        said = str(error).replace(secret, "…") if secret else str(error)
        return {"why": f"{type(error).__name__}: {said}" if said else type(error).__name__}
    return {}


if __name__ == "__main__":
    main()
