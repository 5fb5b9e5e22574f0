"""Secrets are taken out of what leaves, and innocent text is left as it is."""

import base64
import hashlib
import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oi_tui.app.engine.secrets.patterns import SHAPES
from oi_tui.app.engine.secrets.redaction import Redactor, SecretMatch, secrets_in
from support.fuzzing import examples

VALUE = "kQ9-vV2mLw0_zz/T81aPq+Yx"
LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5lM7nP9rS1tU3wX5"
HEX = hashlib.sha256(b"x").hexdigest()

# In two parts each, so that no file of ours holds anything that reads as a key.
KEYS = {
    "Anthropic key": ("sk-ant-", "api03-" + LETTERS),
    "OpenRouter key": ("sk-or-", "v1-" + HEX),
    "OpenAI key": ("sk-proj-", LETTERS + "_x-" + LETTERS),
    "API key": ("sk-", HEX[:32]),
    "GitHub token": ("ghp_", LETTERS[:36]),
    "GitLab token": ("glpat-", LETTERS[:20]),
    "AWS key id": ("AKIA", "IOSF7ODNN7EXAMPL"),
    "Google key": ("AIza", "Sy" + LETTERS[:33]),
    "Google token": ("ya29.", LETTERS),
    "Slack token": ("xoxb-", "123456789012-" + LETTERS[:24]),
    "token (JWT)": ("eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + LETTERS),
    "Hugging Face token": ("hf_", LETTERS[:34]),
    "npm token": ("npm_", LETTERS[:36]),
    "PyPI token": ("pypi-Ag", "EIcHlwaS5vcmc" + LETTERS),
    "Stripe key": ("sk_live_", LETTERS[:24]),
    "SendGrid key": ("SG.", LETTERS[:22] + "." + LETTERS[:43]),
}

NAMED = [
    ('password = "', "correct!Horse7", '"'),
    ("password=", "hunter2222x", "&user=ada"),
    ('{"db_password": "', "tr0ub4dor&3", '"}'),
    ("Authorization: Bearer ", LETTERS, ""),
    ('-H "authorization: Basic ', "YWRhOmxvdmVsYWNlMQ==", '"'),
    ("headers={'Authorization': 'Bearer ", LETTERS, "'}"),
    ("aws_secret_access_key = ", LETTERS[:38] + "/+", "\n"),
    ('"client_secret": "', LETTERS[:24], '"'),
    ("API_KEY=", LETTERS[:32], "\nNEXT=1"),
    ("?access_token=", LETTERS, "&x=1"),
    ("postgres://ada:", "lovelace-1815", "@db.example.org/x"),
]

INNOCENT = [
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
    f"sha256:{HEX}",
    str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
    "data:image/png;base64," + base64.b64encode(random.Random(5).randbytes(6000)).decode(),
    "class sk-estimator-doc-link-fitted sk-text-repr-fallback sk-container-id-1",
    'password = getpass("Password: ")',
    'password=os.environ["DB_PASSWORD_2"]',
    "connect(user=user, password=settings.password1, api_key=self.api_key_2)",
    "s3_aws_session_token=s3_aws_session_token, max_tokens=4096",
    'tokenizer(pad_token="<|endoftext|>", token="[CLS]")',
    "PWD=/home/ada/project1\nOLDPWD=/home/ada/other2",
    "USERNAME_PASSWORD = 'username_password'",
    "https://example.org:8080/a?b=c@d and http://[::1]:80/",
    "git@github.com:ada/engine.git",
    "a task-list, disk-usage, risk-averse; keyboard, token ring, the secret of it",
    "-----BEGIN CERTIFICATE-----\nMIIB" + LETTERS + "\n-----END CERTIFICATE-----",
    "Type your password: ",
    '<input name="password" type="password" placeholder="Password">',
    'Label("Password:", Element("code", 1))',
    "Authorization: Bearer $TOKEN\nAuthorization: Bearer {token}\nAuthorization: Bearer <your-token-1>",
    "  id   weight_kg  login\n0  17  81.2  2024-01-01T00:00:00Z\n1  18  77.0  2024-01-02T00:00:00Z",
]


@pytest.mark.parametrize("name", KEYS)
def test_u17_a_key_of_a_known_shape_is_withheld(name: str) -> None:
    key = "".join(KEYS[name])
    redacted = Redactor().redact(f"the key is {key}, keep it\n'{key}'")
    assert redacted.text == f"the key is [secret withheld: {name}], keep it\n'[secret withheld: {name}]'"
    assert redacted.names == (name, name)


@pytest.mark.parametrize(("before", "secret", "after"), NAMED)
def test_u17_what_follows_a_name_for_secrets_is_withheld(before: str, secret: str, after: str) -> None:
    redacted = Redactor().redact(before + secret + after)
    assert len(redacted.names) == 1
    assert redacted.text == f"{before}[secret withheld: {redacted.names[0]}]{after}"


@pytest.mark.parametrize("joint", ["\n", "\\n", '",\n  "'])
def test_u17_a_private_key_is_withheld_with_all_its_lines(joint: str) -> None:
    lines = [
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        *[LETTERS + "A" * 13] * 5,
        "c2hvcnQ=",
        "-----END RSA PRIVATE KEY-----",
    ]
    assert Redactor().redact("a\n" + joint.join(lines) + "\nb").text == "a\n[secret withheld: private key]\nb"
    cut = Redactor().redact("a\n" + joint.join(lines[:3]) + "\n[… 10 lines left out …]\nb")
    assert LETTERS not in cut.text, "also where its end was left out"


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_left_as_it_is(text: str) -> None:
    assert Redactor({"KEY": VALUE}).redact(text) == (text, ())


def test_the_source_of_the_standard_library_holds_next_to_none() -> None:
    folder = Path(random.__file__).parent
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob("*.py"))]
    texts += [path.read_text(errors="replace") for path in sorted((folder / "urllib").glob("*.py"))]
    assert sum(map(len, texts)) > 3_000_000
    found = [name for text in texts for name in Redactor().redact(text).names]
    assert len(found) <= 2, "there is one in the docstring of urllib.request"


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        quote(VALUE, safe=""),
        quote(VALUE),
        VALUE.encode().hex(),
        base64.b64encode(VALUE.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(VALUE.encode()).decode().rstrip("="),
    ],
)
def test_u17_a_value_is_withheld_in_the_forms_in_which_it_is_printed(form: str) -> None:
    redacted = Redactor({"SOME_TOKEN": VALUE}).redact(f"x {form} y")
    assert form[1:-3] not in redacted.text
    assert redacted.text.startswith("x [secret withheld: SOME_TOKEN]")
    assert redacted.names == ("SOME_TOKEN",)


