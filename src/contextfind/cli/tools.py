"""The tools for agents, which are an extra: whether they are installed, and how a server gets them."""

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from starlette.types import ASGIApp

from contextfind.ports import Clock
from contextfind.server.rules import ServerRules
from contextfind.server.toolroom import ToolOpener

_PACKAGE = "mcp"
_OVER_HTTP = "contextfind.toolbox.over_http"


def tools_installed() -> bool:
    """Whether the package that speaks to agents is there; it is not loaded for this."""
    return find_spec(_PACKAGE) is not None


def tool_opener(rules: ServerRules, clock: Clock) -> ToolOpener | None:
    """Return what a server opens when /mcp is first asked for, None where it is not installed."""
    if not tools_installed():
        return None

    @asynccontextmanager
    async def opened(app: ASGIApp) -> AsyncIterator[ASGIApp]:
        over_http = await asyncio.to_thread(importlib.import_module, _OVER_HTTP)
        async with over_http.opened(app, clock, rules.max_body_bytes) as tools:
            yield tools

    return opened
