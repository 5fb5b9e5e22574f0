"""Every hook of the engine's process, on this page; those of the screen's are in `plugins/screen_specs.py`.

A function may leave out parameters that it does not use. It is a plain function, not a coroutine, and everything waits
until it returns: what takes long belongs into a thread of its own. What is marked `tryfirst` is called first.

What decides can only be stricter than the rules, the mode and the person; what protects the person (policy, secrets,
audit, the scan for files that run by themselves) is never a plugin. A hook that observes and raises is passed over. One
that decides and raises counts as an objection: what it would have looked at is asked about, or not sent.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, overload

import pluggy

from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.chat_model import ChatRequest, Model
from oi_tui.app.engine.core.embedding import Embedding
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.programs import KernelForm, KernelProgram, LanguageProgram
from oi_tui.app.engine.core.widget_views import KernelWidget, WidgetView
from oi_tui.app.engine.hooks.values import Exporter, Importer, Judgement, Refuse
from oi_tui.app.engine.tools.tool import Tool

PROJECT = "oi_tui"
"""For pluggy."""

Function = TypeVar("Function", bound=Callable[..., object])

_hookspec = pluggy.HookspecMarker(PROJECT)
_hookimpl = pluggy.HookimplMarker(PROJECT)


class HookMarker:
    """Marks a function of a plugin as the implementation of the hook with its name. With `tryfirst` it runs before the
    implementations of other plugins, with `trylast` after them. TypeError for a coroutine: nobody would await it."""

    @overload
    def __call__(self, function: Function) -> Function: ...

    @overload
    def __call__(self, *, tryfirst: bool = False, trylast: bool = False) -> Callable[[Function], Function]: ...

    def __call__(
        self, function: Function | None = None, *, tryfirst: bool = False, trylast: bool = False
    ) -> Function | Callable[[Function], Function]:
        def mark(function: Function) -> Function:
            if inspect.iscoroutinefunction(function):
                raise TypeError(f"the hook {function.__name__} must be a plain function, not a coroutine")
            return _hookimpl(function, tryfirst=tryfirst, trylast=trylast)

        return mark if function is None else mark(function)


hookimpl = HookMarker()


class EngineHooks:
    """Called in the engine's process."""

    # -- what happens

    @_hookspec
    def event_happened(self, session_id: str, event: AnyEvent) -> None:
        """Something happened, and the log and the screen already have it. Called often: for each streamed piece."""

    @_hookspec
    def before_request(self, session_id: str, request: ChatRequest) -> None:
        """A request is about to go to the model; secrets have been removed from it."""

    @_hookspec
    def after_request(self, session_id: str, request: ChatRequest, failed: bool) -> None:
        """The answer is complete, was interrupted, or failed."""

    @_hookspec
    def before_action(self, session_id: str, block: ActionBlock) -> None:
        """An approved action is about to run: it is in the audit log, and the kernel or tool gets the source next.

        Code that runs again to rebuild the state of a kernel has `block.rerun` set, here and in `after_action`.
        """

    @_hookspec
    def after_action(self, session_id: str, block: ActionBlock) -> None:
        """An action has run; `block` has its outputs and how it ended. A repeated run only sets `block.rerun`.

        Not called for code that the end of the session interrupted.
        """

    # -- what decides, only ever stricter

    @_hookspec
    def judge_action(self, session_id: str, block: ActionBlock) -> Judgement | None:
        """Whether an action that the model proposed needs approval or must not run; None if you have no objection. Also
        called for an action that the person edited. The strictest of all plugins, rules and the mode applies."""

    @_hookspec
    def check_prompt(self, session_id: str, text: str) -> str | None:
        """What is wrong with a prompt, for the person to read: the prompt is not sent. None sends it."""

    @_hookspec
    def check_answer(self, session_id: str, text: str) -> str | None:
        """What is wrong with a complete answer that would end the turn, for the model to read: it answers again, at
        most twice in a turn. None accepts it."""

    @_hookspec
    def change_request(self, session_id: str, request: ChatRequest) -> ChatRequest | Refuse | None:
        """Replace a request that is about to be sent, say by a shorter one, or refuse it; None leaves it as it is. Each
        plugin gets what the one before returned. Secrets have been removed, and are removed again from what you return;
        it cannot add tools or pictures."""

    @_hookspec
    def change_answer(self, session_id: str, text: str) -> str | Refuse | None:
        """Replace the text of an answer before it is parsed, or refuse it; None leaves it as it is. If a plugin has
        this hook, answers are not streamed but shown when they are complete."""

    @_hookspec
    def add_instructions(self, session_id: str, folder: str) -> str | None:
        """Text for the system message, called once per session, before its first request; at most 4,000 characters are
        used. /instructions shows it with the name of the plugin."""

    # -- additions

    @_hookspec
    def register_tools(self) -> Iterable[Tool]:  # type: ignore[empty-body] # a specification
        """Tools that models may call, in every session of this engine. Called once, when the engine starts."""

    @_hookspec
    def register_models(self) -> Iterable[Model]:  # type: ignore[empty-body] # a specification
        """Models of your own: each has the four properties and the `stream` of `Model`, and a `name` such as
        `lab/echo`, with which people choose it. Called once, when the engine starts."""

    @_hookspec
    def register_kernels(self) -> Iterable[KernelProgram]:  # type: ignore[empty-body] # a specification
        """Jupyter kernels that are not installed as kernelspecs. Called once, when the engine starts."""

    @_hookspec
    def register_languages(self) -> Iterable[LanguageProgram]:  # type: ignore[empty-body] # a specification
        """Languages without a kernel: a program runs each cell as a file. Called once, when the engine starts."""

    @_hookspec
    def register_kernel_forms(self) -> Mapping[str, KernelForm]:  # type: ignore[empty-body] # a specification
        """Maps a type in the Python kernel, as `module.Class`, to another form of its values, for a renderer to draw.
        Called once, when the engine starts; the module is not imported for it."""

    @_hookspec
    def register_widget_views(self) -> Mapping[str, Callable[[KernelWidget], WidgetView | None] | str]:  # type: ignore[empty-body] # a specification
        """Maps the model of a widget in a kernel, such as `IntSliderModel` (`*` matches any characters), to a function
        that says how the widget looks as text and how it can be operated, or None to leave it to the next plugin.

        Called when the first widget is shown; a string such as `oi_tui_map.views:map_view` is imported for the first
        widget of its model. The function is called for each widget whenever its display changes, up to eight times a
        second: it should take less than a millisecond, and is not called any more if it fails or is slow five times in
        a row.
        """

    @_hookspec
    def register_embedding(self) -> Embedding | None:
        """Turns texts into vectors, so that kept functions are found by meaning; the first plugin that returns one is
        used. Called once, at the first search; its `embed` is called in a thread and may take ten seconds. Without one,
        functions are found by words only."""

    @_hookspec
    def register_exporters(self) -> Iterable[Exporter]:  # type: ignore[empty-body] # a specification
        """Formats for exporting sessions. Called when they are listed, and when a session is exported."""

    @_hookspec
    def register_importers(self) -> Iterable[Importer]:  # type: ignore[empty-body] # a specification
        """Formats for importing sessions. Called when a file is imported."""