@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_u17_a_value_within_base64_is_withheld_wherever_it_begins(before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + VALUE.encode() + after).decode()
    assert Redactor({"SOME_TOKEN": VALUE}).redact(encoded).names == ("SOME_TOKEN",)


def test_u17_a_value_with_lines_is_withheld_as_python_and_json_write_it() -> None:
    value = 'first "line"\nsecond\tline 2'
    redactor = Redactor({"CLIENT_SECRET": value})
    for text in (value, repr(value)[1:-1], 'first \\"line\\"\\nsecond\tline 2'):
        assert redactor.redact(text).text == "[secret withheld: CLIENT_SECRET]"


def test_u17_the_password_within_an_address_is_withheld_alone_too() -> None:
    redactor = Redactor({"DATABASE_URL": "postgres://ada:lovelace-1815@db/x"})
    assert redactor.redact("using postgres://ada:lovelace-1815@db/x").text == "using [secret withheld: DATABASE_URL]"
    assert redactor.redact("password is lovelace-1815.").text == "password is [secret withheld: DATABASE_URL]."


@pytest.mark.parametrize(
    "value", ["short", "password", "changeme", "xxxxxxxxxxxx", "/home/ada/key.json", "~/keys/K1.pem", "00000000", ""]
)
def test_a_value_that_hides_nothing_is_not_looked_for(value: str) -> None:
    text = f"a {value} b"
    assert Redactor({"APP_KEY": value}).redact(text) == (text, ())


