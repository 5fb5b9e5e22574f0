"""The system message of a session: the program's own words, the trusted folder's, the person's, and the day.

It is the same in each step, so that a provider's cache of the prompt holds: what changes with the day comes last.
"""

import datetime
from collections.abc import Callable

import msgspec

from oi_tui.app.engine.agent.plan_notice import plan_mode_part
from oi_tui.app.engine.agent.prompt import FILE_TOOLS, system_prompt
from oi_tui.app.engine.core.chat_model import EDIT_FILE
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import Emit, InstructionsChanged, NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import (
    MOST_OF_FILES,
    MOST_OF_ONE,
    InstructionPart,
    InstructionSources,
    fit_instructions,
    instructions_message,
)
from oi_tui.app.engine.core.protocol import InstructionsFound
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.own_template import fill_template, local_date
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.transcript.transcript import Transcript

SESSION = "this session"
"""Name of instructions that the person wrote while it was open."""


class Instructions:
    """The parts of one session's system message, built for each request."""

    def __init__(
        self,
        sources: InstructionSources,
        transcript: Transcript,
        kernels: KernelSource,
        redactor: Redactor,
        emit: Emit,
        *,
        today: Callable[[], datetime.date] = local_date,
    ) -> None:
        self._sources = sources
        self._transcript = transcript
        self._kernels = kernels
        self.redactor, self._emit = redactor, emit
        self._today = today
        self.of_plugins: Callable[[], tuple[InstructionPart, ...]] = tuple
        """What plugins add; the same for the whole session."""
        self.of_tools: Callable[[], str] = str
        """What tools have to say."""
        self.offered: Callable[[], frozenset[str]] = frozenset
        """Names of the tools that the model is offered."""

    def use(self, text: str | None) -> None:
        """The person's own from the next step on, None those of the settings again; SettingsError if this is no
        template."""
        if text is not None:
            self._render(InstructionPart(origin="own", name=SESSION, text=text))
        if text == self._transcript.instructions:
            return
        self._emit(InstructionsChanged(text=text))
        said = "Your instructions are those of the settings again." if text is None else "Your instructions changed."
        hint = "The model reads them from the next step on. /instructions shows them."
        self._emit(NoticeAdded(block_id=new_id(), level="info", title=said, hint=hint))

    def describe(self) -> InstructionsFound:
        """For the person: what the next request begins with."""
        edited = self._transcript.instructions
        return InstructionsFound(
            parts=tuple(msgspec.structs.replace(part, text=self._clean(part.text)) for part in self.parts()),
            remarks=self._sources.remarks,
            own="\n\n".join(part.text for part in self._sources.own) if edited is None else edited,
            edited=edited is not None,
        )

    def _clean(self, text: str) -> str:
        return self.redactor.redact(safe_text(text)).text

    def parts(self) -> tuple[InstructionPart, ...]:
        """In the order in which the model reads them; without those that say nothing."""
        transcript, kernels = self._transcript, self._kernels
        where = transcript.cwd or "the current folder"
        base = system_prompt(kernels.languages, where, kernels.surroundings, helpers=self.writes_helpers)
        window = transcript.context_window
        # A quarter of what the model takes, at four characters a token.
        most = MOST_OF_FILES if window is None else min(MOST_OF_FILES, window)
        own = self._sources.own
        if transcript.instructions is not None:
            own = (InstructionPart(origin="own", name=SESSION, text=transcript.instructions),)
        facts = "" if self.is_small else f"Today is {self._today().isoformat()}."
        found = (
            InstructionPart(origin="program", name="oi-tui", text=base),
            InstructionPart(origin="program", name="files", text=FILE_TOOLS if EDIT_FILE in self.offered() else ""),
            InstructionPart(origin="program", name="kept functions", text=self.of_tools()),
            *self._sources.limits,
            *fit_instructions(self._sources.folder, most),
            *map(self._render_or_keep, own),
            *self.of_plugins(),
            plan_mode_part(transcript),
            InstructionPart(origin="facts", name="date", text=facts),
        )
        return tuple(part for part in found if part.text.strip())

    @property
    def is_small(self) -> bool:
        """Whether the model in use is one for which every word counts."""
        return self._sources.is_small(self._transcript.model)

    @property
    def writes_helpers(self) -> bool:
        """Whether the model in use is to write its code between lines `<helpers>` and `</helpers>`."""
        return self._sources.writes_helpers(self._transcript.model)

    def message(self) -> str:
        """All parts as one text."""
        return instructions_message(self.parts())

    def _render_or_keep(self, part: InstructionPart) -> InstructionPart:
        """A template that was good once is not by now, for instance in a session that is resumed: as it was written."""
        try:
            return self._render(part)
        except SettingsError:
            return msgspec.structs.replace(part, text=part.text[:MOST_OF_ONE])

    def _render(self, part: InstructionPart) -> InstructionPart:
        return fill_template(part, self._sources.variables, self._transcript.cwd, self._today())
