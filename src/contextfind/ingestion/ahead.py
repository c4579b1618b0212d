"""One step ahead: while a result is dealt with, the next one is already being made."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def ahead(works: Iterable[Coroutine[Any, Any, T]]) -> AsyncGenerator[T, None]:
    """Yield what each work returns, in order; an exception comes in its turn.

    works: taken one by one, each when the one before has returned. Close the generator (`aclosing`)
    to cancel what is under way.
    """
    todo = iter(works)
    coming = _started(todo)
    try:
        while coming is not None:
            result = await coming
            coming = _started(todo)
            yield result
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


def _started(todo: "Iterable[Coroutine[Any, Any, T]]") -> "asyncio.Task[T] | None":
    work = next(iter(todo), None)
    return None if work is None else asyncio.create_task(work)
