"""The tools of `mcp --data`: over a house that this process opens itself.

Loaded only then: without it `mcp` needs no engine and is there in half the time.
"""

from contextlib import nullcontext

import httpx

from contextfind.cli.logs import logs_written
from contextfind.cli.opening import opened
from contextfind.config.model import Settings
from contextfind.ports import Clock
from contextfind.server.app import create_app
from contextfind.toolbox.over_stdio import serve
from contextfind.toolbox.service import client_inside


async def serve_indoors(settings: Settings, clock: Clock) -> None:
    """Answer until standard input ends; nobody else comes to the data, so no key is needed.

    Raises:
        Complaint: the data cannot be opened.

    """
    with logs_written(settings.log):
        async with opened(settings) as house:
            inside = create_app(lambda: nullcontext(house))
            way = httpx.ASGITransport(inside)
            async with inside.router.lifespan_context(inside), client_inside(way) as client:
                await serve(client, clock)
