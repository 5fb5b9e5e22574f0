"""LiteLLM's proxy, which companies put before their models: with a key, over HTTP, as any OpenAI-compatible server."""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, TextDelta
from oi_tui.app.engine.core.errors import ModelError

pytestmark = pytest.mark.thorough  # it takes as long to start as all others to be asked

ANSWER = "It is 42."


class Proxy(NamedTuple):
    api_base: str
    key: str


@pytest.fixture(scope="module")
def proxy(serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Proxy:
    """A proxy that answers by itself, to who has the key."""
    key = f"sk-{secrets.token_urlsafe(32)}"
    canned = {"model": "openai/canned", "api_key": "none", "mock_response": ANSWER}
    config = tmp_path_factory.mktemp("proxy") / "config.yaml"
    config.write_text(
        json.dumps(  # which is YAML too
            {
                "model_list": [{"model_name": "canned", "litellm_params": canned}],
                "general_settings": {"master_key": key},
                "litellm_settings": {"telemetry": False},
            }
        )
    )
    options = ("--config", str(config), "--host", "127.0.0.1", "--port", "{port}")
    url = serve("litellm", *options, health="/health/liveliness", LITELLM_LOCAL_MODEL_COST_MAP="True")
    return Proxy(f"{url}/v1", key)


async def test_an_answer_comes_with_its_usage_and_end(proxy: Proxy, ask: Callable[..., Any]) -> None:
    deltas = await ask(api_base=proxy.api_base, api_key=proxy.key, name="canned")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == ANSWER
    assert sum(isinstance(delta, AnswerUsage) for delta in deltas) == 1
    assert deltas[-1] == AnswerEnded(reason="stop")


# With a key that it does not know it asks its database, and has none here: "No connected db." is a bad request.
@pytest.mark.parametrize(
    ("changed", "kind"), [({"api_key": "sk-this-is-not-the-key"}, "bad_request"), ({"name": "absent"}, "unknown_model")]
)
async def test_what_it_refuses_is_told_in_our_words_and_without_the_key(
    proxy: Proxy, ask: Callable[..., Any], changed: dict[str, str], kind: str
) -> None:
    given = {"api_base": proxy.api_base, "api_key": proxy.key, "name": "canned"} | changed
    with pytest.raises(ModelError) as caught:
        await ask(**given)
    told = caught.value
    assert told.kind == kind
    assert given["api_key"] not in told.title + told.hint + told.details


def test_a_task_is_done_with_it(proxy: Proxy, clean_env: dict[str, str], tmp_path: Path) -> None:
    options = ("-m", "openai/canned", "--api-base", proxy.api_base, "--api-key", proxy.key)
    done = subprocess.run(
        [sys.executable, "-m", "oi_tui.app.cli", "run", "--yes", *options, "add"],
        env=clean_env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
        start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == f"{ANSWER}\n"
