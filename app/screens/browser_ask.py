"""Opens a link in the browser after the user has seen its target and agreed.

The links come from a model or from the output of code. Only web addresses are opened, exactly as written here; one that
a browser would read differently from a person is refused.
"""

import asyncio
import os
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen

from oi_tui.app.engine.text.safe import visible_text
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words

LinkChoice = Literal["open", "copy"]

_TEXT_BROWSERS = frozenset({"lynx", "w3m", "links", "elinks", "www-browser"})
"""They want the terminal, which is ours."""


class NoBrowser(Exception):
    """A link could not be opened; the text says why."""


class LinkDetails(NamedTuple):
    """A link as a person should see it."""

    shown: str
    """In full, with everything visible that hides or deceives."""
    host: str
    """The host, as it is looked up."""
    hints: tuple[str, ...]
    """What is unusual about it."""
    refusal: str = ""
    """Why it is not opened, "" if it may be."""


def judge_link(href: str) -> LinkDetails:
    """What a person should know of a link."""
    shown, hidden = visible_text(href.replace("\n", "<U+000A>").replace("\t", "<U+0009>"))
    hints: list[str] = []
    try:
        parts = urlsplit(href)
        written = parts.hostname or ""
        host = written.encode("idna").decode("ascii") if written else ""
        odd_port = parts.port not in (None, 80, 443)
    except ValueError:
        return LinkDetails(shown, "", (), "This is not a web address.")
    if parts.scheme not in ("http", "https") or not host:
        return LinkDetails(shown, "", (), "Only links to http and https are opened.")
    if not href.isprintable() or " " in href or "\\" in href:
        return LinkDetails(shown, host, (), "It holds characters that no web address has.")
    if host != written.lower():
        hints.append(f"The name has letters that are not ASCII; it is looked up as {host}.")
    elif any(label.startswith("xn--") for label in host.split(".")):
        hints.append(f"The name stands for other letters: {visible_text(_unicode(host)).text}.")
    if hidden:
        hints.append("Letters of other alphabets in it look like Latin ones.")
    if "@" in parts.netloc:
        hints.append("What stands before the @ is a user name and not where it leads.")
    if odd_port:
        hints.append(f"It leads to the port {parts.port}.")
    return LinkDetails(shown, host, tuple(hints))


def can_open(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser would come up in front of the person: not over SSH, and not without a desktop."""
    if environ.get("BROWSER"):
        return True
    if "SSH_CONNECTION" in environ or "SSH_TTY" in environ:
        return False
    return sys.platform == "darwin" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


async def open_in_browser(url: str) -> None:
    """Open a link that `judge_link` has not refused and the person agreed to; `NoBrowser` if that fails."""
    if link_refusal := judge_link(url).refusal:
        raise NoBrowser(link_refusal)
    await asyncio.to_thread(_open, url)


async def open_page(path: Path) -> None:
    """Open a page that we wrote and the person wants to see; `NoBrowser` where that fails."""
    await asyncio.to_thread(_open, path.as_uri())


def _open(url: str) -> None:
    try:
        browser = webbrowser.get()
        if os.path.basename(getattr(browser, "name", "")) in _TEXT_BROWSERS:
            raise NoBrowser("There is only a browser for the terminal.")
        if isinstance(browser, webbrowser.GenericBrowser):
            # A program that the person named: it must neither write on our screen nor keep us waiting.
            words = [browser.name, *(word.replace("%s", url) for word in browser.args)]
            null = subprocess.DEVNULL
            started = subprocess.Popen(words, stdin=null, stdout=null, stderr=null, start_new_session=True)
            threading.Thread(target=started.wait, name="browser", daemon=True).start()  # it would stay a zombie
        elif not browser.open(url):
            raise NoBrowser("The browser could not be started.")
    except webbrowser.Error as error:
        raise NoBrowser("No browser was found.") from error
    except OSError as error:
        raise NoBrowser(f"The browser could not be started: {error.strerror}.") from error


def _unicode(host: str) -> str:
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host


class BrowserAskScreen(ModalScreen[LinkChoice | None]):
    """Dismissed with what to do with the link, None for nothing."""

    CSS_PATH = "browser_ask.tcss"
    DECIDES = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "open", "open"),
        Hint("c", "dismiss('copy')", "copy it", short="copy"),
        Hint("n,escape", "dismiss(None)", "neither", short="no"),
    ]

    def __init__(self, href: str, *, can_open: bool) -> None:
        super().__init__()
        self._link = judge_link(href)
        self._opens = can_open and not self._link.refusal

    def compose(self) -> ComposeResult:
        """A small box in the middle: where it leads first, then the link in full."""
        link = self._link
        title = f"Open {link.host} in the browser?" if self._opens else "A link"
        hints = [link.refusal] if link.refusal else list(link.hints)
        if not self._opens and not link.refusal:
            hints.append("No browser can be opened from here; copy the link to where there is one.")
        with Vertical(id="browser-box"):
            yield Words(title, id="browser-title")
            with VerticalScroll(id="browser-page"):
                yield Words(link.shown, id="browser-target")
            yield Words("\n".join(hints), id="browser-hints")
            yield KeyRow(id="browser-keys")

    def on_mount(self) -> None:
        """The answers that there are."""
        self.query_one("#browser-hints").display = bool(self._link.hints) or not self._opens
        self.query_one(KeyRow).labels = key_labels(self, *("ycn" if self._opens else "cn"))

    def action_open(self) -> None:
        """Yes, where there is something to say yes to."""
        if self._opens:
            self.dismiss("open")
