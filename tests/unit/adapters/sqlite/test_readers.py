import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator

import pytest

from contextfind.adapters.sqlite.readers import Readers


def connected() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


@pytest.fixture
def readers() -> Iterator[Readers]:
    made = Readers(connected, 2)
    yield made
    made.close()


def number(wanted: int) -> Callable[[sqlite3.Connection], int]:
    return lambda connection: int(connection.execute("SELECT ?", (wanted,)).fetchone()[0])


async def test_everybody_gets_the_own_answer(readers: Readers) -> None:
    assert await asyncio.gather(*(readers.run(number(n)) for n in range(200))) == list(range(200))


async def test_a_failure_is_told_to_who_asked_and_to_nobody_else(readers: Readers) -> None:
    def broken(_: sqlite3.Connection) -> int:
        raise KeyError("x")

    answers = await asyncio.gather(
        readers.run(broken), readers.run(number(1)), readers.run(broken), return_exceptions=True
    )
    assert [repr(answer) for answer in answers] == ["KeyError('x')", "1", "KeyError('x')"]


async def test_a_connection_that_cannot_be_opened_is_tried_again() -> None:
    tries = iter([sqlite3.OperationalError("locked"), None])

    def connect() -> sqlite3.Connection:
        fault = next(tries)
        if fault is not None:
            raise fault
        return connected()

    readers = Readers(connect, 1)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await readers.run(number(1))
    assert await readers.run(number(2)) == 2
    readers.close()


async def test_what_nobody_waits_for_is_not_read(readers: Readers) -> None:
    free = threading.Event()
    read: list[int] = []

    def held(_: sqlite3.Connection) -> None:
        free.wait(5)

    busy = [asyncio.create_task(readers.run(held)) for _ in range(2)]
    await asyncio.sleep(0)
    left = asyncio.create_task(readers.run(lambda _: read.append(1)))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(*busy)
    assert await readers.run(number(3)) == 3
    assert read == []


def test_an_answer_for_a_loop_that_is_gone_harms_nobody() -> None:
    readers = Readers(connected, 1)
    free = threading.Event()

    def held(_: sqlite3.Connection) -> None:
        free.wait(5)

    async def leave() -> None:
        asyncio.get_running_loop().create_task(readers.run(held))
        await asyncio.sleep(0)

    asyncio.run(leave())
    free.set()
    assert asyncio.run(readers.run(number(4))) == 4
    readers.close()


def test_closing_closes_the_connections() -> None:
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        opened.append(connected())
        return opened[-1]

    readers = Readers(connect, 1)
    asyncio.run(readers.run(number(1)))
    readers.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
