"""A request and its answer, as values: what is sent is said here, and sent elsewhere."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Told = Callable[[int, int], None]  # bytes sent so far, bytes in all


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    url: str

    @property
    def good(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300  # noqa: PLR2004 - what HTTP calls success

    @property
    def text(self) -> str:
        """The body as text; what is no UTF-8 in it is replaced."""
        return self.content.decode("utf-8", "replace")

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asks to wait, None when it does not say or says a date."""
        said = self.headers.get("retry-after", "").strip()
        return float(said) if said.isdecimal() and said.isascii() else None

    def json(self) -> Any:
        """Return the body as JSON, None when it is none."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to be sent under a name; `told` hears how much of it was."""

    path: Path
    name: str
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One call of a route, and how its answer is read.

    read: raises ClientError for what is no good answer. body: sent as JSON.
    timeout: seconds until the answer is there, None for the client's own; of an upload, seconds
    without progress. again: whether sending it twice does no more than sending it once.
    """

    method: str
    path: str
    read: Callable[[Answer], T]
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    upload: Upload | None = None
    timeout: float | None = None
    again: bool = False
