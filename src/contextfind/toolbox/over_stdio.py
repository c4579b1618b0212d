"""The tools over standard input and output: how an agent's host runs them as its own process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.stdio import stdio_server

from contextfind.client import AsyncClient
from contextfind.ports import Clock
from contextfind.toolbox.service import Context, service_of
from contextfind.toolbox.tool import Desk


async def serve(client: AsyncClient, clock: Clock) -> None:
    """Answer until standard input ends; paths that tools are given are those of this machine."""

    @asynccontextmanager
    async def desks(_: Context) -> AsyncIterator[Desk]:
        yield Desk(client, local=True, today=lambda: clock().date())

    service = service_of(desks)
    async with stdio_server() as (heard, said):
        await service.run(heard, said, service.create_initialization_options())
