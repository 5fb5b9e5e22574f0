"""Which variables hold credentials: one rule for what kernels see and for what messages may say."""

import pytest

from oi_tui.app.engine.secrets.environment import is_credential

SECRET = """
    OPENAI_API_KEY OPENAI_API_KEY_2 anthropic_api_key API_KEY WATSONX_APIKEY AZURE_KEY LITELLM_MASTER_KEY
    AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN HF_TOKEN CLIENT_SECRET PGPASSWORD DB_PASSWORD MYSQL_PWD SSHPASS
    DB_PASS GITHUB_PAT GOOGLE_APPLICATION_CREDENTIALS TWINE_PASSWORD DOCKER_PASSWD GPG_PASSPHRASE OPENAI_KEYS KEY1
"""
PLAIN = """
    PATH HOME PWD OLDPWD LANG TERM COLORTERM SSH_AUTH_SOCK SSH_ASKPASS TOKENIZERS_PARALLELISM XDG_ACTIVATION_TOKEN
    KEYBOARD_LAYOUT XAUTHORITY COMPASS MANPATH PATTERN PGPASSFILE
"""


@pytest.mark.parametrize("name", SECRET.split())
def test_S13_a_name_that_says_so_is_of_a_credential(name: str) -> None:
    assert is_credential(name, "value")


@pytest.mark.parametrize("name", PLAIN.split())
def test_the_names_of_other_variables_are_not(name: str) -> None:
    assert not is_credential(name, "value")


@pytest.mark.parametrize(
    "value",
    [
        "postgres://ada:pw@db/x",
        "redis://:pw@host:6379",
        "AccountName=a;AccountKey=abc==",
        "host=db password=pw",
    ],
)
def test_S13_a_value_with_a_password_in_it_is_a_credential(value: str) -> None:
    assert is_credential("DATABASE_URL", value)


@pytest.mark.parametrize("value", ["postgres://ada@db/x", "http://localhost:80/a@b", "/usr/bin:/bin", ""])
def test_other_values_are_not(value: str) -> None:
    assert not is_credential("DATABASE_URL", value)


def test_the_way_to_the_network_is_left_to_kernels() -> None:
    assert not is_credential("https_proxy", "http://ada:pw@proxy:3128")
