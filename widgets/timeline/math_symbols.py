"""The commands of LaTeX as Unicode, and the spacing of symbols."""

import unicodedata
from functools import cache
from typing import Any, Literal

SymbolClass = Literal["ord", "inner", "op", "bin", "rel", "open", "close", "punct"]
"""The classes that TeX gives to atoms: the space between two of them depends on theirs."""


def _words(lines: str) -> frozenset[str]:
    """Lines of words are read faster than a column of quotations."""
    return frozenset(lines.split())


_OWN = {
    "implies": "⟹",
    "impliedby": "⟸",
    "iff": "⟺",
    "land": "∧",
    "lor": "∨",
    "neg": "¬",
    "models": "⊨",
    "bot": "⊥",
    "Box": "□",
    "Re": "ℜ",
    "Im": "ℑ",
    "degree": "°",
    "checkmark": "✓",
    "triangle": "△",
    "Diamond": "◇",
    "blacksquare": "■",
    "qed": "∎",
    "ddag": "‡",
    "S": "§",
    "P": "¶",
    "copyright": "©",
    "pounds": "£",
    "euro": "€",
    "prime": "′",
    "colon": ":",
    "coloneqq": "≔",
    "coloneq": "≔",
    "eqqcolon": "≕",
    "vcentcolon": ":",
    "i": "i",
    "j": "j",
    "phi": "φ",
    "epsilon": "ε",
    "imath": "ı",
    "jmath": "ȷ",
    "hbar": "ℏ",
    "bmod": "mod",
    "mod": "mod",
    "argmax": "arg max",
    "argmin": "arg min",
    "ast": "*",
    "lbrack": "[",
    "rbrack": "]",
    "|": "‖",
    "%": "%",
    ">": " ",
    "enspace": " ",
    "enskip": " ",
    "thinspace": " ",
    "!": "",
    "-": "",
    "/": "",
    "dotsb": "⋯",
    "dotsm": "⋯",
    "dotsi": "⋯",
    "oiint": "∯",
    "oiiint": "∰",
    "iiiint": "⨌",
    "lt": "<",
    "gt": ">",
    "owns": "∋",
    "tilde": "~",
    "And": "&",
    "infin": "∞",
    "R": "ℝ",
    "N": "ℕ",
    "Z": "ℤ",
}
"""Where the tables of `pylatexenc` have nothing, or something that is not meant in mathematics."""

_WORDS = _words(
    """
    arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max
    min Pr sec sin sinh sup tan tanh argmax argmin injlim projlim
    """
)
_BIG = frozenset("∑∏∐∫∬∭∮∯∰⨌⋃⋂⨆⨁⨂⨀⋁⋀⨄")
_BINARY = frozenset("+-−±∓×÷·∗*⋆∘•∙∩∪⊎⊓⊔∨∧⊕⊖⊗⊘⊙∖⋅⋄†‡≀⨿⊲⊳")
_ORDINARY = frozenset("∀∁∂∃∄∅∆∇∎√∛∜∝∞∟∠∡∢∴∵⊤⊥□△◇")
_KINDS: dict[str, SymbolClass] = {
    **dict.fromkeys(_BIG, "op"),
    **dict.fromkeys(_BINARY, "bin"),
    **dict.fromkeys(_ORDINARY, "ord"),
    **dict.fromkeys("=<>:≔≕∝", "rel"),
    **dict.fromkeys("([{⟨⌊⌈⟦", "open"),
    **dict.fromkeys(")]}⟩⌋⌉⟧!", "close"),
    **dict.fromkeys(",;", "punct"),
}

_TEXT = frozenset(["text", "textrm", "textit", "textbf", "textsf", "texttt", "textnormal", "mbox", "hbox", "fbox"])
_NAMES = frozenset(["operatorname", "mathop"])
_PLAIN = _words(
    """
    mathrm mathbf mathit mathsf mathtt boldsymbol bm pmb mathnormal mathord mathbin mathrel mathopen mathclose
    mathinner mathpunct underbrace overbrace smash vphantom cancel ensuremath
    """
)
_DROPPED = _words(
    """
    left right middle limits nolimits displaystyle textstyle scriptstyle scriptscriptstyle nonumber notag rm bf it
    big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm Bigm hline hfill noindent centering protect
    relax par null strut mathstrut allowbreak nobreak cr
    """
)
_SKIPPED = frozenset(["label", "hspace", "vspace", "phantom", "hphantom", "mspace", "kern", "ref", "eqref", "color"])

ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "bar": "\u0304",
    "overline": "\u0305",
    "vec": "\u20d7",
    "overrightarrow": "\u20d7",
    "dot": "\u0307",
    "ddot": "\u0308",
    "dddot": "\u20db",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "acute": "\u0301",
    "grave": "\u0300",
    "breve": "\u0306",
    "check": "\u030c",
    "mathring": "\u030a",
    "underline": "\u0332",
}
"""Commands that put a mark on what follows, and the combining character for it."""

