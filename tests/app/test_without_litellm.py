"""The program where LiteLLM and what only that brings is not installed."""

import ast
import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from support.house import module_of, name_of, sources, tree_of
from support.lean_install import LeanInstall, canonical_name, closure, installed_mb, own_requirements
from support.ollama_server import ended, ollama_server, spoken
from support.openai_server import OpenAIServer, Turn
from support.raw_server import raw_server, sends
from support.script import Script
from support.terminal import Terminal

BROUGHT_ALONG = {
    "app/engine/models/litellm_model.py": {"httpx", "openai", "pydantic"},
    "app/engine/mcp/sdk_server.py": {"anyio", "mcp-types", "pydantic"},
    "app/engine/mcp/sdk_session.py": {"anyio", "mcp-types", "pydantic"},
    "app/engine/mcp/sdk_streams.py": {"anyio", "httpx2", "mcp-types", "pydantic"},
    "app/engine/structured/python_types.py": {"pydantic"},
    "app/engine/kernels/in_kernel_functions.py": {"ipython"},
    "app/engine/structured/in_child_schema.py": {"pydantic"},
    "app/engine/structured/bounded_validator.py": {"referencing"},
    "app/engine/kernels/in_kernel.py": {"ipython", "stack-data"},
    "app/engine/kernels/in_kernel_computer.py": {"ipython"},
    "app/engine/kernels/in_kernel_background.py": {"ipython"},
    "app/engine/kernels/in_kernel_tables.py": {"ipython", "traitlets"},
    "app/engine/kernels/in_kernel_figures.py": {"ipython", "traitlets"},
    "app/engine/kernels/in_kernel_names.py": {"ipython"},
    "app/engine/kernels/in_kernel_tool_file.py": {"ipython"},
    "app/engine/kernels/in_kernel_variables.py": {"ipython"},
}
"""Modules that import what another library brings: LiteLLM, the MCP SDK, jsonschema, or ipykernel, in whose process
they run."""

CODE = "```python\nprint(6 * 7)\n```"


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> LeanInstall:
    return LeanInstall(tmp_path_factory.mktemp("lean") / "env", "local")


