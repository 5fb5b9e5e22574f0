"""The other wires of the scripted server, from their public documentation: Anthropic, Gemini, Ollama, responses.

    with wires_server() as server:
        server.script(Turn(text="Hello.", reasoning="Hm.", signature="c2ln"))
        ...                                       # the client of any provider, with `api_base_of(server, "gemini")`

A turn says what happens in the words of OpenAI's chat; here each wire has its own for it. The first event of each
answer has no content, so that `cut_after=2` means after one piece of text everywhere.
"""

import json
from collections.abc import Iterator
from typing import Any

from support.openai_server import Call, Json, OpenAIServer, Turn, Wire, finish_reason, pieces, usage

WIRE_MODELS = {
    "openai": "scripted",
    "ollama": "ollama/scripted",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "responses": "openai/responses/gpt-5",
}
"""A model for each wire, OpenAI's chat included, by whose name it is chosen."""

ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
GEMINI_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ENDS = {
    "anthropic": {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
    },
    "gemini": {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"},
    "ollama": {"tool_calls": "stop"},
}


def wires_server() -> OpenAIServer:
    """A server that speaks all of them."""
    return OpenAIServer(further=tuple(OTHER_WIRES.values()))


def api_base_of(server: OpenAIServer, wire: str) -> str:
    """The address to give a client of this wire."""
    root = server.url.removesuffix("/v1")
    return {"anthropic": root, "gemini": f"{root}/v1beta", "ollama": root}.get(wire, server.url)


def anthropic_events(turn: Turn, body: Json) -> Iterator[bytes]:
    """Anthropic's messages: blocks of thinking, of text and of calls, each with a start and an end."""
    counts = usage(turn, body)
    head = {"id": "msg_0", "type": "message", "role": "assistant", "content": [], "model": body["model"]}
    cached = _cached(counts)  # counted beside the others on this wire
    read = {"input_tokens": counts["prompt_tokens"] - cached, "cache_read_input_tokens": cached, "output_tokens": 1}
    yield _named("message_start", message={**head, "stop_reason": None, "stop_sequence": None, "usage": read})
    index = 0
    if turn.reasoning or turn.signature:
        yield _start(index, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in pieces(turn.reasoning, turn.chunk):
            yield _delta(index, {"type": "thinking_delta", "thinking": piece})
        yield _delta(index, {"type": "signature_delta", "signature": turn.signature}) + _stop(index)
        index += 1
    for number, piece in enumerate(pieces(turn.text, turn.chunk)):
        start = b"" if number else _start(index, {"type": "text", "text": ""})
        yield start + _delta(index, {"type": "text_delta", "text": piece})
    if turn.text:
        yield _stop(index)
        index += 1
    for number, call in enumerate(turn.calls):
        block = {"type": "tool_use", "id": call.id or f"call_{number}", "name": call.name, "input": {}}
        yield _start(index, block)
        for piece in pieces(call.arguments, turn.chunk):
            yield _delta(index, {"type": "input_json_delta", "partial_json": piece})
        yield _stop(index)
        index += 1
    if turn.finish_reason != "none":
        end = {"stop_reason": _end("anthropic", turn), "stop_sequence": None}
        yield _named("message_delta", delta=end, usage={"output_tokens": counts["completion_tokens"]})
        yield _named("message_stop")


def gemini_events(turn: Turn, body: Json) -> Iterator[bytes]:
    """Gemini's streamGenerateContent: each event is a whole small answer; signatures come with calls."""
    counts = usage(turn, {"messages": body["contents"]})
    told = {
        "promptTokenCount": counts["prompt_tokens"],
        "cachedContentTokenCount": _cached(counts),
        "candidatesTokenCount": counts["completion_tokens"],
        "totalTokenCount": counts["total_tokens"],
    }

    def event(*parts: Json, **end: str) -> bytes:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **end}
        return _data({"candidates": [candidate], "usageMetadata": told, "modelVersion": "scripted"})

    yield _data({"usageMetadata": told, "modelVersion": "scripted"})
    for piece in pieces(turn.reasoning, turn.chunk):
        yield event({"text": piece, "thought": True})
    for piece in pieces(turn.text, turn.chunk):
        yield event({"text": piece})
    for number, call in enumerate(turn.calls):
        part: Json = {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}
        yield event({**part, "thoughtSignature": turn.signature} if turn.signature and not number else part)
    if turn.finish_reason != "none":
        yield event({"text": ""}, finishReason=_end("gemini", turn))


def ollama_events(turn: Turn, body: Json) -> Iterator[bytes]:
    """Ollama's chat: lines of JSON; a call comes whole."""
    counts = usage(turn, body)

    def line(text: str = "", **more: Any) -> bytes:
        message = {"role": "assistant", "content": text, **more.pop("said", {})}
        return _line({"model": body["model"], "message": message, "done": False, **more})

    yield line()
    for piece in pieces(turn.reasoning, turn.chunk):
        yield line(said={"thinking": piece})
    for piece in pieces(turn.text, turn.chunk):
        yield line(piece)
    for call in turn.calls:
        function = {"name": call.name, "arguments": json.loads(call.arguments)}
        yield line(said={"tool_calls": [{"function": function}]})
    if turn.finish_reason != "none":
        told = {"prompt_eval_count": counts["prompt_tokens"], "eval_count": counts["completion_tokens"]}
        yield line(done=True, done_reason=_end("ollama", turn), **told)


def response_events(turn: Turn, body: Json) -> Iterator[bytes]:
    """OpenAI's responses: items that are added, filled and done, and the whole of it again at the end."""
    counts = usage(turn, {"messages": body["input"]})
    head: Json = {"id": "resp_0", "object": "response", "created_at": 0, "model": body["model"], "output": []}
    head |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "in_progress"}
    yield _named("response.created", response=head)
    output: list[Json] = []
    if turn.reasoning or turn.signature:
        sealed = turn.signature if "reasoning.encrypted_content" in body.get("include", ()) else None
        item: Json = {"id": "rs_0", "type": "reasoning", "summary": [], "encrypted_content": sealed}
        place: Json = {"output_index": 0, "item_id": "rs_0", "summary_index": 0}
        for number, piece in enumerate(pieces(turn.reasoning, turn.chunk)):
            start = b"" if number else _named("response.output_item.added", output_index=0, item=item)
            yield start + _named("response.reasoning_summary_text.delta", **place, delta=piece)
        output.append({**item, "summary": [{"type": "summary_text", "text": turn.reasoning}]})
        yield _named("response.output_item.done", output_index=0, item=output[-1])
    if turn.text:
        yield from _response_text(turn, output)
    for number, call in enumerate(turn.calls):
        yield from _response_call(turn, call, number, output)
    if turn.finish_reason == "none":
        return
    incomplete = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(finish_reason(turn))
    told: Json = {"input_tokens": counts["prompt_tokens"], "output_tokens": counts["completion_tokens"]}
    told["input_tokens_details"] = {"cached_tokens": _cached(counts)}
    end = {
        **head,
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "output": output,
        "usage": {**told, "total_tokens": counts["total_tokens"]},
    }
    yield _named(f"response.{end['status']}", response=end)


