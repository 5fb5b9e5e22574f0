"""The corpus of ways around rules that deny, and the policy that none of them may get around."""

from pathlib import Path

from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import Base, short_form

CORPUS = Path(__file__).parents[1] / "engine" / "policy_corpus"
DENIED = tuple(
    short_form(text, "deny") for text in ("Shell(rm *)", "Python(shutil.rmtree)", "Python(os.remove)", "Edit(.git/**)")
)
POLICY = Policy(rules=DENIED, base=Base(cwd="/work", home="/home/me"))


def corpus(language: str) -> list[str]:
    """Its sources in this language."""
    lines = (CORPUS / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]
