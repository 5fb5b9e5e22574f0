"""What goes into a call and what comes out of it, checked: neither a model nor a tool is believed."""

from typing import Any

import msgspec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.kernels.json_cleaner import clean_json
from oi_tui.app.engine.tools.tool import Arguments, ToolFailed

LARGEST_LATE = 2_000_000
"""Characters of each form of a result that comes when its call is over."""


def check_arguments(arguments: Arguments, schema: dict[str, Any]) -> None:
    """ToolFailed if the arguments are not what the schema asks for."""
    import jsonschema  # deferred: 60 ms that a session without tools does not pay

    try:
        jsonschema.validate(arguments, schema)
    except jsonschema.ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        raise ToolFailed(f"The arguments do not fit{f' at {where}' if where else ''}: {error.message}") from error


def clean_output(output: object) -> RichOutput:
    """The same as something that can be written and read again; TypeError or ValueError if it cannot be."""
    if not isinstance(output, RichOutput):
        kind = type(output).__name__
        raise TypeError(f"a result of the type {kind}, which is neither text nor a RichOutput; what it did is done")
    plain = msgspec.convert(msgspec.to_builtins(output), RichOutput)
    return msgspec.structs.replace(plain, data=clean_json(plain.data), metadata=clean_json(plain.metadata))


def late_output(result: str | RichOutput) -> RichOutput:
    """The result of a call that is over, bounded."""
    output = RichOutput(data={"text/plain": result}) if isinstance(result, str) else clean_output(result)
    large = [kind for kind, content in output.data.items() if len(str(content)) > LARGEST_LATE]
    data = {kind: content for kind, content in output.data.items() if kind not in large}
    plain = output.data.get("text/plain")
    if "text/plain" in large and isinstance(plain, str):
        data["text/plain"] = f"{plain[:LARGEST_LATE]}\n[{len(plain) - LARGEST_LATE:,} more characters are left out]"
    return RichOutput(data=data or {"text/plain": "a result that is too large to be kept"}, is_result=True)
