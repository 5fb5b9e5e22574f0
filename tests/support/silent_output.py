"""Where a call of a tool would say what it does while it runs, for calls that say nothing."""

from collections.abc import Sequence

from oi_tui.app.engine.core.outputs import RichOutput


class SilentOutput:
    """Fails the test where something is said."""

    block_id = "b1"

    def print(self, text: str) -> None:
        raise AssertionError(text)

    def show(self, output: RichOutput) -> None:
        raise AssertionError(output)

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        raise AssertionError(message)

    async def ask(
        self, question: str, choices: Sequence[str] = (), *, several: bool = False, password: bool = False
    ) -> str | None:
        raise AssertionError(question)
