"""Keys that reach a question but were not meant for it.

Letters of a half-typed sentence go to the prompt; a key that comes too early to answer is dropped, and the question
says why. Nothing here decides: `Arming` says which keys may answer.
"""

from typing import Literal, NamedTuple

ERASE = "\b"
"""A Backspace, in text that goes to the prompt."""

TOO_EARLY = "Wait a moment: this question has just appeared."
WRITTEN_ON = "What you type goes to the prompt. Pause to answer."
NOT_ARMED = "Wait a moment, then type: the last key was dropped."
NOT_BY_ENTER = "Enter never approves: y runs it."


class KeyFate(NamedTuple):
    """What happens to a key."""

    does: Literal["act", "wait", "write"]
    """It may act here; it is dropped; or `text` goes to the prompt."""
    text: str = ""
    why: str = ""
    """The reason, for the user."""


class StrayKeys:
    """Knows whether somebody is writing while a question is up."""

    def __init__(self) -> None:
        self._letters: frozenset[str] = frozenset()
        """Those that mean something at the question."""
        self._not_by_enter = NOT_BY_ENTER
        self._writing = False
        self._held = ""
        """Letters that came too early to answer: the beginning of a sentence, if others follow."""

    def begin(self, letters: frozenset[str], run: str = "y", *, writing: bool) -> None:
        """A question appears at which these letters mean something, and the key `run` approves; `writing`: in the
        middle of a sentence."""
        self._letters = letters
        self._not_by_enter = NOT_BY_ENTER.replace("y runs", f"{run} runs") if run else "Enter never approves."
        self._writing, self._held = writing, ""

    def judge(self, key: str, character: str | None, *, armed: bool) -> KeyFate:
        """What becomes of this key; `character` is what it would write, None if nothing."""
        if armed:
            self._writing, self._held = False, ""
            if key == "enter":
                return KeyFate("wait", why=self._not_by_enter)
            if character is None or character in self._letters:
                return KeyFate("act")
            self._writing = True
            return KeyFate("write", character, WRITTEN_ON)
        if character is None:
            if key == "backspace" and self._writing:
                return KeyFate("write", ERASE, WRITTEN_ON)
            return KeyFate("wait", why=self._not_by_enter if key == "enter" else TOO_EARLY)
        if self._writing:
            return KeyFate("write", character, WRITTEN_ON)
        self._held += character
        if character in self._letters - {" "} or not self._held.strip():
            return KeyFate("wait", why=TOO_EARLY)
        self._writing, text, self._held = True, self._held, ""
        return KeyFate("write", text, WRITTEN_ON)


class Sentence:
    """Tells what is typed for the prompt from letters that are keys of a list: of those, one comes alone, or with
    others of the same meaning."""

    def __init__(self) -> None:
        self.is_typed = False
        """Whether what comes now belongs to one."""
        self._held, self._meant = "", ""
        """Letters that may be its beginning, and what they mean as keys."""

    @property
    def has_begun(self) -> bool:
        """Whether it may have."""
        return self.is_typed or bool(self._held)

    def end(self) -> None:
        """The keyboard was quiet for a moment."""
        self.is_typed, self._held = False, ""

    def take(self, character: str, meaning: str) -> str:
        """What is known to be of it, with this character; "" if that is a key, whose `meaning` it has."""
        self._held += character
        if not self.is_typed and meaning and (self._held == character or meaning == self._meant):
            self._meant = meaning
            return ""
        text, self._held, self.is_typed = self._held, "", True
        return text
