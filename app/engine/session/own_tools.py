"""Which tools each session has of the program itself."""

from oi_tui.app.engine.core.protocol import Configure
from oi_tui.app.engine.skills.skill_tool import make_skill_tool
from oi_tui.app.engine.tools.ask_user import make_ask_user
from oi_tui.app.engine.tools.plan import make_plan_tool
from oi_tui.app.engine.tools.ties import MakeTools


def own_tools(setup: Configure) -> tuple[MakeTools, ...]:
    """What makes them; without those that ask where nobody can be asked."""
    return (*((make_ask_user,) if setup.can_ask else ()), make_plan_tool, make_skill_tool)
