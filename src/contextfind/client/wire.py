"""HTTP as this API speaks it: one server, one key, one timeout; what went wrong becomes a ClientError."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from contextfind.client.exchange import Answer, Request
from contextfind.client.failure import (
    ClientError,
    DeadlineExceededError,
    InvalidArgumentError,
    UnavailableError,
)
from contextfind.client.retrying import RETRIES

DEFAULT_URL = "http://127.0.0.1:1933"
TIMEOUT = 60.0  # seconds for one answer; every client of this API uses about this
MAX_SOCKETS = 16  # plenty for one person or agent, harmless for the server


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is and how it is spoken to, checked.

    timeout: seconds for one answer, retries included, where a call names no other. retries: further
    attempts of what may be sent again.
    """

    url: httpx.URL
    headers: Mapping[str, str]
    timeout: float
    retries: int

    @classmethod
    def checked(
        cls, url: str, api_key: str | None, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> "Address":
        """Return the address.

        Raises:
            InvalidArgumentError: `url` is none of HTTP, the key holds what no header can, a number
                makes no sense.

        """
        if not timeout > 0:
            raise _wrong(f"timeout is {timeout!r}; expected seconds above 0")
        if retries < 0:
            raise _wrong(f"retries is {retries!r}; expected 0 or more")
        return cls(_checked_url(url), _key_header(api_key), timeout, retries)

    @property
    def text(self) -> str:
        """Where the server is, without a slash at the end."""
        return str(self.url).rstrip("/")

    def http_options(self) -> dict[str, Any]:
        """Return what both kinds of httpx clients are made with."""
        return {
            "base_url": self.url,
            "headers": dict(self.headers),
            "limits": httpx.Limits(max_connections=MAX_SOCKETS, max_keepalive_connections=4),
            # no proxy to oneself
            "trust_env": self.url.host not in ("127.0.0.1", "localhost", "::1"),
        }


def parts_of(request: Request[Any]) -> dict[str, Any]:
    """Return method, path and content the way httpx takes them, the file of an upload apart.

    Raises:
        InvalidArgumentError: the body cannot be written as JSON.

    """
    parts: dict[str, Any] = {"method": request.method, "url": request.path}
    if request.params:
        parts["params"] = dict(request.params)
    if request.body is not None:
        parts["content"] = _json(request.body)
        parts["headers"] = {"Content-Type": "application/json"}
    return parts


def answer_of(response: httpx.Response, content: bytes) -> Answer:
    """Return what came back."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, content, str(response.url))


@contextmanager
def complaining(address: Address, patience: float) -> Iterator[None]:
    """Turn what goes wrong below HTTP into an error of the client."""
    url = address.text
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise UnavailableError(
            "UNAVAILABLE",
            f"nothing answers at {url} ({_reason(error)}); "
            "is the server running? start it with: contextfind serve",
        ) from error
    except (httpx.TimeoutException, TimeoutError) as error:
        raise late(address, patience) from error
    except httpx.RequestError as error:
        raise UnavailableError(
            "UNAVAILABLE", f"the connection to {url} broke: {_reason(error)}"
        ) from error


def late(address: Address, patience: float) -> DeadlineExceededError:
    """Return the error of an answer that did not come in time."""
    message = f"no answer from {address.text} within {patience:g} s"
    return DeadlineExceededError("DEADLINE_EXCEEDED", message)


def _json(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as error:  # half of a character is a ValueError, too
        raise _wrong(f"what is to be sent cannot be written as JSON: {error}") from error


def _plain(value: object) -> object:
    """Return what JSON has for a value it does not know: a list for whatever stands in a row."""
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{value!r} is no JSON")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _wrong(message: str) -> ClientError:
    return InvalidArgumentError("INVALID_ARGUMENT", message)


def _checked_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise _wrong(f"url {text!r} is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise _wrong(f"url {text!r} must start with http:// or https://")
    return url


def _key_header(key: str | None) -> dict[str, str]:
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()) or key != key.strip():
        raise _wrong("the key holds characters that no key has")
    return {"X-API-Key": key}
