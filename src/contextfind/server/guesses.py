"""Wrong keys: whoever sends many from one address is refused before the next is looked at.

A key that was good from an address before is let in from there all the same, so that a neighbour
with an old key (behind one proxy, in one office) shuts nobody out who was in already.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from starlette.types import Scope

from contextfind.server.throttle import CAPACITY, Allowance, Throttle, too_often

_HOMES_KEPT = 1_000  # addresses read already; the same few callers ask again and again
_IPV6_HOME = 64  # bits: what one subscriber of IPv6 usually has; all of it counts as one address


class Guesses:
    """Counts wrong keys by peer; at most `per_minute`, all of them at once if need be."""

    def __init__(self, per_minute: int, timer: Callable[[], float]) -> None:
        self._wrong = Throttle(Allowance(per_minute, per_minute), timer)
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()  # (peer, digest)

    def check(self, peer: str, digest: str) -> None:
        """Refuse a peer that has guessed too often, unless this key was good from there before.

        Raises:
            ResourceExhaustedError: too many wrong keys.

        """
        wait = self._wrong.wait(peer)
        if wait > 0 and (peer, digest) not in self._known:
            raise too_often("too many wrong keys came from your address", wait)

    def wrong(self, peer: str) -> None:
        """Count a wrong key."""
        self._wrong.take(peer)

    def right(self, peer: str, digest: str) -> None:
        """Remember a good key; the one unused for longest is forgotten when there are too many."""
        self._known[peer, digest] = None
        self._known.move_to_end((peer, digest))
        if len(self._known) > CAPACITY:
            self._known.popitem(last=False)


def peer_of(scope: Scope) -> str:
    """Return the address a request came from; of an IPv6 address its network."""
    return _home_of(str((scope.get("client") or ("",))[0]))


@lru_cache(_HOMES_KEPT)
def _home_of(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(address), _IPV6_HOME), strict=False))
    return host
