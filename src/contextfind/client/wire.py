"""HTTP as this API speaks it: one server, one key, the envelope taken off."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import httpx

from contextfind.client.failure import ClientError, failure_of, json_of

DEFAULT_URL = "http://127.0.0.1:1933"
TIMEOUT = 60.0  # seconds for one answer; every client of this API uses about this
MAX_SOCKETS = 16  # plenty for one person or agent, harmless for the server


class Wire:
    """The sockets to one server; every method raises ClientError.

    timeout: seconds for one answer, where a call names no other.
    transport: something else than the network, for tests.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        address = _checked_url(url)
        self.url = str(address).rstrip("/")
        self.timeout = timeout
        self._http = httpx.AsyncClient(
            base_url=address,
            headers=_key_header(key),
            limits=httpx.Limits(max_connections=MAX_SOCKETS, max_keepalive_connections=4),
            trust_env=address.host not in ("127.0.0.1", "localhost", "::1"),  # no proxy to oneself
            transport=transport,
        )

    async def close(self) -> None:
        """Let go of the sockets; closing twice is fine."""
        await self._http.aclose()

    async def get(self, path: str, **params: str | int) -> Any:
        """Return the `result` of a GET."""
        return result_of(await self.send("GET", path, params=params))

    async def post(
        self,
        path: str,
        body: Mapping[str, object],
        timeout: float | None = None,  # noqa: ASYNC109 - handed to httpx
    ) -> Any:
        """Return the `result` of a POST of JSON."""
        return result_of(await self.send("POST", path, timeout=timeout, json=body))

    async def put(self, path: str, body: Mapping[str, object]) -> Any:
        """Return the `result` of a PUT of JSON."""
        return result_of(await self.send("PUT", path, json=body))

    async def delete(self, path: str) -> Any:
        """Return the `result` of a DELETE."""
        return result_of(await self.send("DELETE", path))

    async def send(
        self,
        method: str,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - handed to httpx
        **parts: Any,
    ) -> httpx.Response:
        """Return the answer, whatever its status; `parts` are httpx's (json, params, files)."""
        patience = self.timeout if timeout is None else timeout
        try:
            return await self._http.request(method, path, timeout=patience, **parts)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ClientError(
                "UNAVAILABLE",
                f"nothing answers at {self.url} ({_reason(error)}); "
                "is the server running? start it with: contextfind serve",
            ) from error
        except httpx.TimeoutException as error:
            raise ClientError(
                "DEADLINE_EXCEEDED", f"no answer from {self.url} within {patience:g} s"
            ) from error
        except httpx.TransportError as error:
            raise ClientError(
                "UNAVAILABLE", f"the connection to {self.url} broke: {_reason(error)}"
            ) from error


def body_of(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a good answer, else raise its error."""
    body = json_of(response)
    if not response.is_success or not isinstance(body, dict):
        raise failure_of(response)
    return body


def result_of(response: httpx.Response) -> Any:
    """Return the `result` of a good answer, else raise its error."""
    body = body_of(response)
    if body.get("status") != "ok" or "result" not in body:
        raise failure_of(response)
    return body["result"]


def names_in(response: httpx.Response, header: str) -> list[str]:
    """Return the names in a header: comma separated, percent-encoded."""
    line = response.headers.get(header, "")
    return [unquote(name) for name in line.split(",") if name]


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _checked_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ClientError("INVALID_ARGUMENT", f"url {text!r} is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ClientError("INVALID_ARGUMENT", f"url {text!r} must start with http:// or https://")
    return url


def _key_header(key: str | None) -> dict[str, str]:
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()) or key != key.strip():
        raise ClientError("INVALID_ARGUMENT", "the key holds characters that no key has")
    return {"X-API-Key": key}
