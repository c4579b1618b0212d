"""The two performers of a flow: one blocks, one awaits; neither knows what the steps are for."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar, cast

import httpx
from tenacity import AsyncRetrying, Retrying

from contextfind.client.exchange import Answer, Request
from contextfind.client.flow import Flow, FreshId, Moment, Pause, Step, Work
from contextfind.client.retrying import rules
from contextfind.client.surroundings import Surroundings
from contextfind.client.upload import WatchedFile
from contextfind.client.wire import Address, answer_of, complaining, late, parts_of

UPLOAD_TIMEOUT = 300.0  # seconds without progress while the server takes a large file
LEAST = 0.001  # seconds an attempt gets that begins at the very end
T = TypeVar("T")


class BlockingPerformer:
    """Takes steps in the caller's thread, without an event loop; several threads may share it."""

    def __init__(
        self, address: Address, around: Surroundings, transport: httpx.BaseTransport | None
    ) -> None:
        self._address = address
        self._around = around
        self._http = httpx.Client(**address.http_options(), transport=transport)

    def perform(self, flow: Flow[T]) -> T:
        """Return what the flow returns; it is closed when a step fails."""
        with closing(flow):
            try:
                step = next(flow)
                while True:
                    step = flow.send(self._take(step))
            except StopIteration as end:
                return cast("T", end.value)

    def close(self) -> None:
        """Let go of the sockets; closing twice is fine."""
        self._http.close()

    def _take(self, step: Step) -> object:
        match step:
            case Request():
                return self._sent(step)
            case Pause(seconds):
                self._around.pause(seconds)
                return None
            case Work(function):
                return function()
            case Moment():
                return self._around.clock()
            case FreshId():
                return self._around.fresh_id()

    def _sent(self, request: Request[Any]) -> Answer:
        patience = _patience(request, self._address)
        retrying = Retrying(
            **rules(request, self._address.retries, patience, self._around.chance),
            sleep=self._around.pause,
        )
        return retrying(self._attempt, request, patience, self._around.clock() + patience)

    def _attempt(self, request: Request[Any], patience: float, until: float) -> Answer:
        left = max(until - self._around.clock(), LEAST)
        with (
            complaining(self._address, patience),
            _content(request) as content,
            self._http.stream(**content, timeout=left) as response,
        ):
            chunks: list[bytes] = []
            for chunk in response.iter_bytes():  # httpx's own limit starts anew with each
                chunks.append(chunk)
                if request.upload is None and self._around.clock() > until:
                    raise late(self._address, patience)
            return answer_of(response, b"".join(chunks))


class AwaitingPerformer:
    """Takes steps on the running event loop, what blocks in a thread."""

    def __init__(
        self, address: Address, around: Surroundings, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._address = address
        self._around = around
        self._http = httpx.AsyncClient(**address.http_options(), transport=transport)

    async def perform(self, flow: Flow[T]) -> T:
        """Return what the flow returns; it is closed when a step fails or is cancelled."""
        with closing(flow):
            try:
                step = next(flow)
                while True:
                    step = flow.send(await self._take(step))
            except StopIteration as end:
                return cast("T", end.value)

    async def close(self) -> None:
        """Let go of the sockets; closing twice is fine."""
        await self._http.aclose()

    async def _take(self, step: Step) -> object:
        match step:
            case Request():
                return await self._sent(step)
            case Pause(seconds):
                await self._around.sleep(seconds)
                return None
            case Work(function):
                return await asyncio.to_thread(function)
            case Moment():
                return self._around.clock()
            case FreshId():
                return self._around.fresh_id()

    async def _sent(self, request: Request[Any]) -> Answer:
        patience = _patience(request, self._address)
        retrying = AsyncRetrying(
            **rules(request, self._address.retries, patience, self._around.chance),
            sleep=self._around.sleep,
        )
        whole = None if request.upload is not None else patience
        with complaining(self._address, patience):
            async with asyncio.timeout(whole):
                return await retrying(self._attempt, request, patience)

    async def _attempt(self, request: Request[Any], patience: float) -> Answer:
        with complaining(self._address, patience), _content(request) as content:
            response = await self._http.request(**content, timeout=patience)
            return answer_of(response, response.content)


def _patience(request: Request[Any], address: Address) -> float:
    seconds = address.timeout if request.timeout is None else request.timeout
    return seconds if request.upload is None else max(seconds, UPLOAD_TIMEOUT)


@contextmanager
def _content(request: Request[Any]) -> Iterator[dict[str, Any]]:
    """Give what httpx is to send, with the file of an upload open."""
    parts, upload = parts_of(request), request.upload
    if upload is None:
        yield parts
        return
    with WatchedFile(upload.path, upload.told) as file:
        yield {**parts, "files": {"file": (upload.name, file, "application/octet-stream")}}
