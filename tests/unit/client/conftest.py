import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from contextfind.client import AsyncClient, Client
from tests.unit.cli.stub_server import StubServer

Connect = Callable[..., Any]


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


class Caller:
    """Either client, called the same way: methods are awaited whatever they return."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*given: Any, **named: Any) -> Any:
            outcome = getattr(self.client, name)(*given, **named)
            return await outcome if inspect.isawaitable(outcome) else outcome

        return call


@pytest.fixture(params=[Client, AsyncClient], ids=["blocking", "awaited"])
async def connect(request: pytest.FixtureRequest, stub: StubServer) -> AsyncIterator[Connect]:
    """Return what makes a client of one kind, of the stub where no url is given; closed at the end."""
    made: list[Caller] = []

    def open_client(url: str | None = None, *given: Any, **named: Any) -> Caller:
        made.append(Caller(request.param(stub.url if url is None else url, *given, **named)))
        return made[-1]

    yield open_client
    for caller in made:
        await caller.close()