def test_of_two_values_that_overlap_nothing_is_left() -> None:
    redactor = Redactor({"ONE_KEY": "abcdefgh1234", "TWO_KEY": "1234ijklmnop", "LONG_KEY": "abcdefgh1234ijkl"})
    assert redactor.redact("x abcdefgh1234ijklmnop y").text == "x [secret withheld: ONE_KEY] y"


def test_the_variables_that_are_withheld_are_those_that_kernels_do_not_get() -> None:
    environ = {"HOME": "/home/ada", "OPENAI_API_KEY": VALUE, "DATABASE_URL": "mysql://a:pw@b/c", "EDITOR": "emacs -nw"}
    assert sorted(secrets_in(environ)) == ["DATABASE_URL", "OPENAI_API_KEY"]


_PARTS = st.sampled_from(
    [mark for shape in SHAPES for mark in shape.marks]
    + ["=", ": ", '"', "'", "@", ":", "/", "\n", " ", "a1", LETTERS, HEX, "x" * 20, "\u0130", "\U000e0041", VALUE[:9]]
    + [VALUE, "[secret withheld: password]", "".join(KEYS["GitHub token"])]
)


@examples(300)
@given(st.lists(_PARTS, max_size=30).map("".join))
@example('password="sk-ant-' + LETTERS + '"')
@example("Authorization: Bearer password=" + LETTERS)
def test_u17_nothing_secret_is_left_whatever_stands_around_it_and_twice_is_the_same(text: str) -> None:
    redactor = Redactor({"SOME_TOKEN": VALUE})
    redacted = redactor.redact(text)
    assert VALUE not in redacted.text
    assert redactor.redact(redacted.text) == (redacted.text, ()) or redacted.names
    assert redacted.names or redacted.text == text


def simple_matches(text: str) -> Iterator[SecretMatch]:
    """Every shape, its marks looked for in all of the text, one after the other."""
    for rank, shape in enumerate(SHAPES, 1):
        for mark in shape.marks:
            case = re.ASCII | re.IGNORECASE if shape.folded else 0
            for begun in re.finditer(re.escape(mark), text, case):
                match = shape.rest.match(text, begun.end())
                if match is not None and text[begun.start() - 1 : begun.start()] not in shape.apart:
                    whole = "secret" not in shape.rest.groupindex
                    start, end = (begun.start(), match.end()) if whole else match.span("secret")
                    yield SecretMatch(start, rank, end, shape.name)


_NAMES = [mark for shape in SHAPES for mark in shape.marks if shape.folded]
_SECRETS = st.sampled_from(
    ["".join(parts) for parts in (*KEYS.values(), *NAMED)]
    + [f'{name}="{LETTERS}1"' for names in (_NAMES, map(str.upper, _NAMES), map(str.title, _NAMES)) for name in names]
)


@examples(300)
@given(st.lists(_PARTS | _SECRETS, max_size=20).map("".join))
@example("\u212a API_KEY=" + LETTERS + " \u0130 gLpAt-" + LETTERS)
def test_u17_what_is_found_is_what_a_simple_search_finds(text: str) -> None:
    places = Redactor().places(text)
    matches = sorted(set(simple_matches(text)))
    firsts = [match for number, match in enumerate(matches) if all(match.start >= one.end for one in matches[:number])]
    assert [(one.start, one.rank, one.name) for one in places] == [(one.start, one.rank, one.name) for one in firsts]
    assert [one.end for one in places] == [
        max(one.end for one in matches if place.start <= one.start < place.end) for place in places
    ]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    [
        *("sk-", "sk-sk-a1", "passwd=", "passwd=a1", "passwd='", "://a:", "://", "eyJaaaaaaaaaa.", "bearer ", "a"),
        *(
            "Authorization: Bearer a",
            'api_key="a1',
            "AKIA",
            "-----BEGIN " + "PRIVATE KEY-----\n\n",
            "SG.aaaaaaaaaaaaaaaa.",
        ),
    ],
)
def test_u17_a_text_made_to_be_slow_is_not(part: str) -> None:
    """Milliseconds; if the time grew with the square of the text it would be minutes, and the test interrupted."""
    text = part * (400_000 // len(part))
    assert len(Redactor({"SOME_TOKEN": VALUE}).redact(text).text) > 0
