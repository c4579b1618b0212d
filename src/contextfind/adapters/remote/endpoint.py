"""One provider's HTTP door: timeouts, bounded concurrency, retries, a circuit breaker."""

import asyncio
import json
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
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

from contextfind.adapters.remote.breaker import Breaker, BreakerState
from contextfind.adapters.remote.failures import (
    LONGEST_REASON,
    ProviderError,
    no_json,
    refusal,
    without_secrets,
)
from contextfind.domain.errors import ConfigError
from contextfind.ports.models import ModelStanding

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ROUTES = ("/embeddings", "/chat/completions")  # often copied along with the base URL
_FIRST_WAIT = 0.5  # seconds; doubled each time, then a random share between half and all of it
_LONGEST_WAIT = 8.0
_SHORTEST_ATTEMPT = 0.1  # seconds; who waits for a place until there are fewer has waited in vain
LONGEST_RETRY_AFTER = 30.0  # a provider may ask for an hour; nobody waits that long for one call
LARGEST_ANSWER = 4 * 1024 * 1024  # bytes; a long answer of a language model has some 100 kB
_FAIR = 0.5  # of the timeout: an attempt that had less of it says nothing about the provider


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where a provider is and how to treat it.

    base_url: up to and without `/embeddings` or `/chat/completions`, e.g. `https://api.openai.com/v1`.
    timeout: seconds of one attempt, from connecting to the last byte.
    concurrency: attempts under way at once. name: what it is called where its state is shown.
    largest_answer: bytes of an answer; more are not read.
    probe_seconds: so long a call waits that finds out whether a provider is back, which it then goes on
        to find out by itself. None: as any other call.
    """

    base_url: str
    timeout: float
    concurrency: int
    api_key: str = field(default="", repr=False)
    name: str = "model"
    largest_answer: int = LARGEST_ANSWER
    probe_seconds: float | None = None


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
        self._calls = self._failures = 0
        self._fault = ""
        self._probes: set[asyncio.Task[object]] = set()
        self.provider = urlsplit(settings.base_url).netloc.rpartition("@")[2]

    async def post(
        self, path: str, body: Mapping[str, object], attempts: int, within: float = math.inf
    ) -> object:
        """Return the provider's answer; transient failures are tried again, `attempts` in all.

        within: seconds in which all of that must be over, waiting for a place and for the next attempt
        included.

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
        return await retrying(self._guarded, path, body, _now() + within)

    @property
    def standing(self) -> ModelStanding:
        """How it does."""
        return ModelStanding(
            self._settings.name, self._breaker.state.value, self._calls, self._failures, self._fault
        )

    def unusable(self, reason: str, *, about_texts: bool = False) -> ProviderError:
        """Return the error of an answer that came and says nothing of use; the reason may be its own."""
        told = without_secrets(reason, self._secrets)[:LONGEST_REASON]
        error = ProviderError(self.provider, told, transient=False, about_texts=about_texts)
        self._note(error)
        return error

    async def aclose(self) -> None:
        """Close the connections."""
        for probe in self._probes:
            probe.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)
        await self._client.aclose()

    async def _guarded(self, path: str, body: Mapping[str, object], due: float) -> object:
        seconds = self._settings.probe_seconds
        if seconds is None or self._breaker.state is not BreakerState.HALF_OPEN:
            return await self._called(path, body, due)
        probe = asyncio.create_task(self._called(path, body, due))
        self._probes.add(probe)
        probe.add_done_callback(self._probed)
        try:
            await asyncio.wait({probe}, timeout=seconds)
        except asyncio.CancelledError:
            probe.cancel()
            raise
        if not probe.done():
            raise self._at_rest()
        return probe.result()

    def _probed(self, probe: "asyncio.Task[object]") -> None:
        self._probes.discard(probe)
        if not probe.cancelled():
            probe.exception()  # is noted already; nobody may be there to take it

    async def _called(self, path: str, body: Mapping[str, object], due: float) -> object:
        async with self._place(due):
            if not self._breaker.admit():
                raise self._at_rest()
            began = _now()
            limit = min(self._settings.timeout, due - began)
            self._calls += 1
            try:
                answer = await self._attempt(path, body, limit)
            except ProviderError as error:
                self._note(error)
                late = isinstance(error, _LateError)
                if error.alive:
                    self._breaker.succeeded()
                elif late and not self._fair(limit):
                    self._breaker.abandoned()
                else:
                    self._breaker.failed(_now() - began, late=late)
                raise
            except BaseException:
                self._breaker.abandoned()
                raise
            self._fault = ""
            self._breaker.succeeded()
            return answer

    @asynccontextmanager
    async def _place(self, due: float) -> AsyncIterator[None]:
        """Hold one of the places; none is waited for while the provider is down."""
        state = self._breaker.state
        if state is BreakerState.OPEN or (state is BreakerState.HALF_OPEN and self._slots.locked()):
            raise self._at_rest()
        began = _now()
        latest = due - _SHORTEST_ATTEMPT
        try:
            async with asyncio.timeout_at(latest if math.isfinite(due) else None):
                await self._slots.acquire()
        except TimeoutError as error:
            waited = _now() - began
            reason = f"no answer within {waited:.2g} s: all connections were busy"
            raise ProviderError(self.provider, reason, transient=True) from error
        try:
            yield
        finally:
            self._slots.release()

    async def _attempt(self, path: str, body: Mapping[str, object], limit: float) -> object:
        if self._client.is_closed:
            raise ProviderError(self.provider, "the connection was closed", transient=False)
        try:
            async with asyncio.timeout(limit):  # httpx's own limits start anew with every byte
                answer, content = await self._exchanged(path, body)
        except (TimeoutError, httpx.TimeoutException) as error:
            reason = f"no answer within {self._settings.timeout:.3g} s"
            if not self._fair(limit):
                reason = f"no answer in the {limit:.2g} s that were left when a connection was free"
            raise _LateError(self.provider, reason, transient=True) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise ProviderError(self.provider, str(error), transient=False) from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ProviderError(self.provider, reason, transient=True) from error
        if not answer.is_success:
            raise refusal(self.provider, answer, content, self._secrets)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise no_json(self.provider, answer, content, self._secrets) from error

    async def _exchanged(
        self, path: str, body: Mapping[str, object]
    ) -> tuple[httpx.Response, bytes]:
        """Return the answer and its body, of which no more is read than may be."""
        most = self._settings.largest_answer
        content = bytearray()
        answer = await self._client.send(self._request(path, body), stream=True)
        try:
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > most:
                    reason = f"the answer is longer than {most:,} bytes"
                    raise ProviderError(self.provider, reason, answer.status_code, transient=False)
        finally:
            await answer.aclose()
        return answer, bytes(content)

    def _fair(self, limit: float) -> bool:
        return limit >= _FAIR * self._settings.timeout

    def _note(self, error: ProviderError) -> None:
        self._failures += 1
        self._fault = str(error)

    def _at_rest(self) -> "_AtRestError":
        last = self._fault.removeprefix(self.provider).lstrip(": ")
        reason = f"is down ({last}), and is asked again in a few seconds"
        return _AtRestError(self.provider, reason, transient=True)

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


class _LateError(ProviderError):
    """Nothing came in the time there was."""


def _now() -> float:
    return asyncio.get_running_loop().time()


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
