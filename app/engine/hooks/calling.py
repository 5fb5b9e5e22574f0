"""Calls plugins: what they do wrong is named, what takes too long is stopped, and everything else continues."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
import pluggy

from oi_tui.app.engine.hooks.specs import PROJECT, EngineHooks
from oi_tui.app.engine.hooks.time_limit import TookTooLong, call_within

_log = logging.getLogger(__name__)

TIME_LIMIT = 5.0
"""Time limit of a call, in seconds."""

SLOW_IN_ENGINE, SLOW_ON_SCREEN = 0.05, 0.008
"""Seconds of its own from which on a call is slow: everything else waits for it."""

VERY_SLOW = 10
"""So many times that is reported at once; less, when it is the second time: the first call may import much."""

WAITING = 10
"""Seconds of waiting that count as one of computing: a busy machine makes every call wait."""

STRIKES = 5
"""Slow calls or errors of a hook that observes; then it is not called any more in this process."""

OBSERVERS = frozenset(
    ("event_happened", "before_request", "after_request", "before_action", "after_action", "status_item")
)
"""What can be left out: everybody decides without it."""

Fault = Literal[
    "cannot be loaded", "does not fit", "has changed", "is new", "no record", "failed", "slow", "hung", "dropped"
]


class Trouble(NamedTuple):
    """An error of a plugin; reported once for each plugin, hook and kind of error."""

    plugin: str
    hook: str
    """"" for the plugin as a whole."""
    fault: Fault
    detail: str = ""
    """The error, or the time."""
    tools: bool = False
    """Whether it is about a file of tools, which is as good as a plugin here."""

    @property
    def title(self) -> str:
        """For the person, as a sentence; the names in it are a stranger's."""
        if self.tools:
            return self._about_tools
        match self.fault:
            case "cannot be loaded" | "does not fit":
                return f"The plugin {self.plugin} {self.fault}: {self.detail}"
            case "has changed":
                return f"The plugin {self.plugin} is not loaded: it has changed since you enabled it."
            case "is new":
                return f"The plugin {self.plugin} is new and not loaded ({self.detail})."
            case "no record":
                return f"No plugin is loaded: {self.detail}"
            case "failed":
                return f"The plugin {self.plugin} failed in its hook {self.hook}."
            case "slow":
                return f"The plugin {self.plugin} is slow: its hook {self.hook} took {self.detail}."
            case "hung":
                return f"The plugin {self.plugin} hung: its hook {self.hook} was stopped after {self.detail}."
            case "dropped":
                return f"The hook {self.hook} of the plugin {self.plugin} is not called any more in this session."

    @property
    def _about_tools(self) -> str:
        match self.fault:
            case "has changed":
                return f"The tools of {self.plugin} are left out: it has changed since you enabled it."
            case "is new":
                return f"{self.plugin} has tools that are not enabled: {self.detail}."
            case _:
                return f"The tools of {self.plugin} are left out: {self.detail}."

    @property
    def hint(self) -> str:
        """The meaning of the error, and what to do."""
        if self.tools:
            return f"To look at it and enable it: /plugins, or oi-tui tools enable {self.plugin}."
        name = self.plugin.partition(":")[0]
        end = f"/plugins, or oi-tui plugins disable {name}."
        match self.fault:
            case "has changed" | "is new":
                return f"To look at it and enable it: /plugins, or oi-tui plugins info {name}."
            case "no record":
                return "The built-in ones are."
            case "failed":
                return f"The session continues without it. The log says why; this notice is shown once. {end}"
            case "slow" | "hung":
                return f"Everything waits while it runs. To disable it: {end}"
            case "dropped":
                return f"It failed or was slow {STRIKES} times. To disable the plugin: {end}"
            case _:
                return f"The session continues without it. To disable it: {end}"


class PluginFailed(Exception):
    """A call of a plugin raised, or reached its time limit; it has been reported."""


class PluginHung(PluginFailed):
    """The plugin reached its time limit."""


class CallTime:
    """Measures a call in this thread, from when this is made."""

    def __init__(self) -> None:
        self._began, self._computed = time.perf_counter(), time.thread_time()

    def own(self) -> float:
        """Seconds that the call has used itself. The time of the processor says that whatever else the machine does; of
        the time on the clock, which also runs while others compute, only a share counts."""
        return max(time.thread_time() - self._computed, self.total() / WAITING)

    def total(self) -> float:
        """Seconds on the clock."""
        return time.perf_counter() - self._began


class _Record(msgspec.Struct):
    """The calls of one hook of a plugin."""

    slow: int = 0
    failures: int = 0


