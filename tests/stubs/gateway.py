"""A way to the database of the tests that can be closed, held up or cut, while the database itself goes on."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from psycopg import conninfo

_PIECE = 65_536


@dataclass
class Gateway:
    """Forwards connections from a loopback port to a server's socket.

    down: new connections are closed at once, as if nobody listened. held: nothing is forwarded any more.
    """

    target: Path
    port: int = 0
    down: bool = False
    _flows: asyncio.Event = field(default_factory=asyncio.Event)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def hold(self) -> None:
        """Forward nothing from now on, and keep all connections."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def flow(self) -> None:
        """Forward again."""
        self._loop.call_soon_threadsafe(self._flows.set)

    def cut(self) -> None:
        """Break all connections."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            writer.transport.abort()
            return
        there, back = await asyncio.open_unix_connection(str(self.target))
        self._writers |= {writer, back}
        with suppress(asyncio.CancelledError):  # at the end; the streams would complain of it
            await asyncio.gather(
                self._forward(reader, back), self._forward(there, writer), return_exceptions=True
            )
        self._writers -= {writer, back}

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(_PIECE):
                await self._flows.wait()
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def _serve(self, ready: threading.Event) -> None:
        self._flows.set()
        server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await server.serve_forever()


@contextmanager
def gateway(dsn: str) -> Iterator[tuple[Gateway, str]]:
    """Give a gateway to a server that is reached by a socket file, and how to connect through it."""
    known = conninfo.conninfo_to_dict(dsn)
    made = Gateway(Path(str(known["host"])) / f".s.PGSQL.{known.get('port', 5432)}")
    ready = threading.Event()
    serving: list[asyncio.Task[None]] = []

    def run() -> None:
        asyncio.set_event_loop(made._loop)
        serving.append(made._loop.create_task(made._serve(ready)))
        with suppress(asyncio.CancelledError):
            made._loop.run_until_complete(serving[0])
        made._cut()
        for task in asyncio.all_tasks(made._loop):
            task.cancel()
        made._loop.run_until_complete(asyncio.sleep(0.05))
        made._loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait(20)
    try:
        yield made, conninfo.make_conninfo(dsn, host="127.0.0.1", port=made.port)
    finally:
        made.flow()
        made._loop.call_soon_threadsafe(serving[0].cancel)
        thread.join(20)
