"""Which tools each session has of the program itself."""

from functools import cache, partial
from pathlib import Path

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.files.paths import cache_dir
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.registered import registered_embedding
from oi_tui.app.engine.skills.function_tools import make_function_tools
from oi_tui.app.engine.skills.skill_records import FindTrusted, folder_skills
from oi_tui.app.engine.skills.skill_tool import make_skill_tool
from oi_tui.app.engine.tools.ask_user import make_ask_user
from oi_tui.app.engine.tools.plan import make_plan_tool
from oi_tui.app.engine.tools.ties import MakeTools

VECTORS = "function-vectors.sqlite"
"""The file of vectors of kept functions, among what can be made again."""


def skills_of_folder(setup: Configure) -> FindTrusted:
    """A function that finds the folder's skills, as long as they are those that the person trusted."""
    return folder_skills(Path(setup.cwd), trusted=setup.trusted, seen=setup.skills)


def own_tools(setup: Configure, hooks: Hooks) -> tuple[MakeTools, ...]:
    """The program's own tools; without those that ask if nobody can be asked."""
    skills = partial(make_skill_tool, find_trusted=skills_of_folder(setup))
    functions = partial(
        make_function_tools, find_embedding=cache(lambda: registered_embedding(hooks)), cache=cache_dir() / VECTORS
    )
    return (*((make_ask_user,) if setup.can_ask else ()), make_plan_tool, skills, functions)
