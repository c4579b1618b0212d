"""What keeps web pages elsewhere out of a server that asks for no key.

A page can make its own name lead to this machine (DNS rebinding), and any page can send a request
that it may not read the answer of. The browser says so in `Host` and in `Origin`.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from starlette.datastructures import Headers

from contextfind.config.model import is_loopback
from contextfind.domain.errors import PermissionDeniedError

_AUTHORITY = re.compile(r"(\[[^\[\]]+\]|[^\[\]:@/]+)(?::[0-9]{0,5})?")
_NAMES_KEPT = 100  # of hosts, judged already; a client sends the same with every request
_SHOWN = 80  # characters of what was sent that are repeated in the answer
_WAY_OUT = "ask it as 127.0.0.1 or localhost, or set CONTEXTFIND_API_KEY"


def check_from_here(headers: Headers, origins: Collection[str]) -> None:
    """Refuse a request that is not addressed to this machine, or comes from a page elsewhere.

    A program sends no `Origin`, and an old one no `Host`: what is absent is fine.
    origins: of pages elsewhere that may come all the same; `*` is all.

    Raises:
        PermissionDeniedError: it is such a request; the message has the way out.

    """
    for host in headers.getlist("host"):
        if not _is_here(host):
            raise _refusal("Host", host, _WAY_OUT)
    for origin in headers.getlist("origin"):
        scheme, _, host = origin.partition("://")
        here = scheme in ("http", "https") and _is_here(host)
        if not (here or origin in origins or "*" in origins):
            way_out = f"{_WAY_OUT}, or name the page's origin in server.cors_origins"
            raise _refusal("Origin", origin, way_out)


@lru_cache(_NAMES_KEPT)
def _is_here(authority: str) -> bool:
    """Whether `host` or `host:port` is this machine, whatever any name server says."""
    found = _AUTHORITY.fullmatch(authority)
    return found is not None and is_loopback(found[1])


def _refusal(header: str, sent: str, way_out: str) -> PermissionDeniedError:
    return PermissionDeniedError(
        "without a key this server answers this machine only, and no web page elsewhere; "
        f"{header} {sent[:_SHOWN]!r} is not this machine: {way_out}"
    )
