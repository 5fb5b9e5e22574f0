"""What unknown secrets look like: keys with a known beginning, and what follows `password=`.

What is only long and random (hashes, ids, pictures in base64) is no secret: without a beginning or a name in front
there is nothing to tell it by. A mark is looked for first, which is quick; only where it stands is a pattern tried,
and no pattern looks further than the secret reaches, so that time grows with the text alone.
"""

import re
from functools import cached_property


class Shape:
    """One kind of secret."""

    def __init__(
        self,
        name: str,
        marks: tuple[str, ...],
        rest: str,
        apart: frozenset[str] = frozenset(),
        *,
        folded: bool = False,
    ) -> None:
        """`rest` is the pattern of what follows the mark."""
        self.name = name
        """As a person knows it."""
        self.marks = marks
        """It begins with one of these."""
        self._rest = rest
        self.apart = apart
        """Characters that must not precede the mark: it would be the middle of something else."""
        self.folded = folded
        """Whether the marks, written in small letters, mean capitals too."""

    @cached_property
    def rest(self) -> re.Pattern[str]:
        """What follows the mark. The group `secret` is what is withheld, where there is one, else the mark and all.
        Compiled for the first text that has the mark: all of them take 3 ms."""
        return re.compile(self._rest)


_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_BASE64 = _WORD | frozenset("+/=.")

_BODY = r"[A-Za-z0-9_\-]"
_GENERAL = (
    r"(?=[A-Za-z_\-]*+[0-9])"  # a word of a style sheet has no digit,
    r"(?=(?:[A-Za-z0-9]{0,15}+[_\-])*[A-Za-z0-9]{16})"  # or no long piece without a dash
    rf"{_BODY}{{20,}}+"
)
_STAND_IN = (
    r"(?!\[secret withheld|[$<{%(,=)\]]|/|~/|\./"  # what is put in later, punctuation of code, and folders (PWD)
    r"|(?i:your|x{4}|\*{4}|\.{3}|changeme|example|placeholder|secret|redacted)|[A-Za-z_\-]{0,30}?(?i:passw))"
)
_MIXED = r"(?=[^\s\"'`]{0,99}?[0-9])(?=[^\s\"'`]{0,99}?[A-Za-z])"
_PIECE = r"(?=(?:[A-Za-z0-9]{0,11}+[_\-.~+/=])*[A-Za-z0-9]{12})"
_IS = r"[\"']?\s{0,8}(?:=>|=|:)\s{0,8}"
_SEPARATOR = r"[\s\\nr\"',+>|]{0,12}+"

_PASSWORDS = ("password", "passwd", "passphrase", "pwd")
_SECRETS = (
    *("secret", "api_key", "apikey", "api-key", "access_key", "accesskey", "account_key", "accountkey"),
    *("signing_key", "access_token", "accesstoken", "auth_token", "authtoken", "refresh_token", "session_token"),
    *("bot_token", "private_token"),
)


def _key(name: str, marks: str, rest: str, apart: frozenset[str] = _WORD) -> Shape:
    """A key that begins with one of these marks."""
    return Shape(name, tuple(marks.split()), rest, apart)


def _named_shape(name: str, marks: tuple[str, ...], rest: str) -> Shape:
    """What a name in front tells."""
    return Shape(name, marks, rest, folded=True)


