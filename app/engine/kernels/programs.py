"""Runs the languages that others add, and has a Python kernel make further forms of values."""

import json
import secrets
import shlex
from collections.abc import Mapping

from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.programs import KernelForm, KernelProgram, LanguageProgram
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.kernels.spec import KernelSpec


def program_spec(program: KernelProgram) -> KernelSpec:
    """How such a kernel is started."""
    return KernelSpec(name=program.language, argv=program.argv, env=dict(program.env), signals=program.signals)


class ProgramKernel(ShellKernel):
    """Runs each source by a program, in a shell of its own."""

    def __init__(self, launch: Launch, program: LanguageProgram) -> None:
        super().__init__(launch, place=program.argv[0])
        self.language = program.language
        self.confinement = launch.confine(program.language)
        self._argv = program.argv

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        return await super().run(self._command(source), block_id, emit)

    def _command(self, source: str) -> str:
        """The source goes into the file as it is, with a line end at its end."""
        end = f"OI_{secrets.token_hex(16)}"
        words = " ".join(
            '"$__oi_file"'.join(shlex.quote(part) if part else "" for part in word.split("{file}"))
            for word in self._argv
        )
        return (
            f"__oi_file=$(mktemp) && cat >\"$__oi_file\" <<'{end}'\n{source}\n{end}\n"
            f'{words}; __oi_status=$?; rm -f "$__oi_file"; (exit $__oi_status)\n'
        )


def forms_source(forms: Mapping[str, KernelForm]) -> str:
    """A cell that registers the forms in the display formatter of IPython; what one raises leaves its value as text."""
    given = [(*name.rpartition(".")[::2], form.mime, form.source) for name, form in forms.items()]
    space = f"{{'GIVEN': __import__('json').loads({json.dumps(given)!r})}}"
    return f"exec(compile({_REGISTER!r}, '<oi-tui>', 'exec'), {space})"


_REGISTER = """
from IPython import get_ipython
from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Unicode


def add(module, name, mime, source):
    made = {}

    def form(value):
        try:
            if not made:
                exec(compile(source, f"<form {mime}>", "exec"), made)
            return made["form"](value)
        except Exception:
            return None

    formatters = get_ipython().display_formatter.formatters
    if mime not in formatters:
        class FormOfPlugin(BaseFormatter):
            format_type = Unicode(mime)
            print_method = ObjectName("_repr_form_of_plugin_")
            _return_type = (str, dict, list)

        formatters[mime] = FormOfPlugin(parent=get_ipython().display_formatter)
    formatters[mime].for_type_by_name(module, name, form)


for one in GIVEN:
    add(*one)
"""
