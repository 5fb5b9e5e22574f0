"""The choice of a model: the current one, recent ones, installed ones, downloads, or a name.

Users come here at the first start, or to try another model for a while. They look for the current one, try the arrows,
type a part of a name, and press Enter, or Escape to keep the model. So letters narrow the list. A download asks once,
with its size, and so does keeping a typed key; only a key of its own changes the default of new sessions.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, ProgressBar

from oi_tui.app.engine.core.model_request import provider_prefix
from oi_tui.app.engine.core.protocol import FetchEnded, FetchProgressed, ModelOffer, ModelsFound
from oi_tui.app.engine.core.verbs import AnyVerb, CancelFetch, FetchModel, ForgetKey, UseModel
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import progress_size
from oi_tui.app.screens.open_screen import is_open
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

SetupStage = Literal["choice", "consent", "download", "form", "key", "forget"]

_INTRO = "oi-tui runs code that a language model writes, on this machine, after you approve it."
_SLOW, _FAST = 2_000_000, 12_000_000
"""Bytes per second of an ordinary line, for the estimate."""
_PRIVATE = "Nothing is sent anywhere until you choose."
_ASKED = "Servers you used and providers whose key you kept list their models; nothing else is sent until you choose."


class SetupScreen(Screen[None]):
    """Offers models, asks before it downloads, shows how that goes."""

    CSS_PATH = "setup.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "use", id="setup.take", priority=True),
        Hint("ctrl+s", "take(True)", "use, also for new sessions", id="setup.keep", short="default", priority=True),
        Hint("ctrl+d", "forget", "delete its key", id="setup.forget", short="delete key", priority=True),
        Hint("y", "consent", "download and use", id="setup.download", short="download"),
        Hint("n", "consent(False)", "only until you quit", id="setup.once", short="until you quit"),
        Hint("escape", "step_back", "back", id="setup.back"),
        Binding("up", "move(-1)", "One up", id="setup.up", priority=True),
        Binding("down", "move(1)", "One down", id="setup.down", priority=True),
    ]

    def __init__(self, found: ModelsFound, send: Callable[[AnyVerb], None], *, model: str) -> None:
        """`model`: the one in use, "" if there is none yet."""
        super().__init__()
        self._found = found
        self._send = send
        self._model = model
        self._shown: list[ModelOffer] = []
        """Those that fit what is typed."""
        self._marked = 0
        """The row that has the mark."""
        self._stage: SetupStage = "choice"
        self._offer: ModelOffer | None = None
        self._forgotten = ""
        """Whose key may be deleted, while that is asked."""
        self._wanted: UseModel | None = None
        """What the form came to, while it is asked whether its key is kept."""

    def compose(self) -> ComposeResult:
        """Everything that may be shown; one stage at a time is."""
        with Vertical(id="setup-page"):
            yield Words("" if self._model else _INTRO, id="setup-intro")
            yield Words("Which model?", id="setup-title")
            yield Field(id="setup-filter", placeholder="type to filter, or a name")
            yield Options(id="setup-offers")
            yield Words(id="setup-text")
            yield ProgressBar(id="setup-progress", show_eta=True)
            with Vertical(id="setup-form"):
                yield Words("Model (for example gpt-5, ollama/llama3)", classes="label")
                yield Field(id="setup-name", placeholder="gpt-5 · ollama/llama3 · openai/NAME with a URL")
                yield Words("URL of the server, if it is your own", classes="label")
                yield Field(id="setup-url", placeholder="http://127.0.0.1:8080/v1")
                yield Words("API key, if it needs one, or $NAME of a variable", classes="label")
                yield Field(id="setup-key", password=True)
            yield Words(id="setup-error")
        yield KeyRow(id="setup-keys")

    def on_mount(self) -> None:
        self.query_one(Options).can_focus = False
        self._show_offers()
        self._enter("choice")

    def show(self, reply: ModelsFound | FetchProgressed | FetchEnded) -> None:
        """Something new about offers or the download."""
        if not is_open(self):
            return
        match reply:
            case ModelsFound():
                self._found = reply
                self._show_offers()
            case FetchProgressed() if self._stage == "download":
                self.query_one(ProgressBar).update(total=reply.total_bytes or None, progress=reply.done_bytes)
                words = f"{reply.stage} · {progress_size(reply.done_bytes)} of {progress_size(reply.total_bytes)}"
                self.query_one("#setup-text", Words).update(words)
            case FetchProgressed():
                pass
            case FetchEnded(ready=True):
                self.dismiss()
            case FetchEnded():
                if self._stage == "download":
                    self._enter("choice")
                self._complain(" ".join(part for part in (reply.error, reply.hint) if part))

    # -- events -------------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A choice was made by a click."""
        event.stop()
        self._choose(event.option_index, keep=False)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark goes along."""
        event.stop()
        self._mark(event.option_index)

    def on_input_changed(self, event: Input.Changed) -> None:
        """What is typed narrows the list."""
        event.stop()
        if event.input.id == "setup-filter":
            self._show_offers()

    def action_move(self, step: int) -> None:
        """Another row of the list, or another field of the form."""
        options = self.query_one(Options)
        match self._stage, step:
            case "choice", -1:
                options.action_cursor_up()
            case "choice", _:
                options.action_cursor_down()
            case "form", -1:
                self.focus_previous("#setup-form Input")
            case "form", _:
                self.focus_next("#setup-form Input")

    def action_take(self, keep: bool = False) -> None:
        """What is highlighted; in the form field by field, the last one sends."""
        focused = self.focused
        if self._stage == "choice" and (highlighted := self.query_one(Options).highlighted) is not None:
            self._choose(highlighted, keep=keep)
        elif self._stage == "form" and isinstance(focused, Input):
            if focused.id == "setup-name" and not focused.value.strip():
                self._complain("Type the name of a model.")
            elif focused.id == "setup-key" or keep:
                self._send_form(keep=keep)
            else:
                self.focus_next("#setup-form Input")

    def action_forget(self) -> None:
        """Ask whether the key is deleted that the highlighted model is used with."""
        if self._stage == "choice" and (whose := _kept_for(self._at_cursor(), self._found)):
            self._forgotten = whose
            self._enter("forget")

    def action_consent(self, yes: bool = True) -> None:
        """The download may begin; the key may be kept, or not, or be deleted."""
        if self._stage == "key":
            self._use_wanted(keep_key=yes)
        elif yes and self._stage == "forget":
            self._send(ForgetKey(whose=self._forgotten))
            self._enter("choice")
        elif yes and self._stage == "consent" and self._offer is not None:
            self._enter("download")
            self._send(FetchModel(model_id=self._offer.id))

    def action_step_back(self) -> None:
        """Return to the choice, or leave."""
        match self._stage:
            case "choice":
                self.dismiss()
                self.notify(
                    f"Still using {self._model}." if self._model else "No model: /model chooses one.", timeout=3
                )
            case "download":
                self._send(CancelFetch())
                self._enter("choice")  # whenever it ends: what still arrives about it is not shown
            case "key":
                self._enter("form")
                self.query_one("#setup-key", Input).focus()
            case "consent" | "form" | "forget":
                self._enter("choice")

    # -- inside -----------------------------------------------------------------------------------------------

    def _choose(self, number: int, *, keep: bool) -> None:
        self._complain("")
        if number >= len(self._shown):
            self._offer = None
            self._fill_form(self._filter, "")
            return
        offer = self._shown[number]
        if offer.download_bytes:
            self._offer = offer
            self._enter("consent")
        elif offer.wants_key:
            self._offer = offer
            self._fill_form(offer.id, offer.api_base or "")
            self.query_one("#setup-key", Input).focus()
            if offer.recent:
                self._complain("Its key was kept in memory only: type it again, or $NAME of a variable that has it.")
        elif offer.current and not keep:
            self.action_step_back()
        else:
            self._send(UseModel(name=offer.id, api_base=offer.api_base, keep=keep))
            self.dismiss()

    def _fill_form(self, name: str, url: str) -> None:
        for field, text in (("name", name), ("url", url), ("key", "")):
            self.query_one(f"#setup-{field}", Input).value = text
        self._enter("form")

    def _send_form(self, *, keep: bool) -> None:
        name, url, key = (self.query_one(f"#setup-{field}", Input).value.strip() for field in ("name", "url", "key"))
        if not name:
            self._complain("Type the name of a model.")
            return
        self._wanted = UseModel(name=name, api_base=url, api_key=key or None, keep=keep)
        if key and not key.startswith("$"):
            self._enter("key")
        else:
            self._use_wanted(keep_key=False)

    def _use_wanted(self, *, keep_key: bool) -> None:
        if self._wanted is not None:
            self._send(replace(self._wanted, keep_key=keep_key))
        self._wanted = None
        self.query_one("#setup-key", Input).value = ""
        self.dismiss()

    @property
    def _filter(self) -> str:
        return self.query_one("#setup-filter", Input).value.strip()

    def _show_offers(self) -> None:
        """What fits the words that are typed; the highlight stays on what it was on."""
        offers, words = self.query_one(Options), self._filter.casefold().split()
        before = self._at_cursor()
        self._shown = [offer for offer in self._found.offers if _has_words(offer, words)]
        offers.clear_options()
        offers.add_options(lettering("  ", self._line(index)) for index in range(len(self._shown) + 1))
        same = (index for index, offer in enumerate(self._shown) if before is not None and _same(offer, before))
        best = next(same, _best(self._shown))
        offers.highlighted = best
        self._mark(best)

    def _at_cursor(self) -> ModelOffer | None:
        number = self.query_one(Options).highlighted
        return self._shown[number] if number is not None and number < len(self._shown) else None

    def _line(self, index: int) -> Content:
        if index < len(self._shown):
            return _offer_line(self._shown[index], self._found.default)
        return lettering(f"Use “{self._filter}” …" if self._filter else "Another provider…")

    def _mark(self, highlighted: int) -> None:
        """The row that Enter takes, also where colours are hard to tell apart."""
        offers = self.query_one(Options)
        for index in {self._marked, highlighted} & set(range(offers.option_count)):
            mark = ("▸ ", "bold $accent") if index == highlighted else ("  ", "")
            offers.replace_option_prompt_at_index(index, lettering(mark, self._line(index)))
        self._marked = highlighted
        if self._stage == "choice":
            self.query_one("#setup-text", Words).update(self._words("choice")[1])
            self.query_one(KeyRow).labels = self._keys("choice")

    def _enter(self, stage: SetupStage) -> None:
        self._stage = stage
        self.query_one(Options).display = self.query_one("#setup-filter").display = stage == "choice"
        self.query_one("#setup-form").display = stage == "form"
        self.query_one(ProgressBar).display = stage == "download"
        self.query_one(KeyRow).labels = self._keys(stage)
        title, text = self._words(stage)
        self.query_one("#setup-title", Words).update(title)
        self.query_one("#setup-text", Words).update(text)
        match stage:
            case "choice":
                self.query_one("#setup-filter").focus()
            case "form":
                self.query_one("#setup-name", Input).focus()
            case "consent" | "download" | "key" | "forget":
                self.set_focus(None)

    def _keys(self, stage: SetupStage) -> tuple[KeyLabel, ...]:
        """The keys that work at this stage."""
        leave = {"choice": ("keep it", "keep") if self._model else ("skip", "skip")}
        leave["download"] = ("cancel; what has arrived is kept", "cancel")
        words = {"esc": leave.get(stage, ("back", "back"))}
        if not self._model:  # what is chosen first is what new sessions begin with
            words["enter"] = ("use from now on", "use")
        elif stage == "choice":
            words["enter"] = ("use in this session", "use")
        if stage == "form":
            words["enter"] = ("next, then use", "next")
        if stage == "key":
            words["y"] = ("keep it", "keep")
        if stage == "forget":
            words["y"] = ("delete it", "delete")
        take = ("enter", "ctrl+s") if self._model else ("enter",)
        choice = (*take, "ctrl+d") if _kept_for(self._at_cursor(), self._found) else take
        asks = {"consent": ("y",), "key": ("y", "n"), "forget": ("y",), "download": ()}
        keys = {"choice": choice, "form": take, **asks}[stage]
        return key_labels(self, *keys, "esc", words=words)

    def _words(self, stage: SetupStage) -> tuple[str, str]:
        if stage == "choice":
            offer = self._at_cursor()
            why = self._found.why if offer is not None and offer.recommended else ""
            named = "" if offer is None else f"{offer.id} · {offer.detail}" if offer.detail else offer.id
            asking = "Asking servers for their models …" if self._found.more else ""
            used = any(one.current or one.recent or one.is_kept for one in self._found.offers)
            star = f"★ Recommended for this machine. {why}" if why else ""
            parts = (star, named, asking, _ASKED if used else _PRIVATE)
            return "Which model?", "\n".join(safe_text(part) for part in parts if part)
        if stage == "key":
            return "Keep this API key?", _keeping_words(self._found.key_file)
        if stage == "forget":
            return _forgetting_words(self._forgotten, self._found, self._model)
        if stage == "form" or self._offer is None:
            return safe_text(self._offer.title) if self._offer is not None else "Another provider", ""
        offer = self._offer
        if stage == "download":
            return f"Downloading {safe_text(offer.title)}", "Starting…"
        facts = [safe_text(offer.title), safe_text(offer.detail)]
        facts.append(f"Download: {progress_size(offer.download_bytes)}, about {_time(offer.download_bytes)}.")
        facts.append("The model stays on this machine, and so does what you say to it.")
        return "Download this model?", "\n".join(part for part in facts if part)

    def _complain(self, text: str) -> None:
        self.query_one("#setup-error", Words).update(text)


def _kept_for(offer: ModelOffer | None, found: ModelsFound) -> str:
    """The owner of the kept key that this model uses, "" if none is."""
    if offer is None:
        return ""
    whose = (offer.api_base or "").rstrip("/") or provider_prefix(offer.id)
    return whose if whose in dict(found.kept) else ""


def _forgetting_words(whose: str, found: ModelsFound, model: str) -> tuple[str, str]:
    """The owner of the key, its place, and what happens without it."""
    file = (whose, "file") in found.kept
    lines = [f"It is kept in {safe_text(found.key_file)}." if file else "It is kept in your keyring."]
    if any(one.current and _kept_for(one, found) == whose for one in found.offers):
        lines.append(f"{safe_text(model)} has it in memory until you choose another model or quit.")
    lines.append("To use models of it later, type the key again.")
    return f"Delete the API key of {safe_text(whose)}?", "\n".join(lines)


def _keeping_words(file: str) -> str:
    """Where a key would be kept, and what happens without that."""
    return (
        f"Kept: in your keyring; where there is none, in {safe_text(file)}, readable by you only.\n"
        "Not kept: in memory, until you quit. Either way code and other models never see it.\n"
        "oi-tui auth list shows the keys you kept; /model deletes one, too."
    )


def _best(offers: Sequence[ModelOffer]) -> int:
    """What Enter takes at first: the model in use, else the first that is ready, else the recommended one."""
    for fits in (
        lambda one: one.current,
        lambda one: not (one.download_bytes or one.wants_key or one.kind == "tour"),
        lambda one: one.recommended,
    ):
        if (found := next((index for index, offer in enumerate(offers) if fits(offer)), None)) is not None:
            return found
    return 0


def _same(one: ModelOffer, other: ModelOffer) -> bool:
    return (one.id, one.api_base) == (other.id, other.api_base)


def _has_words(offer: ModelOffer, words: Sequence[str]) -> bool:
    text = f"{offer.id} {offer.title} {offer.detail}".casefold()
    return all(word in text for word in words)


def _offer_line(offer: ModelOffer, default: str) -> Content:
    star = "★ " if offer.recommended else ""
    facts = f" · {safe_text(offer.detail)}" if offer.detail else ""
    usual = " · default" if offer.id == default else ""
    style = "bold $accent" if offer.current else "$text"
    return lettering((f"{star}{safe_text(offer.title)}", style), (facts, "$dim"), (usual, "$dim"))


def _time(count: int) -> str:
    quick, slow = max(1, round(count / _FAST / 60)), max(1, round(count / _SLOW / 60))
    return f"{quick} min" if quick == slow else f"{quick} to {slow} min"
