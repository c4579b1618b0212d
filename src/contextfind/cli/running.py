"""The server process: the house opened, the port served, signals obeyed."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from contextfind.cli.intake import indexing
from contextfind.cli.interpreter import leave_alone_what_is_there, tuned_interpreter
from contextfind.cli.opening import opened
from contextfind.cli.startup import Source
from contextfind.config.model import Settings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules

STOP_SECONDS = 3  # requests under way get this long when the server is told to stop


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

    A second signal does not wait for requests. A signal before the server is up cancels the task.

    Raises:
        Complaint: the data cannot be opened.

    """
    up = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(tuned_interpreter())
        served = [source.path for source in run.sources]
        house = await stack.enter_async_context(
            opened(run.settings, served=served, reembed=run.reembed)
        )
        await stack.enter_async_context(indexing(house, run.sources, up))
        app = create_app(lambda: nullcontext(house), rules_from(run.settings))
        config = uvicorn.Config(
            _ending_quietly(app),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # whoever is asked to believe X-Forwarded-For is asked to be fooled
            lifespan="on",
            timeout_graceful_shutdown=STOP_SECONDS,
        )

        def announce() -> None:
            up.set()
            run.announce()

        server = _Server(config, announce)
        server.obey_signals()
        leave_alone_what_is_there()
        await server.serve(sockets=[run.listener])


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
        max_body_bytes=server.max_body_bytes,
        max_upload_bytes=server.max_upload_bytes,
        answer_seconds=server.answer_seconds,
        wait_seconds=server.wait_seconds,
        cors_origins=server.cors_origins,
        rate_limit_per_minute=server.rate_limit_per_minute,
        rate_limit_burst=server.rate_limit_burst,
    )


class _Server(uvicorn.Server):
    """Leaves the signals to us (uvicorn raises them again when it is done), and says when it is up."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()

    def obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
