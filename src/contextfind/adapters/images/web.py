"""The `ImageFetcher` over HTTP: every connection goes to an address that was checked before."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urljoin

import httpx

from contextfind.adapters.images.reach import Reach
from contextfind.domain.errors import DeadlineExceededError, UnavailableError
from contextfind.domain.images import (
    MAX_IMAGE_BYTES,
    Image,
    check_remote,
    image_of,
    wrong_image,
)

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]  # host and port to addresses

_RESOLVING_THREADS = 2
_ADDRESSES_TRIED = 3  # of one host; more would only use up the time
_HEADERS = {
    "User-Agent": "contextfind",
    "Accept": "image/*",
    "Accept-Encoding": "identity",  # what is unpacked has no announced size
}


@dataclass(frozen=True, slots=True)
class FetchRules:
    """seconds: of the whole fetch, names and redirects included. redirects: followed at most."""

    seconds: float = 10.0
    max_bytes: int = MAX_IMAGE_BYTES
    redirects: int = 3


class WebImages:
    """Fetches pictures; never through a proxy, never with a cookie, never twice to the name server.

    A name is resolved once per hop; all of its addresses must be allowed, and the connection goes
    to one of them by number, with the name in `Host` and in the TLS handshake. So an answer of the
    name server that changes in between cannot lead anywhere else.
    """

    def __init__(
        self,
        reach: Reach | None = None,
        rules: FetchRules | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._reach = reach or Reach()
        self._rules = rules or FetchRules()
        self._threads = ThreadPoolExecutor(_RESOLVING_THREADS, "image-names")
        self._resolve = resolver or self._resolve_by_system

    async def fetch(self, url: str) -> Image:
        """Return the picture; see `ImageFetcher.fetch`."""
        seconds = self._rules.seconds
        try:
            async with asyncio.timeout(seconds):
                return image_of(await self._follow(url), url)
        except TimeoutError:
            raise DeadlineExceededError(
                f"image_url: no picture within {seconds:g} s", {"retryable": True}
            ) from None

    async def aclose(self) -> None:
        """Let go of the threads; a name that is still looked up is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _follow(self, url: str) -> bytes:
        here = url
        for _ in range(self._rules.redirects + 1):
            check_remote(here)
            async with self._answer(url, here) as answer:
                if not answer.has_redirect_location:
                    return await self._body(url, answer)
                here = urljoin(here, answer.headers["location"])
        raise wrong_image(url, f"at most {self._rules.redirects} redirects")

    @asynccontextmanager
    async def _answer(self, url: str, here: str) -> AsyncIterator[httpx.Response]:
        """Give the answer of the first checked address that takes the connection."""
        try:
            target = httpx.URL(here)
        except httpx.InvalidURL:
            raise wrong_image(url, "a valid http(s) address") from None
        port = target.port or (443 if target.scheme == "https" else 80)
        addresses = await self._checked(url, target.host, port)
        async with httpx.AsyncClient(trust_env=False, timeout=self._rules.seconds) as client:
            answer = await self._first(client, target, addresses)
            try:
                yield answer
            except httpx.HTTPError as error:
                raise _silent(error) from error
            finally:
                await answer.aclose()

    async def _first(
        self, client: httpx.AsyncClient, target: httpx.URL, addresses: Sequence[str]
    ) -> httpx.Response:
        failure: httpx.HTTPError | None = None
        for address in addresses[:_ADDRESSES_TRIED]:
            request = client.build_request(
                "GET",
                target.copy_with(host=address, fragment=None),
                headers={**_HEADERS, "Host": target.netloc.decode("ascii")},
                extensions={"sni_hostname": target.host},
            )
            try:
                return await client.send(request, stream=True)
            except httpx.ConnectError as error:
                failure = error
            except httpx.HTTPError as error:
                raise _silent(error) from error
        raise _silent(failure) from failure

    async def _checked(self, url: str, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label that is too long
            raise wrong_image(url, f"a host that is known; {host!r} is not") from error
        if not addresses or not all(self._reach.allows(one, port) for one in addresses):
            ports = ", ".join(str(one) for one in sorted(self._reach.ports))
            raise wrong_image(
                url, f"a public address on one of the ports {ports}, also after redirects"
            )
        return addresses

    async def _body(self, url: str, answer: httpx.Response) -> bytes:
        if answer.status_code != httpx.codes.OK:
            raise wrong_image(url, f"a picture there; it answered {answer.status_code}")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        packed = answer.headers.get("content-encoding", "identity").lower() != "identity"
        if not kind.startswith("image/") or packed:
            raise wrong_image(url, f"an answer of type image/*; it is {kind[:60] or 'unnamed'!r}")
        most = self._rules.max_bytes
        too_large = wrong_image(url, f"a picture of at most {most} bytes")
        announced = answer.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            raise too_large
        data = bytearray()
        async for chunk in answer.aiter_raw():
            data += chunk
            if len(data) > most:
                raise too_large
        return bytes(data)

    async def _resolve_by_system(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host, port)
        return list(dict.fromkeys(found))


def _look_up(host: str, port: int) -> Sequence[str]:
    return [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _silent(error: httpx.HTTPError | None) -> UnavailableError:
    """Return what a caller hears when there was no usable answer: nothing about addresses."""
    told = "" if error is None else f" ({type(error).__name__})"
    return UnavailableError(f"image_url: its server does not answer{told}", {"retryable": True})
