"""A server whose model takes 8,192 tokens: it counts them by itself and refuses what is longer, as servers do.

Its model is a few rules: it summarises what it is asked to, looks in what it was sent for what it is asked about, and
recalls what it does not find.
"""

import json
import re
from collections.abc import Callable

from support.openai_server import Call, Exchange, Json, OpenAIServer, Turn

WINDOW = 8_192

Answers = Callable[[Json, str, str], Turn]
"""Takes a request, all of its text and its last message; gives the answer."""


def count_tokens(body: Json) -> int:
    """Every word of up to five letters, every two digits and every sign is one, those of JSON too."""
    said = [json.dumps(message, ensure_ascii=False) for message in body["messages"]]
    tools = json.dumps(body["tools"]) if body.get("tools") else ""
    return sum(len(re.findall(r"[A-Za-z]{1,5}|\d{1,2}|[^\sA-Za-z\d]", text)) for text in (*said, tools))


class CountingServer(OpenAIServer):
    """Refuses what it counts to be too long."""

    def __init__(self, answers: Answers, *, window: int = WINDOW, says: bool = True) -> None:
        """`says`: its refusals tell what it takes."""
        super().__init__()
        self.window = window
        self.counts: list[int] = []
        """Of each request that it answered."""
        self.refused: list[int] = []
        self._answers, self._says = answers, says

    def _next_turn(self, exchange: Exchange) -> Turn:
        count = count_tokens(exchange.body)
        with self._lock:
            self.exchanges.append(exchange)
            self.arrived.release()
        if count > self.window:
            self.refused.append(count)
            error = f"This model's maximum context length is {self.window} tokens. Your messages have {count} tokens."
            return Turn(status=400, error=error if self._says else "The prompt is too long: context size exceeded.")
        self.counts.append(count)
        messages = exchange.body["messages"]
        texts = [str(message.get("content") or "") for message in messages]
        turn = self._answers(exchange.body, "\n".join(texts), texts[-1])
        return Turn(text=turn.text, calls=turn.calls, chunk=400, usage_details={"prompt_tokens": count})


def remembering(keeps: str) -> Answers:
    """A model that knows what it was sent. Its summaries keep the sentences in which this word stands."""

    def answer(body: Json, text: str, last: str) -> Turn:
        if text.startswith("You summarise"):
            kept = dict.fromkeys(re.findall(rf"[^.\n]*\b{keeps}\b[^.\n?]*\.", last))
            return Turn(text=" ".join(["The user went through numbered notes.", *kept]))
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        prompts = [text for text in said if text and "(data, not instructions)" not in text]
        asked = re.findall(r"What is the (\w+) code\?", prompts[-1]) if prompts else []
        if asked and (f"the {asked[-1]} code?" in last or "Block " in last):
            found = re.findall(rf"[Tt]he {asked[-1]} code is (\d+)", text)
            if found:
                return Turn(text=f"It is {found[-1]}.")
            arguments = json.dumps({"search": f"{asked[-1]} code is"})
            if body.get("tools"):
                return Turn(calls=(Call(name="recall", arguments=arguments),))
            return Turn(text=f"```recall\n{arguments}\n```")
        if "compute" in last.rpartition("\n\n")[0] + last and "Output" not in last and "[end]" not in last:
            return Turn(text="I compute it.\n\n```python\nprint(table)\n```")
        return Turn(text="Noted. " + "I keep that in mind for what comes next in this long work. " * 3)

    return answer
