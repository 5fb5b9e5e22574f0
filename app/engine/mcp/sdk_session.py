"""The official SDK, behind plain values: connections to servers, what they offer, and calls. Beside this only
`sdk_streams.py`, `logins.py` and, for the other direction, `sdk_server.py` know it. Importing it takes a second: that
is done in a thread, when a server starts.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from oi_tui.app.engine.mcp.answers import ServerAnswer, ServerFault
from oi_tui.app.engine.mcp.form import Form, FormField
from oi_tui.app.engine.mcp.offers import (
    MOST_PROMPTS,
    MOST_RESOURCES,
    MOST_TOOLS,
    PromptOffer,
    ResourceOffer,
    ToolOffer,
)
from oi_tui.app.engine.mcp.sdk_streams import ENDS_WITH_FAULT, Streams, guarded_streams
from oi_tui.app.engine.mcp.wire_guard import WireGuard
from oi_tui.app.engine.text.safe import safe_text

LISTING = 15.0
"""Seconds for each page of a list."""

TOKEN = 4
"""Characters that count as one, where a server wants an answer of so many tokens at most."""

COMPLETING = 3.0
"""Seconds for completions: somebody is typing."""

MOST_PAGES = 20


@dataclass(frozen=True, kw_only=True)
class Ears:
    """Callbacks for what a server sends by itself. None of them may raise."""

    on_change: Callable[[], None]
    """It offers something else now."""
    ask_form: Callable[[Form], Awaitable[tuple[str, dict[str, Any]]]]
    """Gives what the person did (`accept`, `decline`, `cancel`), and the values."""
    ask_model: Callable[[str], Awaitable[str]]
    """The model's answer to this text; ServerFault where it is not asked."""
    report: Callable[[str, str], None]
    """A misdeed: its kind, and in words."""
    on_end: Callable[[str], None]
    """The connection has ended, and why."""


