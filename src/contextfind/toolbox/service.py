"""The tools as an MCP server, whichever way it is spoken to."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any

import httpx
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as Shown
from pydantic import ValidationError

from contextfind import __version__
from contextfind.client import AsyncClient, ClientError
from contextfind.toolbox.failing import failure_text, mistakes_text
from contextfind.toolbox.rack import TOOLS
from contextfind.toolbox.tool import Desk, Told, Tool

NAME = "contextfind"
_INSIDE = "http://127.0.0.1"  # nothing is sent there; the host of a request from this machine
_INSTRUCTIONS = """Long-term memory, documents, code and skills, in one tree of viking:// addresses:
viking://resources (shared documents), viking://~ (the user's own: memories, resources, skills),
viking://agent (shared by the account's agents). Before you answer from general knowledge, `find` what is
stored here; `read` the hits that fit. `remember` what matters in later conversations."""

Context = ServerRequestContext[Any, Any]
Desks = Callable[[Context], AbstractAsyncContextManager[Desk]]
"""Where the tools of one call work: whose they are stands in the request."""


def service_of(desks: Desks) -> Server[Any]:
    """Return the MCP server; it keeps nothing from one call to the next."""
    tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list(_shown()))

    async def call_tool(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(asked.name)
        if tool is None:
            told = f"there is no tool {asked.name[:80]!r}; there are: {', '.join(tools)}"
            return _result(Told(told, wrong=True))
        async with desks(context) as desk:
            return _result(await _called(tool, desk, asked.arguments or {}))

    return Server(
        NAME,
        version=__version__,
        title="contextfind",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def client_inside(way: httpx.AsyncBaseTransport) -> AsyncClient:
    """Return a client of an application in this process, to which `way` leads."""
    return AsyncClient(_INSIDE, transport=way, retries=0)


async def _called(tool: Tool[Any], desk: Desk, given: Mapping[str, Any]) -> Told:
    try:
        return await tool.called(desk, given)
    except ValidationError as error:
        return Told(mistakes_text(error), wrong=True)
    except ClientError as error:
        return Told(failure_text(error), wrong=True)


def _result(told: Told) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=told.text)],
        structured_content=None if told.data is None else dict(told.data),
        is_error=told.wrong,
    )


@cache
def _shown() -> tuple[Shown, ...]:
    """Return the tools as hosts are told of them."""
    return tuple(
        Shown(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.arguments.model_json_schema(),
            annotations=ToolAnnotations(
                title=tool.title,
                read_only_hint=not tool.writes,
                destructive_hint=tool.destroys,
                idempotent_hint=tool.again,
                open_world_hint=False,
            ),
        )
        for tool in TOOLS
    )
