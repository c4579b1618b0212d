"""What one kind of job does; that it runs, is seen and survives is the runner's work (`jobs`)."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from contextfind.domain.uri import Uri
from contextfind.ports import Job


class Course(Protocol):
    """How a job that is carried out tells where it is, and waits for its turn."""

    async def come(self) -> None:
        """Return when every earlier job with an overlapping place has left; need not be called."""
        ...

    def at_work(self, stage: str) -> AbstractAsyncContextManager[None]:
        """Hold it against the job when the process ends inside, and note the stage; its turn has come before.

        What may cost much, or fall over, belongs inside; waiting for others does not. What is held against a job is
        forgotten when it comes farther than the last time. One that several processes ended at waits here until no other
        one of that kind is at work.
        """
        ...

    def leave(self) -> None:
        """Let the next one come before this one has ended; again is harmless."""
        ...

    async def note(self, stage: str, done: int | None = None, total: int | None = None) -> None:
        """Write down what is done at the moment, and how far it is (None: as before)."""
        ...

    def foresee(self, left: int) -> None:
        """Tell how many things of the stage are left, where it is not known how far it is."""
        ...


class Errand(Protocol):
    """One kind of job.

    kind: its name, in the store and on the wire.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102 - described above

    def place(self, job: Job) -> Uri:
        """Return the part of the tree that the job is about. Pure."""
        ...

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        """Do it, and return the result, JSON values only.

        Called again, from the start, for a job that was interrupted by the end of a process; no more once that has
        happened three times while it was at work.

        Raises:
            ContextFindError: it failed; the job says why.

        """
        ...

    async def ended(self, job: Job) -> None:
        """Tidy up after a job that has ended, in whatever way; a ContextFindError is only logged."""
        ...