@pytest.fixture
def run(
    lean: LeanInstall, clean_env: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs that program to its end, with these arguments and environment."""

    def ran(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*lean.command, *arguments],
            env=lean.environ(clean_env) | environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return ran


def test_every_module_is_imported_there_and_nothing_of_litellms_can_be(lean: LeanInstall, tmp_path: Path) -> None:
    left_out = {
        "litellm",
        "openai",
        "httpx",
        "tiktoken",
        "tokenizers",
        "huggingface-hub",
        "pydantic",
        "boto3",
    }
    assert left_out <= lean.missing
    # `app/mcp_service.py` is loaded by `oi-tui mcp serve` alone, which says what to install.
    paths = [path for path in sources() if path.stem != "mcp_service" and "mcp" not in imported_names(tree_of(path))]
    names = [module_of(path) for path in paths]
    program = (
        "import importlib, importlib.util, json, sys\n"
        "names, left_out = json.loads(sys.stdin.read())\n"
        "for name in names: importlib.import_module(name)\n"
        "print([name for name in left_out if importlib.util.find_spec(name.replace('-', '_'))])\n"
    )
    done = subprocess.run(
        [lean.python, "-c", program],
        input=json.dumps([names, sorted(left_out)]),
        env={"PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_an_installation_weighs_no_more_than_it_may() -> None:
    whole, lean = closure(own_requirements()), closure(own_requirements(), left_out=["litellm"])
    assert 150 < installed_mb(whole.values()) < 285 - 6, "MB, beside ours"
    assert 50 < installed_mb(lean.values()) < 115, "MB without LiteLLM"


def test_what_is_imported_anywhere_is_required_by_name() -> None:
    """Deferred imports too. Else leaving out LiteLLM would take away what seemed to be ours."""
    extras = ("local", "data", "keyring", "svg", "mcp", "embedding")
    required = {canonical_name(Requirement(line).name) for line in own_requirements(*extras)} | {"oi-tui"}
    owners = packages_distributions()
    used = {
        (name_of(path), canonical_name(owner))
        for path in sources()
        for name in imported_names(tree_of(path))
        for owner in owners.get(name, [])
    }
    brought = {(path, name) for path, names in BROUGHT_ALONG.items() for name in names}
    assert {(path, name) for path, name in used if name not in required} == brought


def imported_names(tree: ast.AST) -> Iterator[str]:
    """First names of what is imported at run time."""
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=others):
                waiting += others
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield module.partition(".")[0]
            case node:
                waiting += ast.iter_child_nodes(node)


@pytest.mark.kernel
def test_a_turn_with_code_and_the_session_resumed(
    run: Callable[..., subprocess.CompletedProcess[str]], openai_server: OpenAIServer
) -> None:
    openai_server.script(CODE, "It is 42.", "I said 42.")
    server = ["-m", "openai/scripted", "--api-base", openai_server.url, "--yes"]
    first = run("run", *server, "what is six times seven?")
    assert (first.returncode, first.stdout) == (0, "It is 42.\n"), first.stderr
    assert "42" in openai_server.requests[1]["messages"][-1]["content"]

    again = run("run", "--resume", "six times seven", *server, "what did you say?")
    assert (again.returncode, again.stdout) == (0, "I said 42.\n"), again.stderr
    told = [message["content"] for message in openai_server.requests[-1]["messages"]]
    assert [text for text in told if "It is 42." in text]


async def test_ollama_and_a_script_answer(run: Callable[..., subprocess.CompletedProcess[str]], script: Script) -> None:
    async with ollama_server(spoken("Hello."), ended()) as ollama:
        asked = await asyncio.to_thread(run, "run", "-m", "ollama/tiny", "--api-base", ollama.url, "hi")
    assert (asked.returncode, asked.stdout) == (0, "Hello.\n"), asked.stderr
    read = run("run", *script.arguments, "hi")
    assert (read.returncode, read.stdout) == (0, "Hello.\n"), read.stderr


def test_the_embedded_models_are_listed_and_their_runtime_is_loaded(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    listed = run("models", "list", "--provider", "local")
    assert listed.returncode == 0
    assert "qwen2.5-coder-1.5b" in listed.stdout
    assert "not installed" not in listed.stderr


PRICED = ["run", "-m", "openai/gpt-4o", "--api-key", "x", "hi", "--api-base"]
COUNTS = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def test_L11_without_any_price_list_a_price_is_shown_as_unknown_and_a_limit_of_money_refuses(
    run: Callable[..., subprocess.CompletedProcess[str]], openai_server: OpenAIServer
) -> None:
    openai_server.owner = "openai"
    openai_server.script(Turn(text="Hello.", usage_details=COUNTS))
    refused = run(*PRICED, openai_server.url, "--max-cost", "0.5")
    assert (refused.returncode, refused.stdout, openai_server.requests) == (8, "", [])
    assert "the price of openai/gpt-4o is not known" in " ".join(refused.stderr.split())
    asked = run(*PRICED, openai_server.url)
    assert (asked.returncode, asked.stdout) == (0, "Hello.\n"), asked.stderr
    assert "  $?  " in run("usage", "--by", "model").stdout


async def test_L11_a_price_list_that_was_fetched_is_used_there(
    run: Callable[..., subprocess.CompletedProcess[str]], openai_server: OpenAIServer
) -> None:
    openai_server.owner = "openai"
    openai_server.script(Turn(text="Hello.", usage_details=COUNTS))
    row = {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-5, "output_cost_per_token": 1e-4}
    rows = json.dumps(dict.fromkeys(("gpt-4o", *(f"other-{number}" for number in range(30))), row))
    async with raw_server(sends(rows.encode()), kind="application/json") as server:
        address = server.url.removesuffix("/v1") + "/prices.json"
        fetched = await asyncio.to_thread(run, "models", "prices", "--from", address)
    assert "Prices: fetched list " in fetched.stdout
    asked = await asyncio.to_thread(run, *PRICED, openai_server.url, "--max-cost", "0.5")
    assert (asked.returncode, asked.stdout) == (0, "Hello.\n"), asked.stderr
    assert "  $0.02  " in (await asyncio.to_thread(run, "usage", "--by", "model")).stdout


@pytest.mark.parametrize(
    ("name", "also"), [("anthropic/claude-sonnet-5-5", ""), ("gpt-5", "If the model is OpenAI's, write openai/gpt-5.")]
)
def test_a_model_that_needs_litellm_says_what_to_install(
    run: Callable[..., subprocess.CompletedProcess[str]], name: str, also: str
) -> None:
    refused = run("run", "-m", name, "hi", ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    assert (refused.returncode, refused.stdout) == (3, "")
    said = " ".join(refused.stderr.split())
    assert f"“{name}” needs LiteLLM, which is not installed." in said
    assert "`pip install litellm`" in said
    assert also in said


def test_a_key_whose_provider_needs_litellm_is_offered_last_and_says_so(
    lean: LeanInstall, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    program = (
        "import asyncio\n"
        "from oi_tui.app.engine.models.offers import find_offers\n"
        "keys = {'ANTHROPIC_API_KEY': 'k', 'MISTRAL_API_KEY': 'k'}\n"
        "offers = [offer for offer in asyncio.run(find_offers(keys, servers=())) if not offer.wants_key]\n"
        "for offer in offers: print(offer.id, '|', offer.detail)\n"
    )
    done = subprocess.run(
        [lean.python, "-c", program],
        env=clean_env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == (
        [
            "mistral/mistral-large-latest | key in MISTRAL_API_KEY",
            "anthropic/claude-sonnet-5-5 | key in ANTHROPIC_API_KEY · needs LiteLLM, which is not installed",
        ],
        "",
    )


@pytest.mark.pty
def test_the_screen_asks_a_server_and_says_what_another_provider_needs(
    lean: LeanInstall,
    terminal: Callable[..., Terminal],
    openai_server: OpenAIServer,
    clean_env: dict[str, str],
    tmp_path: Path,
) -> None:
    openai_server.script("Here I am.")
    command = [*lean.command, "-m", "openai/scripted", "--api-base", openai_server.url, "--cwd", str(tmp_path)]
    shown = terminal(command, env=lean.environ(clean_env), cwd=tmp_path, timeout=30)
    shown.wait_for("Ask, or !shell")
    shown.send("hi\r")
    shown.wait_for("Here I am.")
    shown.send("/model anthropic/claude-sonnet-5-5\r")
    shown.wait_for("needs LiteLLM, which is not installed")
