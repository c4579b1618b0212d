"""The processes that work on the same data, of which this is one."""

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from contextfind.domain.uri import Uri


class Company(Protocol):
    """Lets several processes on one storage share what only one of them may do at a time.

    Nothing of it outlives a process: what one held is free again at the moment it is gone.
    """

    @property
    def alone(self) -> bool:
        """Whether there is never another process, so that nothing has to be looked at again for its sake."""
        ...

    async def leads(self) -> bool:
        """Say whether this process is the one that does what one has to do for all.

        False also while that cannot be found out. Two may think so for a moment when a connection broke: what is
        led must be right beside itself.
        """
        ...

    def holding(
        self, what: str, account: str, *places: Uri, patience: float | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Keep all other processes out of `what` at, above and below these addresses while inside.

        Those of one process take turns by themselves (`ingestion/turns`). patience: seconds to wait for another process,
        None for as long as it takes.

        Raises:
            UnavailableError: another process is there for longer than that, or nobody can say.

        """
        ...


class Solitude:
    """`Company` of a storage that one process works on at a time."""

    @property
    def alone(self) -> bool:
        """There is nobody else."""
        return True

    async def leads(self) -> bool:
        """Somebody has to."""
        return True

    def holding(
        self, what: str, account: str, *places: Uri, patience: float | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Wait for nobody."""
        del what, account, places, patience
        return nullcontext()
