"""The forms that outputs and files have as LMC messages."""

from typing import Any

from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.rich_text import best_text

Chunk = dict[str, Any]
Message = dict[str, Any]

IMAGES = {
    "image/png": "base64.png",
    "image/jpeg": "base64.jpeg",
    "image/gif": "base64.gif",
    "image/webp": "base64.webp",
}
"""Mime type to format of a picture."""
MARKUP = {"text/html": "html", "application/javascript": "javascript"}
"""Mime type to format of code that the computer hands to the user."""
PATH_MIME = "application/vnd.oi-tui.image-path"
"""A picture known only by its path; comes from imported messages."""

CONSOLE: Message = {"role": "computer", "type": "console"}
TEXT_OUTPUT: Message = {**CONSOLE, "format": "output"}
STATUS: Message = {"role": "server", "type": "status"}
"""How something ended; the role and type by which Open Interpreter's server says that it is done."""

_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


def output_messages(output: Output) -> list[Message]:
    """The messages that one output is; one, or two where markup has a text form beside it."""
    match output:
        case StreamOutput(name="stderr"):
            return [{**TEXT_OUTPUT, "stream": "stderr", "content": output.text}]
        case StreamOutput():
            return [{**TEXT_OUTPUT, "content": output.text}]
        case ErrorOutput():
            trace = "\n".join(output.traceback) or f"{output.name}: {output.value}"
            return [{**TEXT_OUTPUT, "error": {"name": output.name, "value": output.value}, "content": trace}]
        case RichOutput():
            return [_with_extras(message, output) for message in _rich_messages(output.data)]


def file_message(path: str) -> Message:
    """A file that came with a prompt; a picture is one of type `image`, with its content where that is kept."""
    file = attached_file(path)
    for mime, form in IMAGES.items():
        data = file.picture.removeprefix(f"data:{mime};base64,")
        if data != file.picture:
            name = {"name": file.name} if file.name else {}
            return {"role": "user", "type": "image", "format": form, **name, "content": data}
    if path.lower().endswith(_IMAGE_SUFFIXES):
        return {"role": "user", "type": "image", "format": "path", "content": path}
    return {"role": "user", "type": "file", "content": path}


def _rich_messages(data: dict[str, Any]) -> list[Message]:
    text = data.get("text/plain")
    for mime, form in (IMAGES | {PATH_MIME: "path"}).items():
        if isinstance(data.get(mime), str):
            return [{"role": "computer", "type": "image", "format": form, "content": data[mime]}]
    for mime, form in MARKUP.items():
        if isinstance(data.get(mime), str):
            markup = {"role": "computer", "type": "code", "format": form, "recipient": "user", "content": data[mime]}
            told = best_text(data) if isinstance(text, str) else ""  # as the model is sent it
            return [markup, *([{**TEXT_OUTPUT, "recipient": "assistant", "content": told}] if told else [])]
    return [{**TEXT_OUTPUT, "content": text if isinstance(text, str) else f"[{', '.join(data)}]"}]


def _with_extras(message: Message, output: RichOutput) -> Message:
    """With the recipient that an imported message had, and the id by which a display is replaced."""
    content = message.pop("content")
    match output.metadata.get("recipient"):
        case "user" | "assistant" as recipient:
            message["recipient"] = recipient
        case "both":
            message.pop("recipient", None)
    if output.display_id is not None:
        message["display_id"] = output.display_id
    return {**message, "content": content}