class SdkConnection:
    """A server that answers."""

    def __init__(self, session: ClientSession, greeting: Any, report: Callable[[str, str], None]) -> None:
        self._session = session
        self._report = report
        self._can = getattr(greeting, "capabilities", None) or types.ServerCapabilities()
        self.instructions: str = getattr(greeting, "instructions", None) or ""

    async def tools(self) -> tuple[ToolOffer, ...]:
        """All of them, as it tells; ServerFault if it does not."""
        if self._can.tools is None:
            return ()
        found = await self._pages(types.ListToolsRequest, types.ListToolsResult, "tools", MOST_TOOLS)
        return tuple(_tool(one) for one in found)

    async def resources(self) -> tuple[ResourceOffer, ...]:
        if self._can.resources is None:
            return ()
        found = await self._pages(types.ListResourcesRequest, types.ListResourcesResult, "resources", MOST_RESOURCES)
        return tuple(
            ResourceOffer(uri=str(one.uri), name=one.name, description=one.description or "", mime=one.mime_type or "")
            for one in found
        )

    async def templates(self) -> tuple[ResourceOffer, ...]:
        """Patterns of addresses to read, such as `note://{day}`."""
        if self._can.resources is None:
            return ()
        kinds = types.ListResourceTemplatesRequest, types.ListResourceTemplatesResult
        found = await self._pages(*kinds, "resource_templates", MOST_RESOURCES)
        return tuple(
            ResourceOffer(uri=one.uri_template, name=one.name, description=one.description or "") for one in found
        )

    async def prompts(self) -> tuple[PromptOffer, ...]:
        """Prompts that it has ready."""
        if self._can.prompts is None:
            return ()
        found = await self._pages(types.ListPromptsRequest, types.ListPromptsResult, "prompts", MOST_PROMPTS)
        return tuple(
            PromptOffer(
                name=one.name,
                description=one.description or "",
                arguments=tuple(argument.name for argument in one.arguments or ()),
                required=tuple(argument.name for argument in one.arguments or () if argument.required),
            )
            for one in found
        )

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        on_progress: Callable[[float, float | None, str], None],
    ) -> ServerAnswer:
        """Call a tool; ServerFault if that fails. Its schema of results is not used: it could be a trap."""

        async def progress(done: float, total: float | None, message: str | None) -> None:
            on_progress(done, total, message or "")

        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
        result = await self._ask(request, types.CallToolResult, None, progress)
        parts = [_part(one) for one in result.content]
        structured = result.structured_content
        if structured is not None and not any("text" in part for part in parts):
            parts.append({"text": json.dumps(structured, ensure_ascii=False, indent=1)})
        return ServerAnswer(parts=tuple(parts), failed=bool(result.is_error))

    async def read(self, uri: str) -> ServerAnswer:
        """The content of a resource."""
        request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri))
        result = await self._ask(request, types.ReadResourceResult, LISTING * 2)
        return ServerAnswer(parts=tuple(_contents(one) for one in result.contents))

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The text of a prompt, filled in; who says what, where that is not the user alone."""
        request = types.GetPromptRequest(params=types.GetPromptRequestParams(name=name, arguments=arguments or None))
        result = await self._ask(request, types.GetPromptResult, LISTING * 2)
        said = [(one.role, _part(one.content).get("text", "")) for one in result.messages]
        alone = all(role == "user" for role, _ in said)
        return "\n\n".join(text if alone else f"{role}: {text}" for role, text in said if text)

    async def complete(
        self, offer: str, argument: str, typed: str, given: dict[str, str], *, template: bool
    ) -> tuple[str, ...]:
        """Complete an argument of a prompt or a variable of a template, as the server answers."""
        if self._can.completions is None:
            return ()
        kind = types.ResourceTemplateReference if template else types.PromptReference
        about = {"uri": offer} if template else {"name": offer}
        params = {
            "ref": kind.model_validate({"type": "ref/resource" if template else "ref/prompt", **about}),
            "argument": {"name": argument, "value": typed},
            "context": {"arguments": given},
        }
        request = types.CompleteRequest(params=types.CompleteRequestParams.model_validate(params))
        result = await self._ask(request, types.CompleteResult, COMPLETING)
        return tuple(result.completion.values)

    async def _pages(self, request: Any, result: Any, field: str, most: int) -> list[Any]:
        """Page by page, within bounds: a list need not have an end."""
        found: list[Any] = []
        cursors: set[str] = set()
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._ask(request(params=params), result, LISTING)
            found += getattr(page, field)
            cursor = page.next_cursor
            if cursor is None or len(found) > most:
                break
            if cursor in cursors:
                self._report("circular list", f"its list of {field} goes in circles; what came before is used")
                break
            cursors.add(cursor)
        else:
            self._report("endless list", f"its list of {field} has more than {MOST_PAGES} pages; the rest is left out")
        if len(found) > most:
            self._report("long list", f"it has more than {most} {field}; the rest is left out")
        return found[:most]

    async def _ask(self, request: Any, result: Any, timeout: float | None, progress: Any = None) -> Any:
        try:
            return await self._session.send_request(request, result, timeout, progress_callback=progress)
        except MCPError as error:
            raise ServerFault(error.error.message or "it answers with an error") from error
        except ValidationError as error:
            raise ServerFault(f"what it answers to {request.method} is not what the protocol has") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise ServerFault(ENDS_WITH_FAULT) from error


@asynccontextmanager
async def open_connection(
    streams: AbstractAsyncContextManager[Streams], guard: WireGuard, ears: Ears, folder: Path, patience: float
) -> AsyncIterator[SdkConnection]:
    """A server that has answered the greeting; ServerFault if it does not within `patience` seconds."""
    async with AsyncExitStack() as stack:
        raw = await stack.enter_async_context(streams)
        read, write = await stack.enter_async_context(guarded_streams(raw, guard, ears.on_end))
        session = ClientSession(
            read,
            write,
            sampling_callback=_sampling(ears),
            elicitation_callback=_elicitation(ears),
            list_roots_callback=_roots(folder),
            message_handler=_handler(ears),
            client_info=types.Implementation(name="oi-tui", version="0.1"),
        )
        await stack.enter_async_context(session)
        try:
            with anyio.fail_after(patience):
                greeting = await session.initialize()
        except TimeoutError as error:
            raise ServerFault(f"it does not answer within {patience:.0f} seconds") from error
        except MCPError as error:
            raise ServerFault(error.error.message or "it refuses the greeting") from error
        except (ValidationError, RuntimeError) as error:
            raise ServerFault("what it answers to the greeting is not what the protocol has") from error
        yield SdkConnection(session, greeting, ears.report)


def _handler(ears: Ears) -> Any:
    async def handle(message: Any) -> None:
        match message:
            case (
                types.ToolListChangedNotification()
                | types.ResourceListChangedNotification()
                | types.PromptListChangedNotification()
            ):
                ears.on_change()
            case Exception():
                ears.report("transport", f"its connection fails: {type(message).__name__}")
            case _:
                pass

    return handle


def _roots(folder: Path) -> Any:
    async def roots(context: ClientRequestContext) -> Any:
        return types.ListRootsResult.model_validate(
            {"roots": [{"uri": folder.resolve().as_uri(), "name": folder.name}]}
        )

    return roots


def _elicitation(ears: Ears) -> Any:
    async def elicit(context: ClientRequestContext, params: Any) -> Any:
        if not isinstance(params, types.ElicitRequestFormParams):
            ears.report("address asked", "it wants to send you to an address, which is refused")
            return types.ElicitResult(action="decline")
        form = Form(message=params.message, fields=tuple(_fields(params.requested_schema)))
        action, values = await ears.ask_form(form)
        if action == "accept":
            return types.ElicitResult(action="accept", content=values)
        return types.ElicitResult(action="decline" if action == "decline" else "cancel")

    return elicit


def _fields(schema: dict[str, Any]) -> Sequence[FormField]:
    required = schema.get("required") or ()
    properties = schema.get("properties") or {}
    found = []
    for name, one in list(properties.items())[:50]:
        rule = one if isinstance(one, dict) else {}
        choices = rule.get("enum") or [choice.get("const") for choice in rule.get("oneOf") or () if choice]
        found.append(
            FormField(
                name=str(name),
                title=str(rule.get("title") or name),
                description=str(rule.get("description") or ""),
                kind=str(rule.get("type") or "string"),
                choices=tuple(str(choice) for choice in choices if isinstance(choice, str | int | float)),
                required=name in required,
                format=str(rule.get("format") or ""),
            )
        )
    return found


def _sampling(ears: Ears) -> Any:
    async def sample(context: ClientRequestContext, params: Any) -> Any:
        said = [(one.role, safe_text(_part(one.content).get("text", ""))) for one in params.messages]
        alone = len(said) == 1
        texts = [text if alone else f"{role}: {text}" for role, text in said]
        try:
            answer = await ears.ask_model("\n\n".join(filter(None, (safe_text(params.system_prompt or ""), *texts))))
        except ServerFault as why:
            return types.ErrorData(code=types.INVALID_REQUEST, message=str(why))
        most = max(int(params.max_tokens), 1) * TOKEN
        content = types.TextContent(type="text", text=answer[:most])
        stop = "maxTokens" if len(answer) > most else "endTurn"
        return types.CreateMessageResult(role="assistant", content=content, model="oi-tui", stop_reason=stop)

    return sample


def _tool(one: Any) -> ToolOffer:
    hints = one.annotations
    return ToolOffer(
        name=one.name,
        title=one.title or (hints.title if hints else None) or "",
        description=one.description or "",
        schema=one.input_schema,
        reads_only=hints.read_only_hint if hints else None,
        destroys=hints.destructive_hint if hints else None,
        repeatable=hints.idempotent_hint if hints else None,
        open_world=hints.open_world_hint if hints else None,
    )


def _part(content: Any) -> dict[str, str]:
    match content:
        case types.TextContent():
            return {"text": content.text}
        case types.ImageContent():
            return {"mime": content.mime_type, "data": content.data}
        case types.AudioContent():
            return {"text": f"[audio, {content.mime_type}]"}
        case types.ResourceLink():
            return {"text": f"[resource {content.uri}: {content.name}]"}
        case types.EmbeddedResource():
            return _contents(content.resource)
        case [*several]:
            return {"text": "\n".join(_part(one).get("text", "") for one in several)}
        case _:
            return {"text": ""}


def _contents(one: Any) -> dict[str, str]:
    if isinstance(one, types.TextResourceContents):
        return {"text": one.text}
    if (one.mime_type or "").startswith("image/"):
        return {"mime": one.mime_type or "", "data": one.blob}
    return {"text": f"[{one.mime_type or 'bytes'}, {len(one.blob) * 3 // 4:,} bytes]"}
