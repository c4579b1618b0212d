"""The envelope of this API, taken off."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from contextfind.client.exchange import Answer
from contextfind.client.failure import failure_of
from contextfind.client.shaping import shaped

T = TypeVar("T")
API = "/api/v1"


def body_of(answer: Answer) -> dict[str, Any]:
    """Return the JSON object of a good answer, else raise its error."""
    body = answer.json()
    if not answer.good or not isinstance(body, dict):
        raise failure_of(answer)
    return body


def result_of(answer: Answer) -> Any:
    """Return the `result` of a good answer, else raise its error."""
    body = body_of(answer)
    if body.get("status") != "ok" or "result" not in body:
        raise failure_of(answer)
    return body["result"]


def result(kind: type[T]) -> Callable[[Answer], T]:
    """Return a reader that makes the `result` of a good answer a value of `kind`."""

    def read(answer: Answer) -> T:
        return shaped(kind, result_of(answer))

    return read


def nothing(answer: Answer) -> None:
    """Read an answer of which only matters that it is a good one."""
    result_of(answer)


def names_in(answer: Answer, header: str) -> tuple[str, ...]:
    """Return the names in a header: comma separated, percent-encoded."""
    line = answer.headers.get(header.lower(), "")
    return tuple(unquote(name) for name in line.split(",") if name)


def segment(text: str) -> str:
    """Return a text as one segment of a path, whatever it holds."""
    return quote(text, safe="")
