"""What a session is still to do, one thing after the other, and the prompts among it that a person can take back."""

import asyncio
from collections import deque
from collections.abc import Callable

from oi_tui.app.engine.core.protocol import PromptsQueued
from oi_tui.app.engine.core.verbs import Job, Submit


class JobQueue:
    """Jobs in order. Reports the prompts that wait for another job to end."""

    def __init__(self, tell: Callable[[PromptsQueued], None]) -> None:
        self._tell = tell
        self._jobs: deque[Job] = deque()
        self._added = asyncio.Event()
        self._is_working = False
        self._told: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether any job waits to be done."""
        return bool(self._jobs)

    @property
    def is_busy(self) -> bool:
        """Whether a job is being done, or waits."""
        return self._is_working or bool(self._jobs)

    def tell_again(self) -> None:
        """Tell what waits to a front end that has just come."""
        self._tell(PromptsQueued(prompts=self._told))

    def add(self, job: Job) -> None:
        """Do this when everything before it is done."""
        self._jobs.append(job)
        self._added.set()
        self._tell_prompts()

    async def next_job(self) -> Job:
        """The next one, once there is one; the one before is done."""
        self._is_working = False
        while not self._jobs:
            self._added.clear()
            await self._added.wait()
        job = self._jobs.popleft()
        self._is_working = True
        self._tell_prompts()
        return job

    def withdraw(self, text: str) -> None:
        """Take back the prompt with this text that was sent last; answered with what waits, in any case."""
        for place in reversed(range(len(self._jobs))):
            job = self._jobs[place]
            if isinstance(job, Submit) and job.text == text:
                del self._jobs[place]  # not the first one that reads the same
                self._tell_prompts(withdrawn=text)
                return
        self._told = self._prompts()
        self._tell(PromptsQueued(prompts=self._told))

    def take_prompts(self) -> list[Submit]:
        """Take back all prompts."""
        waiting = [job for job in self._jobs if isinstance(job, Submit)]
        for job in waiting:
            self._jobs.remove(job)
        self._tell_prompts()
        return waiting

    def _prompts(self) -> tuple[str, ...]:
        return tuple(job.text for job in self._jobs if isinstance(job, Submit))

    def _tell_prompts(self, withdrawn: str | None = None) -> None:
        """Where that is news: what nothing stands before is as good as begun."""
        prompts = self._prompts() if self._is_working else ()
        if prompts != self._told or withdrawn is not None:
            self._told = prompts
            self._tell(PromptsQueued(prompts=prompts, withdrawn=withdrawn))