_ALPHABETS = {
    "mathbb": "DOUBLE-STRUCK",
    "mathcal": "SCRIPT",
    "mathscr": "SCRIPT",
    "mathfrak": "FRAKTUR",
    "frak": "FRAKTUR",
    "Bbb": "DOUBLE-STRUCK",
}

_RAISED = dict(
    zip(
        "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW′″‴†‡*°∘⊤",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ′″‴†‡*°°ᵀ",
        strict=True,
    )
)
_LOWERED = dict(zip("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))

VULGAR = {
    ("1", "2"): "½",
    ("1", "3"): "⅓",
    ("2", "3"): "⅔",
    ("1", "4"): "¼",
    ("3", "4"): "¾",
    ("1", "5"): "⅕",
    ("1", "6"): "⅙",
    ("1", "8"): "⅛",
    ("3", "8"): "⅜",
    ("5", "8"): "⅝",
    ("7", "8"): "⅞",
}
"""Fractions with a character of their own."""

Role = Literal["symbol", "word", "text", "name", "plain", "dropped", "skipped", "accent", "alphabet", "unknown"]


def role(command: str) -> Role:
    """What a command without a rule of its own is for."""
    for names, its_role in (
        (_TEXT, "text"),
        (_NAMES, "name"),
        (_DROPPED, "dropped"),
        (_PLAIN, "plain"),
        (_SKIPPED, "skipped"),
        (ACCENTS, "accent"),
        (_ALPHABETS, "alphabet"),
        (_WORDS, "word"),
    ):
        if command in names:
            return its_role  # type: ignore[return-value]  # the literals above are roles
    return "unknown" if symbol(command) is None else "symbol"


def symbol(command: str) -> str | None:
    """The characters for a command that takes no argument, None if there are none."""
    own = _OWN.get(command)
    if own is not None:
        return own
    known = _table().get_macro_spec(command)
    shown = None if known is None else known.simplify_repl
    return shown if isinstance(shown, str) and shown and "%" not in shown else None


def symbol_class(text: str) -> SymbolClass:
    """The class of a symbol."""
    kind = _KINDS.get(text)
    if kind is not None:
        return kind
    if len(text) == 1 and (
        "\u2190" <= text <= "\u22ff" or "\u27f0" <= text <= "\u297f" or "\u2a7d" <= text <= "\u2aff"
    ):
        return "ord" if "⋮" <= text <= "⋱" or text in "↑↓⇑⇓" else "rel"
    return "ord"


def in_alphabet(command: str, text: str) -> str:
    """`text` in the alphabet of a command; letters that it does not have stay."""
    return "".join(_letter(_ALPHABETS[command], letter) for letter in text)


def to_superscript(text: str) -> str | None:
    """`text` in superscript characters, None if one is missing."""
    return _map(text, _RAISED)


def to_subscript(text: str) -> str | None:
    """`text` in subscript characters, None if one is missing."""
    return _map(text, _LOWERED)


def negate(text: str) -> str:
    """A relation struck through."""
    return unicodedata.normalize("NFC", text[:1] + "\u0338") + text[1:] if text else ""


def _map(text: str, table: dict[str, str]) -> str | None:
    if any(character not in table for character in text):
        return None
    return "".join(table[character] for character in text)


def _letter(alphabet: str, letter: str) -> str:
    if not (letter.isascii() and letter.isalnum()):
        return letter
    shape = (
        ("DIGIT " + unicodedata.name(letter).split()[-1])
        if letter.isdigit()
        else (f"{'CAPITAL' if letter.isupper() else 'SMALL'} {letter.upper()}")
    )
    for name in (
        f"{alphabet if alphabet != 'FRAKTUR' else 'BLACK-LETTER'} {shape}",
        f"MATHEMATICAL {alphabet} {shape}",
    ):
        try:
            return unicodedata.lookup(name)
        except KeyError:  # most letters have only one of the two
            continue
    return letter


@cache
def _table() -> Any:
    from pylatexenc.latex2text import get_default_latex_context_db  # takes 50 ms: few answers hold mathematics

    return get_default_latex_context_db()
