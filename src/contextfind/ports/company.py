"""The processes that work on the same data, of which this is one."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Company(Protocol):
    """Lets several processes on one storage share what only one of them may do at a time.

    Nothing of it outlives a process: what one held is free again at the moment it is gone.
    """

    @property
    def alone(self) -> bool:
        """Whether there is never another process, so that nothing has to be looked at again for its sake."""
        ...

    async def leads(self, role: str) -> bool:
        """Say whether this process is the one that plays a role; it takes the role when nobody has it.

        False also while that cannot be found out.
        """
        ...

    def holding(self, what: str) -> AbstractAsyncContextManager[None]:
        """Keep all other processes out of the same thing while inside; those of one process take turns by themselves.

        Raises:
            UnavailableError: another process holds it for too long.

        """
        ...
