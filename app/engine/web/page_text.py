"""A download as text or picture, by what it is: HTML as Markdown, the text of a PDF, JSON, plain text, a picture."""

import base64
import json
from typing import NamedTuple

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.files.given_picture import UnreadablePicture, read_picture
from oi_tui.app.engine.files.pdf_text import read_pdf
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.web.charset import decode_page
from oi_tui.app.engine.web.download import Download, NotFetched, describe_size
from oi_tui.app.engine.web.page_markdown import page_markdown

MOST_TEXT = 2_000_000
"""Characters that are kept of one page."""
MOST_PAGES = 200
"""Of a PDF."""

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = (
    *("application/xml", "application/javascript", "application/ecmascript", "application/x-yaml", "application/yaml"),
    *("application/toml", "application/sql", "application/x-sh", "application/x-ndjson", "application/rtf"),
)
_UNKNOWN = ("", "application/octet-stream")
_LOOKED_AT = 1_024
"""Bytes."""
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


class PageText(NamedTuple):
    """What a page says."""

    what: str
    """In words: "HTML as Markdown"."""
    text: str
    title: str = ""
    remarks: tuple[str, ...] = ()
    """What is missing of it, as sentences."""


def read_page(download: Download) -> PageText | RichOutput:
    """What came, as text or as a picture; NotFetched for what is neither. Takes a while: not for an event loop."""
    kind, body = download.kind, download.body
    if not body:
        raise NotFetched("The page is empty.")
    if body.startswith(b"%PDF-") or kind == "application/pdf":
        return _pdf(download)
    if kind.startswith("image/") and kind != "image/svg+xml":
        return _picture(download)
    if not kind and body.startswith(_PICTURES):
        return _picture(download)
    said = _size_remarks(download)
    is_html = kind in _HTML or (not kind and _looks_like_html(body))
    if _is_binary(download) or not (is_html or _is_text(kind)):
        raise NotFetched(f"It is {kind or 'no text'}, {describe_size(download)}: no page to read.")
    text = decode_page(body, download.charset, is_markup=is_html)
    if is_html:
        page = page_markdown(text, download.address.text)
        if not page.text.strip() and page.has_scripts:
            said = (*said, "The page has no text without its scripts, which do not run here.")
        if not page.is_whole:
            said = (*said, "The page is too long: its end was not read.")
        return PageText("HTML as Markdown", page.text[:MOST_TEXT], page.title, said)
    if kind == "application/json" or kind.endswith("+json"):
        return PageText("JSON", _readable_json(text)[:MOST_TEXT], remarks=said)
    return PageText(kind or "text", text[:MOST_TEXT], remarks=said)


def _size_remarks(download: Download) -> tuple[str, ...]:
    return () if download.is_whole else (f"Only the first {describe_size(download).removeprefix('more than ')} came.",)


def _looks_like_html(body: bytes) -> bool:
    begin = body[:512].lstrip().lower()
    return begin.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in _TEXT or kind.endswith(("+xml", "json")) or kind in _UNKNOWN


def _is_binary(download: Download) -> bool:
    """Whether it has characters that no text has, whatever it is called."""
    wide = download.charset.lower().startswith("utf-16") or download.body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return not wide and b"\0" in download.body[:_LOOKED_AT]


def _readable_json(text: str) -> str:
    """In lines, where it is one long one."""
    if text.count("\n") > 3 or len(text) > MOST_TEXT:
        return text
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _pdf(download: Download) -> PageText:
    if not download.is_whole:
        raise NotFetched(f"It is a PDF of {describe_size(download)}, too large to read.")
    found = read_pdf(download.body, pages=MOST_PAGES, characters=MOST_TEXT)
    text = "\n\n".join(f"[page {number}]\n{page}" for number, page in enumerate(found.texts, 1) if page.strip())
    if not text:
        raise NotFetched(f"It is a PDF that {found.why or 'has no text, only pictures of pages'}.")
    remarks = (f"It {found.why}.",) if found.why else ()
    if len(found.texts) < found.pages:
        remarks = (*remarks, f"{quantity(found.pages - len(found.texts), 'more page')} not read.")
    return PageText(f"a PDF of {quantity(found.pages, 'page')}", text, remarks=remarks)


def _picture(download: Download) -> RichOutput:
    """The picture, encoded again."""
    try:
        found = read_picture(download.body) if download.is_whole else None
    except UnreadablePicture as error:
        raise NotFetched(f"It is a picture that {error}.") from error
    if found is None:
        why = "no picture that can be read" if download.is_whole else "too large"
        raise NotFetched(f"It is {download.kind}, {describe_size(download)}: {why}.")
    told = f"{download.address.text} · {found.form}, {found.width:,}×{found.height:,} pixels"
    data = {found.mime: base64.b64encode(found.data).decode(), "text/plain": told}
    return RichOutput(data=data, is_result=True)
