"""The choice of a model: what was found, what could be downloaded, or a name typed by the person.

Nothing is sent anywhere and nothing is downloaded before a choice is made here; a download is asked about once,
with what it costs.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, ProgressBar

from oi_tui.app.engine.core.protocol import FetchEnded, FetchProgressed, ModelOffer, ModelsFound
from oi_tui.app.engine.core.verbs import AnyVerb, CancelFetch, FetchModel, UseModel
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import progress_size
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

SetupStage = Literal["choice", "consent", "download", "form"]

_INTRO = "oi-tui runs code that a language model writes, on this machine, after you approve it."
_SLOW, _FAST = 2_000_000, 12_000_000
"""Bytes per second of an ordinary line, for the estimate."""
_ENTER: dict[SetupStage, tuple[KeyLabel, ...]] = {
    "choice": (KeyLabel("enter", "choose", "choose"),),
    "form": (KeyLabel("enter", "next, then use it", "next"),),
}
_ESCAPE: dict[SetupStage, tuple[str, str]] = {
    "choice": ("without a model", "back"),
    "download": ("cancel; what has arrived is kept", "cancel"),
}


class SetupScreen(Screen[None]):
    """Offers models, asks before it downloads, shows how that goes."""

    CSS_PATH = "setup.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("escape", "step_back", "back"),
        Hint("y", "consent", "download and use", short="download"),
    ]

    def __init__(self, found: ModelsFound, send: Callable[[AnyVerb], None], *, first: bool) -> None:
        super().__init__()
        self._found = found
        self._send = send
        self._first = first
        self._stage: SetupStage = "choice"
        self._offer: ModelOffer | None = None

    def compose(self) -> ComposeResult:
        """Everything that may be shown; one stage at a time is."""
        with Vertical(id="setup-page"):
            yield Words(_INTRO if self._first else "", id="setup-intro")
            yield Words("Which model?", id="setup-title")
            yield Options(id="setup-offers")
            yield Words(id="setup-text")
            yield ProgressBar(id="setup-progress", show_eta=True)
            with Vertical(id="setup-form"):
                yield Words("Name, as LiteLLM spells it", classes="label")
                yield Field(id="setup-name", placeholder="gpt-5 · ollama/llama3 · openai/NAME with a URL")
                yield Words("URL of an OpenAI-compatible server, if it is your own", classes="label")
                yield Field(id="setup-url", placeholder="http://127.0.0.1:8080/v1")
                yield Words("Key, if it needs one (kept in memory only)", classes="label")
                yield Field(id="setup-key", password=True)
            yield Words(id="setup-error")
        yield KeyRow(id="setup-keys")

    def on_mount(self) -> None:
        self._show_offers()
        self._enter("choice")

    def show(self, reply: ModelsFound | FetchProgressed | FetchEnded) -> None:
        """Something new about offers or the download."""
        match reply:
            case ModelsFound():
                self._found = reply
                self._show_offers()
            case FetchProgressed():
                self._progress(reply)
            case FetchEnded(ready=True):
                self.dismiss()
            case FetchEnded():
                if self._stage == "download":
                    self._enter("choice")
                self._complain(" ".join(part for part in (reply.error, reply.hint) if part))

    # -- events -------------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A choice was made."""
        event.stop()
        self._complain("")
        if event.option_index >= len(self._found.offers):
            self._enter("form")
            return
        offer = self._found.offers[event.option_index]
        if offer.download_bytes:
            self._offer = offer
            self._enter("consent")
            return
        self._send(UseModel(name=offer.id, api_base=offer.api_base))
        self.dismiss()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark goes along."""
        event.stop()
        self._mark(event.option_index)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Field by field; the last one sends."""
        event.stop()
        if event.input.id == "setup-name" and not event.value.strip():
            self._complain("A model needs a name.")
            return
        if event.input.id != "setup-key":
            self.focus_next(Input)
            return
        name, url, key = (self.query_one(f"#setup-{field}", Input).value.strip() for field in ("name", "url", "key"))
        if not name:
            self._complain("A model needs a name.")
            return
        self._send(UseModel(name=name, api_base=url, api_key=key or None))
        event.input.value = ""
        self.dismiss()

    def action_consent(self) -> None:
        """The download may begin."""
        if self._stage != "consent" or self._offer is None:
            return
        self._enter("download")
        self._send(FetchModel(model_id=self._offer.id))

    def action_step_back(self) -> None:
        """To the choice, or out of it."""
        match self._stage:
            case "choice":
                self.dismiss()
            case "download":
                self._send(CancelFetch())
                self._enter("choice")  # whenever it ends: what still arrives about it is not shown
            case "consent" | "form":
                self._enter("choice")

    # -- inside -----------------------------------------------------------------------------------------------

    def _show_offers(self) -> None:
        offers = self.query_one(Options)
        offers.clear_options()
        offers.add_options(Content() for _ in self._lines())
        best = next((index for index, offer in enumerate(self._found.offers) if offer.recommended), 0)
        offers.highlighted = best
        self._mark(best)

    def _lines(self) -> list[Content]:
        return [*(_offer_line(offer) for offer in self._found.offers), lettering("Another provider…")]

    def _mark(self, highlighted: int) -> None:
        """The row that Enter takes, also where colours are hard to tell apart."""
        offers = self.query_one(Options)
        for index, line in enumerate(self._lines()):
            mark = ("▸ ", "bold $accent") if index == highlighted else ("  ", "")
            offers.replace_option_prompt_at_index(index, lettering(mark, line))

    def _enter(self, stage: SetupStage) -> None:
        self._stage = stage
        self.query_one(Options).display = stage == "choice"
        self.query_one("#setup-form").display = stage == "form"
        self.query_one(ProgressBar).display = stage == "download"
        self.query_one(KeyRow).labels = (
            *_ENTER.get(stage, ()),
            *(key_labels(self, "y") if stage == "consent" else ()),
            *key_labels(self, "esc", words={"esc": _ESCAPE.get(stage, ("back", "back"))}),
        )
        title, text = self._words(stage)
        self.query_one("#setup-title", Words).update(title)
        self.query_one("#setup-text", Words).update(text)
        match stage:
            case "choice":
                self.query_one(Options).focus()
            case "form":
                self.query_one("#setup-name", Input).focus()
            case "consent" | "download":
                self.set_focus(None)

    def _words(self, stage: SetupStage) -> tuple[str, str]:
        if stage == "choice":
            note = "Nothing is sent anywhere until you choose."
            return "Which model?", "\n".join(part for part in (safe_text(self._found.why), note) if part)
        if stage == "form" or self._offer is None:
            return "Another provider", ""
        offer = self._offer
        if stage == "download":
            return f"Downloading {safe_text(offer.title)}", "Starting…"
        facts = [safe_text(offer.title), safe_text(offer.detail)]
        facts.append(f"Download: {progress_size(offer.download_bytes)}, about {_time(offer.download_bytes)}.")
        facts.append("The model stays on this machine, and so does what you say to it.")
        return "Download this model?", "\n".join(part for part in facts if part)

    def _progress(self, reply: FetchProgressed) -> None:
        if self._stage != "download":
            return
        self.query_one(ProgressBar).update(total=reply.total_bytes or None, progress=reply.done_bytes)
        words = f"{reply.stage} · {progress_size(reply.done_bytes)} of {progress_size(reply.total_bytes)}"
        self.query_one("#setup-text", Words).update(words)

    def _complain(self, text: str) -> None:
        self.query_one("#setup-error", Words).update(text)


def _offer_line(offer: ModelOffer) -> Content:
    star = "★ " if offer.recommended else ""
    facts = f" · {safe_text(offer.detail)}" if offer.detail else ""
    return lettering((f"{star}{safe_text(offer.title)}", "$text"), (facts, "$dim"))


def _time(count: int) -> str:
    quick, slow = max(1, round(count / _FAST / 60)), max(1, round(count / _SLOW / 60))
    return f"{quick} min" if quick == slow else f"{quick} to {slow} min"