def _response_text(turn: Turn, output: list[Json]) -> Iterator[bytes]:
    place: Json = {"output_index": len(output), "item_id": "msg_0"}
    item: Json = {"id": "msg_0", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part: Json = {"type": "output_text", "text": "", "annotations": []}
    start = _named("response.output_item.added", output_index=len(output), item=item)
    start += _named("response.content_part.added", **place, content_index=0, part=part)
    for piece in pieces(turn.text, turn.chunk):
        yield start + _named("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
        start = b""
    output.append({**item, "status": "completed", "content": [{**part, "text": turn.text}]})
    yield _named("response.output_item.done", output_index=len(output) - 1, item=output[-1])


def _response_call(turn: Turn, call: Call, number: int, output: list[Json]) -> Iterator[bytes]:
    name = f"fc_{number}"
    item: Json = {"id": name, "type": "function_call", "call_id": call.id or f"call_{number}", "name": call.name}
    place: Json = {"output_index": len(output), "item_id": name}
    begun = {**item, "arguments": "", "status": "in_progress"}
    yield _named("response.output_item.added", output_index=len(output), item=begun)
    for piece in pieces(call.arguments, turn.chunk):
        yield _named("response.function_call_arguments.delta", **place, delta=piece)
    output.append({**item, "arguments": call.arguments, "status": "completed"})
    yield _named("response.function_call_arguments.done", **place, arguments=call.arguments)
    yield _named("response.output_item.done", output_index=len(output) - 1, item=output[-1])


def _cached(counts: Json) -> int:
    return int(counts.get("prompt_tokens_details", {}).get("cached_tokens", 0))


def _end(wire: str, turn: Turn) -> str:
    reason = finish_reason(turn)
    return _ENDS[wire].get(reason, reason)


def _message(turn: Turn) -> str:
    return turn.error if isinstance(turn.error, str) else str(turn.error.get("message", ""))


def _details(turn: Turn) -> Json:
    """Whatever a turn's error has beside the message."""
    return turn.error if isinstance(turn.error, dict) else {}


def _anthropic_error(turn: Turn) -> Json:
    kind = ANTHROPIC_ERRORS.get(turn.status if turn.status != 200 else 529, "api_error")
    return {"type": "error", "error": {"type": kind, "message": _message(turn), **_details(turn)}}


def _gemini_error(turn: Turn) -> Json:
    status = turn.status if turn.status != 200 else 503
    error = {"code": status, "message": _message(turn), "status": GEMINI_ERRORS.get(status, "INTERNAL")}
    return {"error": {**error, **_details(turn)}}


def _named(kind: str, **fields: Any) -> bytes:
    return b"event: %b\n" % kind.encode() + _data({"type": kind, **fields})


def _start(index: int, block: Json) -> bytes:
    return _named("content_block_start", index=index, content_block=block)


def _delta(index: int, delta: Json) -> bytes:
    return _named("content_block_delta", index=index, delta=delta)


def _stop(index: int) -> bytes:
    return _named("content_block_stop", index=index)


def _data(event: Json) -> bytes:
    return b"data: %b\n\n" % json.dumps(event).encode()


def _line(event: Json) -> bytes:
    return json.dumps(event).encode() + b"\n"


OTHER_WIRES = {
    "anthropic": Wire(
        path="/v1/messages",
        events=anthropic_events,
        failure=_anthropic_error,
        error_event=lambda turn: b"event: error\n" + _data(_anthropic_error(turn)),
        garbage=b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"text": oops\n\n',
    ),
    "gemini": Wire(
        path="/v1beta/models/[^/]+:streamGenerateContent",
        events=gemini_events,
        failure=_gemini_error,
        error_event=lambda turn: _data(_gemini_error(turn)),
        garbage=b'data: {"candidates": [{"content": {"parts": [oops\n\n',
    ),
    "ollama": Wire(
        path="/api/chat",
        events=ollama_events,
        failure=lambda turn: {"error": _message(turn)},
        error_event=lambda turn: _line({"error": _message(turn)}),
        garbage=b'{"message": {"content": oops\n',
        kind="application/x-ndjson",
    ),
    "responses": Wire(
        path="/v1/responses",
        events=response_events,
        failure=lambda turn: {"error": {"message": _message(turn), "type": "scripted", "code": None, **_details(turn)}},
        error_event=lambda turn: _named("error", code="server_error", message=_message(turn), param=None),
        garbage=b'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "delta": oops\n\n',
    ),
}
"""By name; `CHAT` of openai_server.py is the first."""
