"""The dialogues of a linear session: about code, its input, models, a folder.

Each is a task that can be cancelled; what is no answer decides nothing, and the question is put again.
"""

import asyncio
from collections.abc import Callable, Coroutine

from oi_tui.app.engine.core.events import DecisionRequested, InputRequested
from oi_tui.app.engine.core.protocol import KernelsFound, ModelOffer, ModelsFound
from oi_tui.app.engine.core.verbs import Answer, Decide, FetchModel, InstallKernel, UseKernel, UseModel
from oi_tui.app.engine.text.call_words import preview_text
from oi_tui.app.engine.text.input_answers import asker_words, choice_hint, choice_lines, input_answer
from oi_tui.app.engine.text.safe import editable_text
from oi_tui.app.engine.text.words import coarse_size, one_line
from oi_tui.app.linear.desk import Desk
from oi_tui.app.linear.narrator import source_lines
from oi_tui.app.linear.question_words import (
    decision_question,
    explain_decision,
    is_yes,
    offer_lines,
    read_decision,
    read_model,
)
from oi_tui.app.screens.external_editor import suffix_of


class NobodyThere(Exception):
    """The person wants to leave, or the terminal is gone."""


class Questions:
    """Asks the person, and sends the answers."""

    def __init__(
        self, desk: Desk, *, run_line: Callable[[str], None], leave: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        """`run_line` does what a slash command says, `leave` what Ctrl+D does; `changed` follows the end of each."""
        self._desk, self._run_line, self._leave, self._changed = desk, run_line, leave, changed
        self._asking: asyncio.Task[None] | None = None
        self._is_of_session = False

    @property
    def is_open(self) -> bool:
        """Whether something is being asked."""
        return self._asking is not None

    def begin(self, dialogue: Coroutine[object, object, None]) -> None:
        """Have this dialogue; what the session asks is put again after it."""
        self._start(dialogue, of_session=False)

    def resume(self) -> None:
        """Put the question of the session that nobody has answered, if there is one."""
        transcript = self._desk.transcript
        if transcript.pending_decision is not None:
            self._start(self.decide(transcript.pending_decision), of_session=True)
        elif transcript.pending_input is not None:
            self._start(self.answer(transcript.pending_input), of_session=True)

    def settle(self) -> None:
        """What the session asked is answered, or nobody waits for it any more."""
        if self._is_of_session:
            self.stop()

    def stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
            self._changed()

    def _start(self, dialogue: Coroutine[object, object, None], *, of_session: bool) -> None:
        self.stop()
        self._is_of_session = of_session

        async def ask() -> None:
            gone = False
            try:
                await dialogue
            except NobodyThere:
                gone = True
            self._asking = None
            if gone:
                self._leave()
            elif not of_session:
                self.resume()
            self._changed()

        self._asking = asyncio.create_task(ask())

    async def _ask(self, question: str, *, password: bool = False) -> str:
        line = await self._desk.console.ask(question, password=password)
        if line is None:
            raise NobodyThere
        return line

    # -- code -----------------------------------------------------------------------------------------------

    async def decide(self, request: DecisionRequested) -> None:
        """Whether code runs: until there is an answer that is one."""
        desk, number = self._desk, self._desk.narrator.number_of(request.block_id)
        question = decision_question(request, number)
        if shown := preview_text(request):
            desk.say("\n".join([f"What code {number} would do:", *source_lines(shown)]))
        while True:
            line = await self._ask(question)
            match read_decision(request, line):
                case Decide() as decided:
                    desk.send(decided)
                    return
                case "reason":
                    reason = await self._ask("Why not? The model reads it. Enter alone gives no reason:")
                    desk.send(Decide(request_id=request.request_id, verdict="skip", reason=reason.strip()))
                    return
                case "edit":
                    if (edited := await self._edit(request, number)) is not None:
                        desk.send(Decide(request_id=request.request_id, verdict="edit", source=edited))
                        return
                case "explain":
                    for said in explain_decision(request, number):
                        desk.say(said)
                case _ if line.startswith("/"):
                    self._run_line(line)
                case _ if line.strip():
                    desk.say(f"“{one_line(line)[:40]}” is no answer. Nothing is decided.")
                case _:
                    desk.say("Enter alone decides nothing.")

    async def _edit(self, request: DecisionRequested, number: int) -> str | None:
        """The source that runs instead, None for none. What was edited is read out before it runs."""
        shown = editable_text(request.source)
        text = self._desk.edit(shown.text, suffix_of(request.written_in))
        if text is None:
            return None
        source = shown.read(text)
        if source.rstrip("\n") == request.source.rstrip("\n") or not source.strip():
            self._desk.say(f"Code {number} was not changed.")
            return None
        lines = source_lines(source)
        self._desk.say("\n".join([f"Code {number} as you edited it:", *lines]))
        return source if is_yes(await self._ask(f"Run code {number} as edited? y or n:")) else None

    async def answer(self, request: InputRequested) -> None:
        """A line that running code or a tool asks for."""
        if request.asked_by:
            self._desk.say(f"{asker_words(request)}: {one_line(request.prompt)}")
            self._desk.say_all(choice_lines(request))
            line = await self._ask(choice_hint(request), password=request.password)
            self._desk.send(input_answer(request, line))
            return
        number = self._desk.narrator.number_of(request.block_id)
        asked = one_line(request.prompt)
        hidden = ", which is not shown while you type" if request.password else ""
        what = "a password" if request.password else "a line"
        line = await self._ask(f"Code {number} asks for {what}{hidden}: {asked}", password=request.password)
        self._desk.send(Answer(request_id=request.request_id, text=line))

    # -- models and kernels ---------------------------------------------------------------------------------

    async def choose_model(self, found: ModelsFound) -> None:
        """A model out of a list, or by its name; Enter alone keeps what is."""
        desk = self._desk
        desk.say("Models:")
        for said in offer_lines(found.offers, found.why):
            desk.say(said)
        while True:
            line = await self._ask("Which model? A number, or NAME, or NAME URL; Enter alone changes nothing:")
            if not line.strip():
                desk.say("No model was chosen. /model asks again.")
                return
            if (wish := read_model(found.offers, line)) is None:
                desk.say("There is no such number.")
            elif wish.offer is None:
                desk.send(UseModel(name=wish.name, api_base=wish.api_base))
                return
            elif await self._take_offer(wish.offer, found.key_file):
                return

    async def _take_offer(self, offer: ModelOffer, key_file: str) -> bool:
        desk = self._desk
        if offer.download_bytes:
            size = coarse_size(offer.download_bytes)
            if not is_yes(await self._ask(f"Download {one_line(offer.title)}, {size}? y or n:")):
                return False
            desk.send(FetchModel(model_id=offer.id))
            return True
        key, keep = "", False
        if offer.wants_key:
            key = await self._ask(
                f"Key for {one_line(offer.id)}, or $NAME of a variable. It is not shown:", password=True
            )
            if not key.strip():
                return False
            if not key.startswith("$"):
                where = f"in your keyring; where there is none, in {one_line(key_file)}, readable by you only"
                keep = is_yes(await self._ask(f"Keep this key for another day, {where}? y or n:"))
        desk.send(UseModel(name=offer.id, api_base=offer.api_base, api_key=key.strip() or None, keep_key=keep))
        return True

    async def choose_kernel(self, found: KernelsFound) -> None:
        """Where Python code runs, out of a list; Enter alone keeps what is."""
        desk = self._desk
        choices = [choice for choice in found.choices if not choice.is_language]
        desk.say(
            "Where Python code can run:" if choices else found.why or "There is nothing that Python code can run in."
        )
        for number, choice in enumerate(choices, 1):
            facts = ["in use"] if choice.in_use else []
            facts += [choice.lack or choice.obstacle] if choice.obstacle else []
            desk.say(f"{number}: {one_line(choice.title)}{', ' if facts else ''}{', '.join(map(one_line, facts))}.")
        while choices:
            line = (await self._ask("Which? A number; Enter alone changes nothing:")).strip()
            if not line:
                return
            if not line.isdecimal() or not 1 <= int(line) <= len(choices):
                desk.say("There is no such number.")
                continue
            choice = choices[int(line) - 1]
            if choice.remedy:
                question = f"It needs this: {one_line(choice.remedy)}. {one_line(choice.remedy_reach)} Run it? y or n:"
                if is_yes(await self._ask(question)):
                    desk.send(InstallKernel(name=choice.name, command=choice.remedy))
            elif choice.obstacle:
                desk.say(choice.obstacle)
                continue
            elif not choice.costs or is_yes(await self._ask(f"{one_line(choice.costs)} Use it? y or n:")):
                desk.send(UseKernel(name=choice.name, agreed=bool(choice.costs)))
            return