SHAPES: tuple[Shape, ...] = (
    _key(
        "private key",
        "-----BEGIN",
        r" [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\s{0,4}+(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{0,200}+)*"
        rf"(?:{_SEPARATOR}[A-Za-z0-9+/=]{{16,}}+)+"
        rf"(?:{_SEPARATOR}[A-Za-z0-9+/=]{{0,80}}+{_SEPARATOR}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----)?",
        frozenset(),
    ),
    _key("Anthropic key", "sk-ant-", f"{_BODY}{{20,}}+"),
    _key("OpenRouter key", "sk-or-", f"{_BODY}{{20,}}+"),
    _key("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", f"{_BODY}{{20,}}+"),
    _key("API key", "sk-", _GENERAL),
    _key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}+"),
    _key("GitHub token", "github_pat_", r"[A-Za-z0-9_]{40,}+"),
    _key("GitLab token", "glpat-", f"{_BODY}{{20,}}+"),
    _key("AWS key id", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9/+=])", _BASE64),
    _key("Google key", "AIza", f"{_BODY}{{35}}(?!{_BODY})"),
    _key("Google token", "ya29.", f"{_BODY}{{20,}}+"),
    _key("Google secret", "GOCSPX-", f"{_BODY}{{20,}}+"),
    _key("Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9\-]{10,}+"),
    _key("Slack address", "hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}+"),
    _key("token (JWT)", "eyJ", rf"{_BODY}{{10,}}+\.eyJ{_BODY}{{10,}}+\.{_BODY}{{10,}}+", _BASE64),
    _key("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}+"),
    _key("npm token", "npm_", r"[A-Za-z0-9]{36,}+"),
    _key("PyPI token", "pypi-Ag", f"{_BODY}{{50,}}+"),
    _key("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{20,}+"),
    _key("SendGrid key", "SG.", rf"{_BODY}{{16,}}+\.{_BODY}{{16,}}+", _BASE64),
    _key("DigitalOcean token", "dop_v1_", r"[0-9a-f]{60,}+"),
    _key("Groq key", "gsk_", r"[A-Za-z0-9]{40,}+"),
    _key("xAI key", "xai-", r"[A-Za-z0-9]{60,}+"),
    _key("Replicate token", "r8_", r"[A-Za-z0-9]{35,}+"),
    _key("Perplexity key", "pplx-", r"[A-Za-z0-9]{40,}+"),
    _key("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"),
    _named_shape(
        "AWS secret key",
        ("secret_access_key", "secretaccesskey"),
        rf"{_IS}[\"']?(?P<secret>[A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])",
    ),
    _named_shape(
        "authorization",
        ("authorization",),
        r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?i:bearer|basic|token)\s{1,4})?"
        rf"{_STAND_IN}(?P<secret>(?=.[a-z._~+/\-]{{0,200}}[A-Z0-9=])[A-Za-z0-9._~+/=\-]{{12,}}+)(?![\[({{])",
    ),
    _named_shape(
        "authorization",
        ("bearer",),
        rf"\s{{1,4}}{_STAND_IN}(?P<secret>(?=[A-Za-z._~+/=\-]{{0,200}}[0-9])[A-Za-z0-9._~+/=\-]{{20,}}+)",
    ),
    _named_shape(
        "password",
        _PASSWORDS,
        rf"{_IS}(?P<quote>[\"']){_STAND_IN}(?P<secret>[^\s\"'`]{{8,200}}+)(?=(?P=quote))",
    ),
    _named_shape(
        "password",
        _PASSWORDS,
        rf"(?:=|: ?){_STAND_IN}{_MIXED}(?![A-Za-z_]\w{{0,99}}+[(\[.])"
        r"(?P<secret>[^\s\"'`&;,()\[\]{}<>$|]{8,200}+)(?![(\[{])",
    ),
    _named_shape(
        "secret",
        _SECRETS,
        r"(?:[_\-]?(?i:key|id|value))?"
        rf"{_IS}(?P<quote>[\"']){_STAND_IN}{_MIXED}(?P<secret>[A-Za-z0-9._~+/=\-]{{16,500}}+)(?=(?P=quote))",
    ),
    _named_shape(
        "secret",
        _SECRETS,
        r"(?:[_\-]?(?i:key|id|value))?"
        rf"={_STAND_IN}{_MIXED}{_PIECE}(?P<secret>[A-Za-z0-9_~+/=\-]{{16,500}}+)(?![\w.(\[])",
    ),
    _key(
        "password in an address",
        "://",
        r"[^/\s:@\"'<>]{0,100}+:(?![$<{%*]|\[secret withheld|x{3}|pass(?:word)?@)"
        r"(?P<secret>[^/\s:@\"'<>]{3,200}+)(?=@)",
        frozenset(),
    ),
)
"""All of them; where two begin at the same place, the first counts."""
