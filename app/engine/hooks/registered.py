"""What plugins add to an engine: what is not what it should be is named and left out."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from oi_tui.app.engine.core.chat_model import FENCED_CALLS, Model
from oi_tui.app.engine.core.embedding import Embedding
from oi_tui.app.engine.core.programs import KernelForm, KernelProgram, LanguageProgram, Program
from oi_tui.app.engine.hooks.calling import Hooks, PluginFailed
from oi_tui.app.engine.hooks.values import Exporter, Importer
from oi_tui.app.engine.tools.tool import Tool

Kind = TypeVar("Kind")

_LANGUAGE = re.compile(r"[a-z0-9._-]{1,100}")
_TAKEN_LANGUAGES = frozenset(("python", "shell", "bash", "sh", "html", "execute", *FENCED_CALLS))
_TYPE = re.compile(r"[A-Za-z_][\w.]*\.[A-Za-z_]\w*")
_FORMAT = re.compile(r"[a-z0-9]{1,20}")


def collect_registered(
    hooks: Hooks, hook: str, kind: type[Kind], check: Callable[[Kind], str] = lambda value: ""
) -> list[tuple[str, Kind]]:
    """Plugin and value of each that plugins register by this hook and that is of this kind; `check` says what is wrong
    with one, "" if nothing is."""
    found: list[tuple[str, Kind]] = []
    for plugin, values in hooks.results(hook):
        try:
            given = hooks.run(plugin, hook, lambda values=values: list(values))
        except PluginFailed:
            continue
        for value in given:
            if not isinstance(value, kind):
                hooks.reject(plugin, hook, f"{type(value).__name__} is no {kind.__name__}")
            elif why := check(value):
                hooks.reject(plugin, hook, why)
            else:
                found.append((plugin, value))
    return found


def registered_tools(hooks: Hooks) -> tuple[Tool, ...]:
    """The tools of all plugins, each with the plugin that brought it; none is free of approval."""
    found = collect_registered(hooks, "register_tools", Tool)
    return tuple(replace(tool, origin=f"plugin {plugin}", unasked="") for plugin, tool in found)


def registered_models(hooks: Hooks) -> dict[str, Model]:
    """The models of all plugins by their names; of two with one name, the first."""
    found: dict[str, Model] = {}
    for plugin, model in collect_registered(hooks, "register_models", object, _fault_of_model):
        named: Model = model  # type: ignore[assignment] # it has been looked at
        if named.name in found:
            hooks.reject(plugin, "register_models", f"there are two models {named.name}")
        else:
            found[named.name] = named
    return found


def _fault_of_model(value: object) -> str:
    missing = [part for part in _PARTS_OF_A_MODEL if not hasattr(value, part)]
    name = getattr(value, "name", None)
    if missing or not isinstance(name, str) or not callable(getattr(value, "stream", None)):
        return f"{value!r:.200} is no Model: {', '.join(missing) or 'name, stream'}"
    provider, slash, rest = name.partition("/")
    if not (slash and rest and name.isprintable() and len(name) <= 200) or provider in _TAKEN:
        return f"{name!r} is no name of a plugin's model: it is such as lab/echo"
    return ""


_PARTS_OF_A_MODEL = ("name", "context_window", "takes_images", "tells_price", "stream")
_TAKEN = ("local", "fake", "openai", "anthropic", "gemini", "ollama", "openrouter")
"""The part before the slash in names of plugins' models."""


def registered_embedding(hooks: Hooks) -> Embedding | None:
    """The first that a plugin gives, None without any."""
    for plugin, value in hooks.results("register_embedding"):
        if isinstance(value, Embedding) and isinstance(value.name, str) and 0 < len(value.name) <= 200:
            return value
        if value is not None:
            hooks.reject(plugin, "register_embedding", f"{value!r:.100} is no Embedding with a name")
    return None


def registered_programs(hooks: Hooks) -> dict[str, Program]:
    """The programs that run the languages of plugins, by language; of two for one, the first."""
    found: dict[str, Program] = {}
    for _, kernel in collect_registered(hooks, "register_kernels", KernelProgram, _fault_of_program):
        found.setdefault(kernel.language, kernel)
    for _, program in collect_registered(hooks, "register_languages", LanguageProgram, _fault_of_program):
        found.setdefault(program.language, program)
    return found


def _fault_of_program(program: Program) -> str:
    names = (program.language, *program.aliases)
    for name in names:
        if not isinstance(name, str) or not _LANGUAGE.fullmatch(name) or name in _TAKEN_LANGUAGES:
            return f"{name!r:.100} cannot be the name of a language of a plugin"
    place = "{connection_file}" if isinstance(program, KernelProgram) else "{file}"
    if not program.argv or not all(isinstance(part, str) for part in program.argv):
        return f"{program.language}: argv is no list of texts"
    return "" if any(place in part for part in program.argv) else f"{program.language}: argv has no {place}"


def registered_forms(hooks: Hooks) -> dict[str, KernelForm]:
    """One more form of values in the kernel, by their type."""
    found: dict[str, KernelForm] = {}
    for plugin, forms in hooks.results("register_kernel_forms"):
        if not isinstance(forms, Mapping):
            hooks.reject(plugin, "register_kernel_forms", f"{type(forms).__name__} is no mapping")
            continue
        for name, form in forms.items():
            if not isinstance(form, KernelForm) or not isinstance(name, str) or not _TYPE.fullmatch(name):
                hooks.reject(plugin, "register_kernel_forms", f"{name!r:.100} is no module.Class with a KernelForm")
            else:
                found.setdefault(name, form)
    return found


def registered_exporters(hooks: Hooks) -> dict[str, tuple[str, Exporter]]:
    """Plugin and exporter of each format; of two for one, the first."""
    return _by_format(collect_registered(hooks, "register_exporters", Exporter, _fault_of_format))


def registered_importers(hooks: Hooks) -> dict[str, tuple[str, Importer]]:
    """Plugin and importer of each format; of two for one, the first."""
    return _by_format(collect_registered(hooks, "register_importers", Importer, _fault_of_format))


Format = TypeVar("Format", Exporter, Importer)


def _by_format(found: Iterable[tuple[str, Format]]) -> dict[str, tuple[str, Format]]:
    named: dict[str, tuple[str, Format]] = {}
    for plugin, one in found:
        named.setdefault(one.format, (plugin, one))
    return named


def _fault_of_format(one: Exporter | Importer) -> str:
    if not isinstance(one.format, str) or not _FORMAT.fullmatch(one.format) or one.format in ("lmc", "messages"):
        return f"{one.format!r:.100} is no name for a format"
    return ""
