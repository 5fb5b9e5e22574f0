"""The public message language (LMC): what `run --json` prints, what sessions export and import.

`LmcWriter` turns events into streamed chunks, `fold_chunks` chunks into static messages, `static_messages` a transcript
into the same, and `events_from_messages` is the way back. What the language leaves open is done so:

- An output of several forms is written as its best one: a picture (`image`), else markup (`code` in `html` or
  `javascript` for the user, with the text form beside it for the assistant), else its text (`console`).
- stderr is `console` output with `"stream": "stderr"`, an exception the same with `"error": {name, value}`.
- What a person edited before the run follows the code as `code` of the role `user`.
- Chunks (not messages) of code and of what came of it carry `"block"`, the same for both: an answer may
  continue after its code before the code runs, and a thread may print after its run. A block's messages are together.
- A chunk with `"replace": true` holds the whole content of the message that is open (a model's habit was undone).
- What did not run has `console` output with `"refused": true` and the reason as its content.
- A `confirmation` precedes each decision of anybody; in the format `input`, running code asks a question.
- `{"role": "server", "type": "status"}` says how something ended: `"content": "executed"` a run, with its `status` and
  `exit_code`; `"content": "complete"` a turn, with the `reason` (done, interrupted, model_error, ...) and its `detail`.
  These stand alone, without start and end: `status`; `confirmation`; a chunk with `"update": true`, which replaces the
  messages of its `display_id`; `console` in the format `cleared`, which takes back the output of its block.
- Of a stream that is too long the end follows its beginning, behind a line that counts what is left out between.
- Notices, usage and the states of kernels have no place in it.
"""

from oi_tui.app.engine.formats.lmc.chunk_fold import fold_chunks
from oi_tui.app.engine.formats.lmc.loading import events_from_messages
from oi_tui.app.engine.formats.lmc.static import block_messages, static_messages
from oi_tui.app.engine.formats.lmc.writer import LmcWriter

__all__ = ["LmcWriter", "block_messages", "events_from_messages", "fold_chunks", "static_messages"]
