"""The policy through the real parts: a rules file, the engine, a scripted model, and a real shell."""

import asyncio
from pathlib import Path

import pytest

from oi_tui.app.build import local_client
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import DecisionRequested, TurnEnded
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Open, Submit
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.transcript.transcript import Transcript
from support.enclosure import UNENCLOSED
from support.script import Script

pytestmark = pytest.mark.kernel

RULES = """\
deny = ["Shell(rm *)"]
allow = ["Shell(echo *)", "Shell(cat *)"]
"""


@pytest.fixture
def rules(clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules file of a person who has a home of their own."""
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)
    path = config_dir() / "permissions.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULES)
    path.chmod(0o600)
    return path


def setup(script: Script, folder: Path) -> Configure:
    settings = Settings(model=ModelSection(name=script.name), loop=LoopSection(approve="ask"), sandbox=UNENCLOSED)
    return Configure(settings=settings, cwd=str(folder), can_ask=False)


async def test_a_rule_allows_a_command_and_another_one_denies_it_in_a_real_shell(
    script: Script, tmp_path: Path, rules: Path
) -> None:
    (tmp_path / "kept").write_text("precious")
    script.write(
        "```bash\necho one | cat\n```\n",
        "```bash\necho two && rm kept\n```\n",
        "```bash\ncat kept\n```\n",
        "Done.",
    )
    client = local_client(setup(script, tmp_path))
    transcript, asked = Transcript(), 0
    try:
        await client.send(Open())
        await client.send(Submit(text="go"))
        async with asyncio.timeout(60):
            async for reply in client.replies():
                for event in reply.events if isinstance(reply, Batch) else ():
                    transcript.apply(event)
                    asked += isinstance(event, DecisionRequested)
                if any(isinstance(event, TurnEnded) for event in getattr(reply, "events", ())):
                    break
    finally:
        await client.close()
    codes = [block for block in transcript.blocks if isinstance(block, CodeBlock)]
    assert asked == 0
    assert [code.state for code in codes] == ["ok", "refused", "ok"]
    named = [f"the rule Shell({name} *) (permissions.toml, line 2)" for name in ("echo", "cat")]
    assert codes[0].allowance == f"allowed by {' and '.join(named)}"
    assert (tmp_path / "kept").read_text() == "precious"
    told = str(script.requests[2]["messages"])
    assert "not run: denied by the rule Shell(rm *) (permissions.toml, line 1)" in told


async def test_U11_with_a_broken_rules_file_nothing_starts(script: Script, tmp_path: Path, rules: Path) -> None:
    rules.write_text("deny = ['Shel(rm *)']")
    with pytest.raises(SettingsError, match="line 1: 'Shel' is no tool"):
        local_client(setup(script, tmp_path))
    assert rules.read_text() == "deny = ['Shel(rm *)']"