class Hooks:
    """The plugins of one process. Costs nothing where nobody listens."""

    def __init__(
        self,
        specs: type,
        plugins: Iterable[tuple[str, object]] = (),
        *,
        slow: float = SLOW_IN_ENGINE,
        troubles: Iterable[Trouble] = (),
        built_in: Collection[str] = (),
    ) -> None:
        """`plugins` are pairs of a name and the module or object, the first to be called first; `troubles` what was
        wrong when they were loaded. That one of the `built_in` is slow is for us to know, not for the person: it is
        logged."""
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(specs)
        self._known = hook_names(specs)
        self._slow = slow
        self._built_in = frozenset(built_in)
        self._records: dict[tuple[str, str], _Record] = {}
        self._dropped: set[tuple[str, str]] = set()
        self._logged: set[tuple[str, str, type[BaseException]]] = set()
        self.troubles: list[Trouble] = list(troubles)
        """In the order in which they came."""
        self.on_trouble: Callable[[Trouble], None] = lambda trouble: None
        """Called for each that comes."""
        self.plugins: dict[str, tuple[str, ...]] = {}
        """Name of each plugin, and the hooks that it has."""
        for name, plugin in reversed(list(plugins)):  # pluggy calls the last one first
            self._register(name, plugin)
        self.plugins = dict(reversed(self.plugins.items()))

    def _register(self, name: str, plugin: object) -> None:
        """A plugin that does not fit the specifications is named in the log and is as if it were not there."""
        try:
            self._manager.register(plugin, name)
            callers = self._manager.get_hookcallers(plugin) or []
            unknown = [caller.name for caller in callers if caller.name not in self._known]
            if unknown:
                raise ValueError(f"there is no hook {', '.join(unknown)} in this process")
        except (pluggy.PluginValidationError, ValueError) as error:
            _log.exception("the plugin %s does not fit", name)
            if self._manager.get_plugin(name) is plugin:
                self._manager.unregister(name=name)
            self._tell(Trouble(name, "", "does not fit", error_line(error)))
            return
        self.plugins[name] = tuple(caller.name for caller in callers)

    def listens(self, hook: str) -> bool:
        """Whether any plugin has a function for this hook."""
        return bool(getattr(self._manager.hook, hook).get_hookimpls())

    def call(self, hook: str, /, **values: object) -> list[str]:
        """Tell every plugin; returns the names of those that raised, which are logged."""
        failures: list[str] = []
        for _ in self.results(hook, failures, **values):
            pass
        return failures

    def results(self, hook: str, failures: list[str] | None = None, /, **values: object) -> Iterator[tuple[str, Any]]:
        """What each plugin answers, with its name, in order; one that raises is logged, left out and added to
        `failures`."""
        yield from self.pass_on(hook, values, failures if failures is not None else [])

    def pass_on(self, hook: str, values: Mapping[str, object], failures: list[str]) -> Iterator[tuple[str, Any]]:
        """The same, where one plugin may get what the one before gave: the next one is asked when an answer has been
        taken, with `values` as they are then."""
        for implementation in reversed(getattr(self._manager.hook, hook).get_hookimpls()):
            plugin = implementation.plugin_name
            try:
                result = self.run(
                    plugin, hook, implementation.function, *(values[name] for name in implementation.argnames)
                )
            except PluginFailed:
                if (plugin, hook) not in self._dropped:
                    failures.append(plugin)
                continue
            yield plugin, result

    def run(
        self, plugin: str, hook: str, function: Callable[..., Any], *arguments: object, patient: bool = False
    ) -> Any:
        """Call a function of a plugin; PluginFailed, when it is reported, for whatever it raises, and for what is not
        called any more. `patient`: it may take its time, for nothing waits."""
        if (plugin, hook) in self._dropped:
            raise PluginFailed
        time_of_call = CallTime()
        try:
            return function(*arguments) if patient else call_within(TIME_LIMIT, function, *arguments)
        except TookTooLong as error:
            self._report(plugin, hook, error)
            self._tell(Trouble(plugin, hook, "hung", f"{TIME_LIMIT:.0f} s"))
            raise PluginHung from None
        except BaseException as error:
            # The boundary to somebody else's code: the session continues without it, even if it wants to exit.
            if isinstance(error, KeyboardInterrupt):
                raise
            self._report(plugin, hook, error)
            self._tell(Trouble(plugin, hook, "failed", error_line(error)))
            raise PluginFailed from error
        finally:
            if not patient and (own := time_of_call.own()) > self._slow:
                self._note_slow(plugin, hook, own, time_of_call.total())

    def reject(self, plugin: str, hook: str, why: str) -> None:
        """Treat an invalid result of a plugin as if it had raised."""
        _log.error("the plugin %s gave nothing useful in %s: %s", plugin, hook, why)
        self._tell(Trouble(plugin, hook, "failed", why))

    def _note_slow(self, plugin: str, hook: str, own: float, total: float) -> None:
        took = f"{total * 1000:.0f} ms" if total < 1 else f"{total:.1f} s"
        if plugin in self._built_in:
            _log.warning("the built-in plugin %s took %s in %s", plugin, took, hook)
            return
        record = self._records.setdefault((plugin, hook), _Record())
        record.slow += 1
        if record.slow > 1 or own > VERY_SLOW * self._slow:
            self._tell(Trouble(plugin, hook, "slow", took))
        self._drop(plugin, hook, record.slow)

    def _report(self, plugin: str, hook: str, error: BaseException) -> None:
        kind = (plugin, hook, type(error))
        level = logging.DEBUG if kind in self._logged else logging.ERROR  # some hooks are called a hundred times a s
        self._logged.add(kind)
        _log.log(level, "the plugin %s failed in %s", plugin, hook, exc_info=error)
        record = self._records.setdefault((plugin, hook), _Record())
        record.failures += 1
        self._drop(plugin, hook, record.failures)

    def _drop(self, plugin: str, hook: str, strikes: int) -> None:
        if strikes >= STRIKES and hook in OBSERVERS and (plugin, hook) not in self._dropped:
            self._dropped.add((plugin, hook))
            self._tell(Trouble(plugin, hook, "dropped"))

    def _tell(self, trouble: Trouble) -> None:
        if any(known[:3] == trouble[:3] for known in self.troubles):
            return
        self.troubles.append(trouble)
        self.on_trouble(trouble)


def hook_names(specs: type) -> frozenset[str]:
    """The hooks that a class specifies."""
    return frozenset(name for name in vars(specs) if not name.startswith("_"))


def error_line(error: BaseException) -> str:
    """Its type and the first line of its text."""
    try:
        said = str(error).strip().splitlines()
    except Exception:
        # Boundary: somebody else's error, which may not even know its own words.
        said = []
    return f"{type(error).__name__}: {said[0][:300]}" if said else type(error).__name__


NO_PLUGINS = Hooks(EngineHooks)
"""Of an engine in whose process nobody listens."""
