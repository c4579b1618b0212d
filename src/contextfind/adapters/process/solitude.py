"""A process that has its data to itself."""

from contextlib import AbstractAsyncContextManager, nullcontext


class Solitude:
    """`Company` of a storage that one process works on at a time."""

    alone = True

    async def leads(self, role: str) -> bool:
        """Play every role."""
        del role
        return True

    def holding(self, what: str) -> AbstractAsyncContextManager[None]:
        """Hold everything."""
        del what
        return nullcontext()
