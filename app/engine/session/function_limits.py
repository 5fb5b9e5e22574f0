"""Limited functions of a session: what its kernels execute first, and what its model reads."""

from oi_tui.app.engine.core.instructions import InstructionPart
from oi_tui.app.engine.core.settings import FunctionsSection
from oi_tui.app.engine.kernels.preparation import limit_functions
from oi_tui.app.engine.policy.function_patterns import fixed_begins
from oi_tui.app.engine.policy.functions import describe_lists


def limit_cells(lists: FunctionsSection) -> tuple[str, ...]:
    """Cells of Python kernels; () without lists."""
    if not (lists.allow or lists.deny):
        return ()
    begins = [begin for entry in lists.allow for begin in fixed_begins(entry)]
    return (limit_functions(lists.allow, lists.deny, begins),)


def limits_in_words(lists: FunctionsSection) -> tuple[InstructionPart, ...]:
    """The functions that the model may not call, in words; () without lists."""
    told = describe_lists(lists)
    return (InstructionPart(origin="program", name="limited functions", text=told),) if told else ()
