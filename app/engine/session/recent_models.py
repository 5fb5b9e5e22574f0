"""Recently used models, each with its server and the source of its key: the top of the model picker.

A key itself is never written here: only the name of its environment variable, that it was typed, or that it is kept.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.core.values import TOUR, Value
from oi_tui.app.engine.log.store import Store

_FACT = "recent models"
_MOST = 8
TYPED = "typed"
"""Reference of a key that is in memory only."""
KEPT = "kept"
"""Reference of a key that was given to be kept."""
_KEY_VARIABLE = "OI_TUI_API_KEY"


class RecentModel(Value, frozen=True, kw_only=True):
    """One that was used."""

    name: str
    api_base: str = ""
    key: str = ""
    """`$NAME` of a variable, `typed`, `kept`, or "" where none was given for it."""


class RecentModels:
    """The newest first; without a store, none."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def all(self) -> tuple[RecentModel, ...]:
        """The recorded models; none that cannot be read."""
        if self._store is None:
            return ()
        try:
            return msgspec.json.decode(self._store.recall(_FACT) or "[]", type=tuple[RecentModel, ...])[:_MOST]
        except msgspec.DecodeError:
            return ()

    def note(self, used: RecentModel) -> None:
        """This one was used now."""
        if self._store is not None:
            others = [one for one in self.all() if (one.name, one.api_base) != (used.name, used.api_base)]
            self._store.remember(_FACT, msgspec.json.encode([used, *others][:_MOST]).decode())


class DefaultModels:
    """What new sessions begin with: the choice for this folder, else the last one of this profile, else the last one of
    no profile. Each keeps name, server and the source of the key together."""

    def __init__(self, store: Store | None, folder: str = "", profile: str = "") -> None:
        self._store = store
        places = (f"{profile}:{folder}", f"{profile}:", f":{folder}", ":")
        self._facts = [f"default model {place}" for place in dict.fromkeys(places)]

    def find(self) -> RecentModel | None:
        """The choice; None if there was none yet."""
        if self._store is None:
            return None
        for fact in self._facts:
            try:
                return msgspec.json.decode(self._store.recall(fact), type=RecentModel)
            except msgspec.DecodeError:
                continue  # nothing there
        name = self._store.recall("model")  # as it was kept before there were folders and profiles
        return RecentModel(name=name, api_base=self._store.recall("api_base")) if name else None

    def put(self, chosen: RecentModel) -> None:
        """This one from now on: in this folder, and where no other was chosen with this profile."""
        if self._store is not None:
            for fact in self._facts[:2]:
                self._store.remember(fact, msgspec.json.encode(chosen).decode())


class KeyRing(dict[str, str]):
    """Keys in memory, by the server or provider that they were given for; and where each was from."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        super().__init__()
        self._environ = environ
        self._references: dict[str, str] = {}

    def give(self, whose: str, key: str, *, kept: bool = False) -> str:
        """Keep a key, or the value of the named variable (`$NAME`), in memory; returns the key itself, "" if there is
        none. `kept`: the credential store has it too."""
        if key.startswith("$"):
            self._references[whose] = key
            key = self._environ.get(key[1:], "").strip()
        elif key and key == self._environ.get(_KEY_VARIABLE, "").strip():
            self._references[whose] = f"${_KEY_VARIABLE}"
        else:
            self._references[whose] = KEPT if kept else TYPED
        if key:
            self[whose] = key
        return key

    def forget_kept(self, whose: str) -> None:
        """Forget the key of this provider or address if the credential store had it; one that was typed stays."""
        for one in [one for one in self if one.rstrip("/") == whose and self._references.get(one) == KEPT]:
            del self[one], self._references[one]

    def reference(self, whose: str) -> str:
        """Where the key for this server or provider is from, "" if there is none."""
        return self._references.get(whose, "")


_TOUR = ModelOffer(
    id=TOUR, kind="tour", title="No model: a tour of oi-tui", detail="a script answers; no key, no network", api_base=""
)


def arrange_offers(
    found: Sequence[ModelOffer],
    current: RecentModel,
    recent: Sequence[RecentModel],
    siblings: Mapping[tuple[str, str], Sequence[ModelOffer]],
    keyless: Collection[RecentModel] = (),
) -> tuple[ModelOffer, ...]:
    """The current model, the others of its server, recent ones, those of their servers, then the rest, each followed by
    the others of its server; each once, and where none is in use the tour, too. `siblings`: by name and address of a
    model, what its server has. `keyless`: those whose key is not known any more."""
    offers: list[ModelOffer] = []
    if current.name:
        offers.append(_offer(current, "in use", current=True))
        offers += _siblings(current.name, current.api_base, siblings)
    offers += (_offer(one, "recent", recent=True, wants_key=one in keyless) for one in recent)
    for one in recent:
        offers += _siblings(one.name, one.api_base, siblings)
    for offer in found:
        offers.append(offer)
        offers += _siblings(offer.id, offer.api_base or "", siblings)
    if not current.name:
        ready = next((number for number, offer in enumerate(offers) if offer.wants_key), len(offers))
        offers.insert(ready, _TOUR)
    known = {(offer.id, offer.api_base or ""): offer for offer in reversed(offers)}
    ordered = dict.fromkeys((offer.id, offer.api_base or "") for offer in offers)
    embedded = {offer.id: offer for offer in found if offer.kind == "embedded"}
    return tuple(_with_facts(known[place], embedded.get(place[0])) for place in ordered)


def _siblings(
    name: str, api_base: str, siblings: Mapping[tuple[str, str], Sequence[ModelOffer]]
) -> Iterator[ModelOffer]:
    where = _place(api_base)
    for offer in siblings.get((name, api_base), ()):
        if offer.id.removeprefix("openai/") == name:
            continue  # the model itself, which is there already
        detail = " · ".join(part for part in (offer.detail, where) if part)
        yield msgspec.structs.replace(offer, detail=detail or "same provider")


def _offer(
    one: RecentModel, word: str, *, current: bool = False, recent: bool = False, wants_key: bool = False
) -> ModelOffer:
    where = _place(one.api_base)
    return ModelOffer(
        id=one.name,
        kind="server" if one.api_base else "key",
        title=one.name,
        detail=f"{word} · {where}" if where else word,
        api_base=one.api_base,
        current=current,
        recent=recent,
        wants_key=wants_key,
    )


def _with_facts(offer: ModelOffer, embedded: ModelOffer | None) -> ModelOffer:
    """Adds what is known of an embedded model to a recent one."""
    if embedded is None or embedded is offer:
        return offer
    word = "in use" if offer.current else "recent"
    return msgspec.structs.replace(
        embedded, detail=f"{word} · {embedded.detail}", current=offer.current, recent=offer.recent
    )


def _place(api_base: str) -> str:
    """The server in a few words, without what may be secret in its address."""
    return api_base.partition("://")[2].rpartition("@")[2].partition("?")[0].rstrip("/")
