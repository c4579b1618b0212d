"""Which addresses may be connected to: public ones, on the ports of the web."""

import ipaddress
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

WEB_PORTS = frozenset({80, 443, 8080, 8443})

# IPv6 that stands for an IPv4 address or may lead to one, and what some versions of Python call
# global: compatible, mapped, translated, NAT64 (both), 6to4, Teredo, site-local, discard-only.
_NOT_OURS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "::/96",
        "::ffff:0:0/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
        "fec0::/10",
        "100::/64",
        "192.88.99.0/24",
        "100.64.0.0/10",
    )
)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet and to one host there."""
    special = (
        address.is_loopback
        or address.is_private
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    )
    return (
        address.is_global and not special and not any(address in network for network in _NOT_OURS)
    )


@dataclass(frozen=True, slots=True)
class Reach:
    """What may be connected to; `exceptions` are (address, port) pairs that are no public ones."""

    ports: frozenset[int] = WEB_PORTS
    exceptions: frozenset[tuple[str, int]] = field(default_factory=frozenset)

    def allows(self, address: str, port: int) -> bool:
        """Whether a connection to this address and port is allowed."""
        if (address, port) in self.exceptions:
            return True
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        here_only = (
            "%" in address
        )  # a zone, as in fe80::1%eth0: an address of this machine's networks
        return port in self.ports and not here_only and is_public(parsed)
