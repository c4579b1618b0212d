"""One provider's HTTP door: timeouts, bounded concurrency, retries, a circuit breaker."""

import asyncio
import json
import math
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

import httpx
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
)

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.failures import (
    LONGEST_REASON,
    ProviderError,
    refusal,
    without_secrets,
)
from contextfind.domain.errors import ConfigError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ROUTES = ("/embeddings", "/chat/completions")  # often copied along with the base URL
_FIRST_WAIT = 0.5  # seconds; doubled each time, then a random share between half and all of it
_LONGEST_WAIT = 8.0
LONGEST_RETRY_AFTER = 30.0  # a provider may ask for an hour; nobody waits that long for one call


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where a provider is and how to treat it.

    base_url: up to and without `/embeddings` or `/chat/completions`, e.g. `https://api.openai.com/v1`.
    timeout: seconds of one attempt, from connecting to the last byte.
    concurrency: attempts under way at once.
    """

    base_url: str
    timeout: float
    concurrency: int
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """What passes while waiting, exchangeable for tests: sleeping and chance."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


class Signer(Protocol):
    """Whoever vouches for each request anew, where a key alone is not enough."""

    @property
    def secrets(self) -> Sequence[str]:
        """What must not be shown to anybody."""
        ...

    def headers(self, host: str, path: str, content: bytes) -> Mapping[str, str]:
        """Return the headers to add to a POST of this content."""
        ...


class Endpoint:
    """Posts JSON and gives back JSON; every failure is a `ProviderError`."""

    def __init__(
        self,
        settings: EndpointSettings,
        breaker: Breaker | None = None,
        patience: Patience | None = None,
        signer: Signer | None = None,
    ) -> None:
        self._settings = settings
        self._signer = signer
        self._secrets = (settings.api_key, *(signer.secrets if signer is not None else ()))
        self._breaker = breaker or Breaker()
        self._patience = patience or Patience()
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._client = _client(settings)
        self.provider = urlsplit(settings.base_url).netloc.rpartition("@")[2]

    async def post(
        self, path: str, body: Mapping[str, object], attempts: int, within: float = math.inf
    ) -> object:
        """Return the provider's answer; transient failures are tried again, `attempts` in all.

        within: seconds after which no further attempt begins.

        Raises:
            ProviderError: refused, not answered, or at rest after too many failures.

        """
        retrying = AsyncRetrying(
            retry=retry_if_exception(_worth_retrying),
            stop=stop_after_attempt(attempts) | stop_before_delay(within),
            wait=self._wait,
            sleep=self._patience.sleep,
            reraise=True,
        )
        return await retrying(self._guarded, path, body)

    def unusable(self, reason: str) -> ProviderError:
        """Return the error of an answer that came and says nothing of use; the reason may be its own."""
        told = without_secrets(reason, self._secrets)
        return ProviderError(self.provider, told[:LONGEST_REASON], transient=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _guarded(self, path: str, body: Mapping[str, object]) -> object:
        async with self._slots:
            if not self._breaker.admit():
                raise _AtRestError(
                    self.provider, "is down, and is asked again in a few seconds", transient=True
                )
            try:
                answer = await self._attempt(path, body)
            except ProviderError as error:
                if error.alive:
                    self._breaker.succeeded()
                else:
                    self._breaker.failed()
                raise
            except BaseException:
                self._breaker.abandoned()
                raise
            self._breaker.succeeded()
            return answer

    async def _attempt(self, path: str, body: Mapping[str, object]) -> object:
        if self._client.is_closed:
            raise ProviderError(self.provider, "the connection was closed", transient=False)
        limit = self._settings.timeout
        try:
            async with asyncio.timeout(limit):  # httpx's own limits start anew with every byte
                answer = await self._client.send(self._request(path, body))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ProviderError(
                self.provider, f"no answer within {limit:g} s", transient=True
            ) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise ProviderError(self.provider, str(error), transient=False) from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ProviderError(self.provider, reason, transient=True) from error
        if not answer.is_success:
            raise refusal(self.provider, answer, self._secrets)
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError) as error:
            raise ProviderError(
                self.provider, "the answer is no JSON", answer.status_code, transient=True
            ) from error

    def _request(self, path: str, body: Mapping[str, object]) -> httpx.Request:
        request = self._client.build_request("POST", path, json=body)
        if self._signer is not None:
            host = request.headers["host"]
            request.headers.update(self._signer.headers(host, request.url.path, request.content))
        return request

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, ProviderError) and error.retry_after is not None:
            return min(error.retry_after, LONGEST_RETRY_AFTER)
        doubled = min(_FIRST_WAIT * 2.0 ** (state.attempt_number - 1), _LONGEST_WAIT)
        return doubled * (0.5 + 0.5 * self._patience.chance())


class _AtRestError(ProviderError):
    """The breaker is open: not worth a retry within this call, worth one later."""


def _worth_retrying(error: BaseException) -> bool:
    return (
        isinstance(error, ProviderError) and error.transient and not isinstance(error, _AtRestError)
    )


def _client(settings: EndpointSettings) -> httpx.AsyncClient:
    key = settings.api_key
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("the API key of the model provider holds characters that no key has")
    address = urlsplit(settings.base_url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ConfigError(
            f"base URL {settings.base_url!r} of the model provider; expected http(s)://HOST/v1"
        )
    base = settings.base_url.rstrip("/")
    for route in _ROUTES:
        base = base.removesuffix(route)
    return httpx.AsyncClient(
        base_url=base + "/",
        headers={"User-Agent": "contextfind"} | ({"Authorization": f"Bearer {key}"} if key else {}),
        timeout=settings.timeout,
        limits=httpx.Limits(max_connections=settings.concurrency),
        # a model on this machine is not asked through a proxy
        trust_env=address.hostname not in _LOOPBACK,
    )
