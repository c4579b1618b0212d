"""Many short calls from the event loop, few long ones of an engine."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future

from contextfind.domain.records import Matrix, Vector


class Coalescer:
    """Answers texts one at a time; those that wait for the engine together go in one call, equal ones once.

    compute: runs in `executor`, one row per text. most: texts in one call; 16 share a call's fixed
        costs (measured: a quarter less time per text) and keep the wait behind it short.
    """

    def __init__(
        self, executor: Executor, compute: Callable[[Sequence[str]], Matrix], most: int = 16
    ) -> None:
        self._executor = executor
        self._compute = compute
        self._most = most
        self._waiting: deque[tuple[str, Future[Vector]]] = deque()

    async def row(self, text: str) -> Vector:
        """Return the row of this text.

        Raises:
            RuntimeError: the executor was shut down; and whatever `compute` raises.

        """
        answer: Future[Vector] = Future()
        self._waiting.append((text, answer))
        self._executor.submit(self._answer_some)
        return await asyncio.wrap_future(answer)

    def _answer_some(self) -> None:
        batch: list[tuple[str, Future[Vector]]] = []
        while self._waiting and len(batch) < self._most:
            text, answer = self._waiting.popleft()
            if answer.set_running_or_notify_cancel():
                batch.append((text, answer))
        if not batch:
            return
        texts = list(dict.fromkeys(text for text, _ in batch))
        try:
            rows = dict(zip(texts, self._compute(texts), strict=True))
        except (
            BaseException
        ) as error:  # whatever it is belongs to those who wait, not to this thread
            for _, answer in batch:
                answer.set_exception(error)
            raise
        for text, answer in batch:
            answer.set_result(rows[text])
