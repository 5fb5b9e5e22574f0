"""What a session is still to do, one thing after the other, and the prompts among it that a person can take back."""

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.protocol import PromptsQueued
from oi_tui.app.engine.core.verbs import Job, Retry, Settle, Submit
from oi_tui.app.engine.core.widget_controls import OperateWidget
from oi_tui.app.engine.session.proposed_job import ProposedJob

AnyJob = Job | ProposedJob


class JobQueue:
    """Jobs in order. Reports the prompts that wait for another job to end, and answers `Settle` when its turn comes."""

    def __init__(self, tell: Callable[[PromptsQueued], None]) -> None:
        self._tell = tell
        self._jobs: deque[AnyJob] = deque()
        self._added = asyncio.Event()
        self._is_working = False
        self._held = False
        """Whether prompts wait although nothing is done."""
        self._told = PromptsQueued()

    def __bool__(self) -> bool:
        """Whether any job waits to be done."""
        return bool(self._jobs)

    @property
    def is_busy(self) -> bool:
        """Whether a job is being done, or waits."""
        return self._is_working or self._next() is not None

    def resend_state(self) -> None:
        """Tell what waits to a front end that has just come."""
        self._tell(self._told)

    def add(self, job: AnyJob) -> None:
        """Do this when everything before it is done. KernelError for a widget while anything else is done: what was
        meant for now is not done later."""
        if isinstance(job, OperateWidget) and self.is_busy:
            raise KernelError("Something runs: the widget was not operated.", hint="Try again when it is over.")
        if self._held and isinstance(job, Submit | Retry):
            self._held = False
            self._jobs.appendleft(job)
        else:
            self._jobs.append(job)
        self._added.set()
        self._tell_prompts()

    def hold(self, paused: bool) -> None:
        """Keep the prompts, if the turn before them `paused`, until the person continues it or sends another."""
        self._held = paused
        self._tell_prompts()

    async def next_job(self) -> AnyJob:
        """The next one, once there is one; the one before is done."""
        self._is_working = False
        while (job := self._next()) is None or isinstance(job, Settle):
            if job is not None:
                self._jobs.remove(job)
                self._tell(msgspec.structs.replace(self._told, settled=job.request_id))
                continue
            self._added.clear()
            await self._added.wait()
        self._jobs.remove(job)
        self._is_working = True
        self._tell_prompts()
        return job

    def close(self) -> None:
        """Drop all jobs and notify their callers."""
        for job in self._jobs:
            if isinstance(job, ProposedJob):
                job.over.set()

    def withdraw(self, text: str) -> None:
        """Take back the prompt with this text that was sent last; answered with what waits, in any case."""
        for place in reversed(range(len(self._jobs))):
            job = self._jobs[place]
            if isinstance(job, Submit) and job.text == text:
                del self._jobs[place]  # not the first one that reads the same
                self._tell_prompts(withdrawn=text)
                return
        self._told = self._waiting()
        self._tell(self._told)

    def take_prompts(self) -> list[Submit]:
        """Take back all prompts."""
        waiting = [job for job in self._jobs if isinstance(job, Submit)]
        for job in waiting:
            self._jobs.remove(job)
        self._tell_prompts()
        return waiting

    def take_steers(self) -> list[Submit]:
        """Take the prompts that the model reads at its next step."""
        steers = [job for job in self._jobs if isinstance(job, Submit) and job.steer]
        for job in steers:
            self._jobs.remove(job)
        self._tell_prompts()
        return steers

    def _next(self) -> AnyJob | None:
        """The job to do now, if there is one."""
        return next((job for job in self._jobs if not (self._held and isinstance(job, Submit))), None)

    def _waiting(self) -> PromptsQueued:
        jobs = [job for job in self._jobs if isinstance(job, Submit)]
        steers = tuple(job.steer for job in jobs)
        return PromptsQueued(prompts=tuple(job.text for job in jobs), steers=steers if any(steers) else ())

    def _tell_prompts(self, withdrawn: str | None = None) -> None:
        """Send the waiting prompts if they changed; one with nothing before it counts as begun."""
        waiting = self._waiting() if self._is_working or self._held else PromptsQueued()
        if waiting != self._told or withdrawn is not None:
            self._told = waiting
            self._tell(msgspec.structs.replace(waiting, withdrawn=withdrawn))
