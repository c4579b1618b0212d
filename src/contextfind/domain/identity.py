"""Who asks, and by when they want the answer."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["root", "admin", "user"]

DEFAULT_ACCOUNT = "default"
DEFAULT_USER = "default"


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller as the key says; never as a header or the request body says.

    The root key is bound to no tenant: `account` and `user` are empty then.
    """

    account: str
    user: str
    role: Role = "user"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What travels with one request through every room.

    deadline: seconds of the event loop's clock after which nobody waits for the answer.
    """

    identity: Identity
    request_id: str
    deadline: float | None = None
