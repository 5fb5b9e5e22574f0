"""What an installation weighs: the packages that the program requires without extras, and what only LiteLLM needs."""

from figures import Budget, judge, table

from support.house import ROOT
from support.lean_install import closure, installed_mb, own_requirements

BUDGET, BEFORE = 285, 306
"""MB with LiteLLM, and what they were before this was worked on."""
OURS = ("app", "widgets", "themes", "plugins")


def own_mb() -> float:
    """Our part of it."""
    files = (path for folder in OURS for path in (ROOT / folder).rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc") / 1e6


def main() -> None:
    """Add up what is installed here, and print the section."""
    whole, lean = closure(own_requirements()), closure(own_requirements(), left_out=["litellm"])
    ours, light = own_mb(), installed_mb(lean.values())
    heavy = installed_mb(whole.values()) - light
    found = ours + light + heavy
    rows = (
        ("all", f"{found:.0f}", len(whole) + 1),
        ("oi-tui", f"{ours:.0f}", 1),
        ("what only LiteLLM needs", f"{heavy:.0f}", len(whole) - len(lean)),
        ("the rest", f"{light:.0f}", len(lean)),
    )
    print("## Size\n")
    print("Files without bytecode, 10^6 bytes, of what is required without extras; app/README.md has the parts.\n")
    print(table(("", "MB", "packages"), rows))
    judge(Budget("an installation", f"<= {BUDGET} MB (before: {BEFORE})", f"{found:.0f} MB", found <= BUDGET))


if __name__ == "__main__":
    main()
