"""The CSS of widgets is parsed once a process: each app of a test parsed it anew, a tenth of what such a test costs."""

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation

_parse_rules = Stylesheet._parse_rules
_parsed: dict[object, list[RuleSet]] = {}


def _parse_rules_once(
    self: Stylesheet,
    css: str,
    read_from: CSSLocation,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    """As Textual, which keeps for one app what it parsed; CSS that cannot be parsed is an error each time."""
    key = (css, read_from, is_default_rules, tie_breaker, scope, tuple(self._variables.items()))
    if (rules := _parsed.get(key)) is None:
        rules = _parsed[key] = _parse_rules(self, css, read_from, is_default_rules, tie_breaker, scope)
    return rules


def parse_css_once() -> None:
    """From now on, in this process."""
    Stylesheet._parse_rules = _parse_rules_once  # type: ignore[method-assign]  # there is no other place to keep it
