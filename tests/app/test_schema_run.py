"""`oi-tui run --schema`: stdout is JSON that fits, or nothing; how it was had is the program's own business."""

import json
from pathlib import Path

import pytest

from support.openai_server import Call, OpenAIServer, Turn
from support.programs import oi_tui, on

SCHEMA = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}, "when": {"type": "string", "format": "date"}},
    "required": ["sum", "when"],
}
RIGHT = '{"sum": 42, "when": "2024-03-03"}'
WRONG = '{"sum": "many", "when": "soon"}'


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return path


@pytest.mark.kernel
def test_E7_code_runs_on_the_way_and_stdout_is_json_alone(
    clean_env: dict[str, str], openai_server: OpenAIServer, schema: Path
) -> None:
    code = "I'll add.\n\n```python\nprint(40 + 2)\n```\n"
    openai_server.script(code, Turn(text="It is 42."), Turn(text='{"sum": "42", "when": "3. März 2024"}'))
    done = oi_tui(clean_env, "run", "--yes", *on(openai_server), "--schema", "schema.json", "add", cwd=schema.parent)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == {"sum": 42, "when": "2024-03-03"}
    asked = openai_server.requests
    assert ["response_format" in body for body in asked] == [False, False, True]
    assert '"sum"' in asked[0]["messages"][0]["content"]
    assert "tools" not in asked[2]


def test_E7_an_answer_that_fits_at_once_costs_no_further_request(
    clean_env: dict[str, str], openai_server: OpenAIServer, schema: Path
) -> None:
    openai_server.script(f"```json\n{RIGHT}\n```")
    done = oi_tui(clean_env, "run", *on(openai_server), "--schema", str(schema), "add", cwd=schema.parent)
    assert (done.returncode, done.stdout) == (0, RIGHT.encode() + b"\n"), done.stderr.decode()
    assert len(openai_server.requests) == 1


def test_E8_a_server_that_refuses_the_schema_is_asked_in_words_and_not_with_a_schema_again(
    clean_env: dict[str, str], openai_server: OpenAIServer, schema: Path
) -> None:
    refusal = Turn(status=400, error="response_format of type json_schema is not supported")
    openai_server.script("It is 42.", refusal, WRONG, RIGHT)
    done = oi_tui(clean_env, "run", *on(openai_server), "--schema", str(schema), "add", cwd=schema.parent)
    assert (done.returncode, done.stdout) == (0, RIGHT.encode() + b"\n"), done.stderr.decode()
    assert ["response_format" in body for body in openai_server.requests] == [False, True, False, False]
    assert "is not a 'date'" in openai_server.requests[3]["messages"][-1]["content"]


def test_E8_a_model_with_tools_gives_it_by_a_call_where_no_schema_is_taken(
    clean_env: dict[str, str], openai_server: OpenAIServer, schema: Path
) -> None:
    (Path(clean_env["XDG_CONFIG_HOME"]) / "oi-tui").mkdir(parents=True)
    (Path(clean_env["XDG_CONFIG_HOME"]) / "oi-tui" / "config.toml").write_text('[model]\ntools = "on"\n')
    refusal = Turn(status=400, error={"message": "Unknown parameter: 'response_format'"})
    openai_server.script("It is 42.", refusal, Turn(calls=(Call(name="answer", arguments=RIGHT),)))
    done = oi_tui(clean_env, "run", *on(openai_server), "--schema", str(schema), "add", cwd=schema.parent)
    assert (done.returncode, done.stdout) == (0, RIGHT.encode() + b"\n"), done.stderr.decode()
    assert [tool["function"]["name"] for tool in openai_server.requests[2]["tools"]] == ["answer"]


def test_E9_where_no_answer_fits_the_last_attempt_is_on_stderr_and_the_exit_code_is_9(
    clean_env: dict[str, str], openai_server: OpenAIServer, schema: Path
) -> None:
    openai_server.script("It is 42.", WRONG)
    done = oi_tui(
        clean_env, "run", *on(openai_server), "--schema", str(schema), "--tries", "2", "add", cwd=schema.parent
    )
    assert (done.returncode, done.stdout) == (9, b""), done.stderr.decode()
    assert f"The last attempt:\n{WRONG}" in done.stderr.decode()
    assert len(openai_server.requests) == 4  # the answer in prose, the demand for JSON, and two further tries


def test_E9_an_answer_that_was_cut_at_its_limit_is_none(
    clean_env: dict[str, str], openai_server: OpenAIServer, schema: Path
) -> None:
    openai_server.script(Turn(text='{"sum": 42, "when": "2024-', finish_reason="length"), RIGHT)
    done = oi_tui(clean_env, "run", *on(openai_server), "--schema", str(schema), "add", cwd=schema.parent)
    assert (done.returncode, done.stdout) == (0, RIGHT.encode() + b"\n"), done.stderr.decode()


def test_E10_a_model_of_the_person_is_imported_and_the_program_says_that_this_runs_code(
    clean_env: dict[str, str], openai_server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(
        "import os, sys\nfrom dataclasses import dataclass\nprint('hello from the module')\n"
        "assert 'OI_TUI_API_KEY' not in os.environ\n"
        "@dataclass\nclass Total:\n    sum: int\n    of: list[str]\n"
    )
    openai_server.script('{"sum": 1, "of": ["a"]}')
    env = clean_env | {"OI_TUI_API_KEY": "secret-key-of-the-person"}
    done = oi_tui(env, "run", *on(openai_server), "--schema", "shop:Total", "add", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"sum": 1, "of": ["a"]}), done.stderr.decode()
    assert "its code runs with your permissions" in done.stderr.decode()


@pytest.mark.parametrize("given", ["gone.json", "nomodule:Thing", "broken.json"])
def test_E10_a_schema_that_cannot_be_had_ends_it_before_the_model_is_asked(
    clean_env: dict[str, str], openai_server: OpenAIServer, tmp_path: Path, given: str
) -> None:
    (tmp_path / "broken.json").write_text("{")
    done = oi_tui(clean_env, "run", *on(openai_server), "--schema", given, "add", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b""), done.stderr.decode()
    assert openai_server.requests == []
