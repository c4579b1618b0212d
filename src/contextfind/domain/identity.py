"""Who asks, and by when they want the answer."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["root", "admin", "user"]

# Of accounts and users. One becomes a segment of addresses (viking://user/NAME): no slash, no dots
# alone, nothing that needs quoting, nothing that has two spellings or looks like another.
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"

_SHARE_OF_MODELS = 0.5  # of what is left of a request

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

    def patience(self, seconds: float, now: float) -> float:
        """Return how long a language model may take: so many seconds, and half of what is left at most.

        now: seconds of the event loop's clock. The other half is for answering without the model.
        """
        if self.deadline is None:
            return seconds
        return min(seconds, max(_SHARE_OF_MODELS * (self.deadline - now), 0.0))
