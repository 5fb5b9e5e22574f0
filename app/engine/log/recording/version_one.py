"""Recordings of version 1, in which kernels had words of their own for what the events of a session say."""

import msgspec

NAMES = {
    "OutputArrived": "OutputAdded",
    "DisplayUpdated": "OutputUpdated",
    "OutputCleared": "OutputsCleared",
    "OutputCapped": "OutputDropped",
    "OutputFiled": "OutputKept",
    "TailMoved": "OutputTailMoved",
    "LineReached": "ActiveLineChanged",
    "InputWanted": "InputRequested",
    "SignsChanged": "NoticeAdded",
    "RunFinished": "RunResult",
}


def upgrade(line: bytes) -> bytes:
    """The same line in the words of version 2; msgspec.DecodeError if it is no JSON."""
    if b'"KernelSaid"' not in line:
        return line
    value = msgspec.json.decode(line)
    match value:
        case {"what": {"type": "KernelSaid", "event": {"type": str(kind)} as event}} if kind in NAMES:
            event["type"] = NAMES[kind]
            if kind != "RunFinished":
                event["block_id"] = ""
            if kind == "InputWanted":
                event["request_id"] = ""
            if kind == "SignsChanged":
                event["title"] = event.pop("text", "")
                event["level"] = "info" if event.pop("responds", False) else "warning"
            return msgspec.json.encode(value)
        case _:
            return line
