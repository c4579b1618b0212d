"""The server process: the house opened, the port served, signals obeyed."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from contextfind.cli.intake import indexing
from contextfind.cli.interpreter import leave_alone_what_is_there, tuned_interpreter
from contextfind.cli.opening import opened
from contextfind.cli.screen import say
from contextfind.cli.startup import Source
from contextfind.cli.tools import tool_opener
from contextfind.config.model import Settings
from contextfind.domain.errors import StoreBusyError
from contextfind.server.app import create_app
from contextfind.server.closing import Closing
from contextfind.server.connections import PatientConnection
from contextfind.server.door import HouseOpener
from contextfind.server.premises import Premises
from contextfind.server.rules import ServerRules
from contextfind.wiring import House
from contextfind.wiring.surroundings import Surroundings

log = logging.getLogger(__name__)

# Seconds in which connections that are open are still answered, if only to be told that they end: a
# client that asks one question after the other sends its next one within milliseconds.
PARTING_SECONDS = 0.3
_LAST_WORDS = 1.0  # seconds in which requests that were given up say so; they only have to write it
_LOOK_SECONDS = 0.02
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Run:
    """What to run: the settings, a socket that listens, what to index meanwhile.

    reembed: make all vectors anew when another embedder made them. announce: called once it is up.
    """

    settings: Settings
    listener: socket.socket
    sources: Sequence[Source]
    reembed: bool
    announce: Callable[[], None]


async def serve_until_told(run: Run) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is under way and close the data.

    Requests get `server.shutdown_seconds`, waits for background work end at once; tasks go on after the next
    start. A second signal does not wait for requests, a third one for nothing: the data bears that.
    A signal before the server is up cancels the task.

    Raises:
        Complaint: the data cannot be opened.

    """
    up = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(tuned_interpreter())
        open_house = await _way_in(stack, run, up)
        rules = rules_from(run.settings)
        clock = Surroundings.real().clock
        app = create_app(open_house, rules, open_tools=tool_opener(rules, clock))
        premises: Premises = app.state.premises
        config = uvicorn.Config(
            _ending_quietly(app),
            http=PatientConnection,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # whoever is asked to believe X-Forwarded-For is asked to be fooled
            lifespan="on",
            timeout_graceful_shutdown=run.settings.server.shutdown_seconds,
        )

        def announce() -> None:
            up.set()
            run.announce()

        server = _Server(config, announce, premises.closing)
        server.obey_signals()
        leave_alone_what_is_there()
        await server.serve(sockets=[run.listener])


async def _way_in(stack: AsyncExitStack, run: Run, up: asyncio.Event) -> HouseOpener:
    """Return what gives the house, which is open already unless the database is busy."""
    served = [source.path for source in run.sources]

    @asynccontextmanager
    async def lived_in() -> AsyncIterator[House]:
        opening = opened(run.settings, served=served, reembed=run.reembed, patient=True)
        async with opening as house, indexing(house, run.sources, up):
            yield house

    try:
        house = await stack.enter_async_context(lived_in())
    except StoreBusyError as busy:
        say(f"answers 503 until it can open the data: {busy}", style="yellow")
        return lived_in
    return lambda: nullcontext(house)


def _ending_quietly(app: ASGIApp) -> ASGIApp:
    """Return the application; that it was cancelled, at a stop, is no fault for the log to tell."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:  # nobody is above: this is all of the task
            if scope["type"] != "http":
                raise

    return served


def rules_from(settings: Settings) -> ServerRules:
    """Return what the HTTP floor needs of the settings."""
    server = settings.server
    return ServerRules(
        api_key=server.api_key,
        root_api_key=server.root_api_key,
        metrics_key=server.metrics_key,
        max_body_bytes=server.max_body_bytes,
        max_upload_bytes=server.max_upload_bytes,
        answer_seconds=server.answer_seconds,
        wait_seconds=server.wait_seconds,
        cors_origins=server.cors_origins,
        max_requests=server.max_requests,
        max_waiting=server.max_waiting,
        rate_limit_per_minute=server.rate_limit_per_minute,
        rate_limit_burst=server.rate_limit_burst,
    )


class _Server(uvicorn.Server):
    """Leaves the signals to us (uvicorn raises them again when it is done), and says when it is up.

    Told to stop, it breaks no connection on which a request may be on its way.
    """

    def __init__(
        self, config: uvicorn.Config, announce: Callable[[], None], closing: Closing
    ) -> None:
        super().__init__(config)
        self._announce = announce
        self._closing = closing

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await self._part()
        await super().shutdown(sockets)
        left = list(self.server_state.tasks)
        if self.force_exit:
            for task in left:
                task.cancel()
            await self.lifespan.shutdown()  # which uvicorn leaves out then
        if left:  # cancelled, here or by uvicorn: each still says so to its caller
            await asyncio.wait(left, timeout=_LAST_WORDS)

    def obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop)

    async def _part(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + PARTING_SECONDS
        while (  # noqa: ASYNC110 - uvicorn tells nobody when a connection ends
            self.server_state.connections and not self.force_exit and loop.time() < end
        ):
            await asyncio.sleep(_LOOK_SECONDS)

    def _stop(self) -> None:
        if self.should_exit:
            self.force_exit = True
            for number in _SIGNALS:
                asyncio.get_running_loop().remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)
            return
        log.info("told to stop; a second signal does not wait for requests")
        self.should_exit = True
        self._closing.begin()
