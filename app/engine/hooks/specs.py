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
    """Marks a function of a plugin as one that answers the hook of its name; with `tryfirst` before those of others,
    with `trylast` behind them. TypeError for a coroutine: nobody would await it."""

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
        """Something happened: it was handed to the log and the screen before. Called often, also for each streamed
        piece."""

    @_hookspec
    def before_request(self, session_id: str, request: ChatRequest) -> None:
        """The model is about to be asked for its next answer in a turn; secrets have been taken out of the request."""

    @_hookspec
    def after_request(self, session_id: str, request: ChatRequest, failed: bool) -> None:
        """The answer is complete, was interrupted, or failed."""

    @_hookspec
    def before_action(self, session_id: str, block: ActionBlock) -> None:
        """It was decided that this runs, the audit log has it on disk, and the kernel or tool gets the source next.

        Code that is repeated to rebuild the state of a kernel has `block.rerun` set, here and in `after_action`.
        """

    @_hookspec
    def after_action(self, session_id: str, block: ActionBlock) -> None:
        """It has run; `block` has its outputs and how it ended, or of a repeated run only that, as `block.rerun`.

        Not called for code that was cut off by the end of the session.
        """

    # -- what decides, never milder

    @_hookspec
    def judge_action(self, session_id: str, block: ActionBlock) -> Judgement | None:
        """Whether an action that the model proposed must be asked about, or must not run; None: nothing against it.
        Also called for what the person edited. The strictest of all plugins, rules and the mode holds."""

    @_hookspec
    def check_prompt(self, session_id: str, text: str) -> str | None:
        """What is wrong with a prompt, in words for the person: then the model is not asked; None: nothing."""

    @_hookspec
    def check_answer(self, session_id: str, text: str) -> str | None:
        """What is wrong with a whole answer that would end the turn, in words for the model, which answers again, at
        most twice in a turn; None: nothing."""

    @_hookspec
    def change_request(self, session_id: str, request: ChatRequest) -> ChatRequest | Refuse | None:
        """Another request in the place of this one, which is about to be sent: shorter, filtered; or none; None leaves
        it as it is. One plugin gets what the one before returned. Secrets have been taken out and are again taken out
        of what comes back; it offers no tool and shows no picture that was not there before."""

    @_hookspec
    def change_answer(self, session_id: str, text: str) -> str | Refuse | None:
        """Another text in the place of the model's, before anything is made of it; or none of it; None leaves it. Where
        a plugin has this hook, answers are shown when they are complete."""

    @_hookspec
    def add_instructions(self, session_id: str, folder: str) -> str | None:
        """Text for the system message of a session, asked once, before its first request; at most 4,000 characters are
        used. /instructions shows it with the name of the plugin."""

    # -- what there is

    @_hookspec
    def register_tools(self) -> Iterable[Tool]:  # type: ignore[empty-body] # a specification
        """Tools that models may call, in every session of this engine. Asked once, when the engine starts."""

    @_hookspec
    def register_models(self) -> Iterable[Model]:  # type: ignore[empty-body] # a specification
        """Models of your own: each has the four properties and the `stream` of `Model`, and a `name` such as
        `lab/echo`, by which it is chosen like any other. Asked once, when the engine starts."""

    @_hookspec
    def register_kernels(self) -> Iterable[KernelProgram]:  # type: ignore[empty-body] # a specification
        """Jupyter kernels that are not installed as kernelspecs. Asked once, when the engine starts."""

    @_hookspec
    def register_languages(self) -> Iterable[LanguageProgram]:  # type: ignore[empty-body] # a specification
        """Languages whose cells a program runs, each by itself. Asked once, when the engine starts."""

    @_hookspec
    def register_kernel_forms(self) -> Mapping[str, KernelForm]:  # type: ignore[empty-body] # a specification
        """Type in the Python kernel, as `module.Class`, to one more form of its values; a renderer can draw that. Asked
        once, when the engine starts; the module is not imported for it."""

    @_hookspec
    def register_widget_views(self) -> Mapping[str, Callable[[KernelWidget], WidgetView | None] | str]:  # type: ignore[empty-body] # a specification
        """Model of a widget in a kernel, such as `IntSliderModel` (`*` stands for any characters), to a function that
        says how it looks as text and what of it can be operated; None: the next plugin is asked.

        Asked when the first widget is shown; a string such as `oi_tui_map.views:map_view` is imported for the first
        widget of its model. The function is called for each widget whenever its display changes, up to eight times a
        second: it should take less than a millisecond, and one that fails or takes more than 50 ms five times in a row
        is not called any more.
        """

    @_hookspec
    def register_embedding(self) -> Embedding | None:
        """What turns texts into vectors, so that kept functions are found by meaning; the first plugin that gives one
        counts. Asked once, at the first search; its `embed` is called in a thread and may take ten seconds. None: by
        words only."""

    @_hookspec
    def register_exporters(self) -> Iterable[Exporter]:  # type: ignore[empty-body] # a specification
        """Formats in which sessions are written. Asked when they are listed, and when a session is exported."""

    @_hookspec
    def register_importers(self) -> Iterable[Importer]:  # type: ignore[empty-body] # a specification
        """Formats from which sessions are read. Asked when a file is imported."""
