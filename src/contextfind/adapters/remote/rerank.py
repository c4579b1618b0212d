"""Judging texts with a provider's reranker, in bounded batches, whatever its answers look like."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.endpoint import Endpoint, EndpointSettings, Patience, Signer
from contextfind.adapters.remote.failures import ProviderError
from contextfind.adapters.remote.rerank_dialects import Dialect, UnreadableError
from contextfind.adapters.remote.rerank_scores import is_raw, scores_by_index, shares, usable
from contextfind.domain.errors import UnavailableError
from contextfind.domain.plain_text import plain_text
from contextfind.ports.models import ModelStanding

_log = logging.getLogger(__name__)
_ATTEMPTS = 2  # somebody waits
_ABOUT_THE_TEXTS = frozenset({400, 413, 422})  # worth asking again with fewer of them


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """One rerank model of a provider.

    batch_size: texts in one request. max_characters: longer texts and questions are cut.
    signer: where the provider wants every request signed.
    """

    model: str
    dialect: Dialect
    batch_size: int
    max_characters: int
    signer: Signer | None = None


@dataclass(slots=True)
class _Said:
    """What the batches of one call have brought so far."""

    scores: dict[str, float] = field(default_factory=dict)
    failures: list[ProviderError] = field(default_factory=list)


class HttpReranker:
    """The `Reranker` over HTTP.

    Batches are asked at the same time, as many as the endpoint's `concurrency`. A batch that fails
    leaves its texts without a judgement; one whose texts are refused is halved to find the culprit.
    From the first score outside [0, 1] on all scores, those of the same call included, are taken for
    raw ones and go through the logistic function: one call knows one scale.
    """

    def __init__(
        self,
        settings: RerankSettings,
        endpoint: EndpointSettings,
        breaker: Breaker | None = None,
        patience: Patience | None = None,
    ) -> None:
        address = endpoint.base_url or settings.dialect.address
        whole = f"/{settings.dialect.path}"  # often copied along with the address
        endpoint = replace(endpoint, base_url=address.rstrip("/").removesuffix(whole))
        self._settings = settings
        self._seconds = endpoint.timeout
        self._endpoint = Endpoint(endpoint, breaker, patience, settings.signer)
        self._raw = False

    @property
    def standings(self) -> Sequence[ModelStanding]:
        """How its endpoint does."""
        return [self._endpoint.standing]

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        """Return one score in [0, 1] per document, in order; None where there is no judgement.

        Blank documents are not sent and get 0. Equal ones are sent once. A score that is no finite
        number is 0 as long as another one is finite.

        Raises:
            UnavailableError: nothing was judged; `details` hold provider, status, reason, retryable.

        """
        asked = self._sendable(query)
        texts = [self._sendable(document) for document in documents]
        wanted = [text for text in dict.fromkeys(texts) if text]
        if wanted and not asked:
            raise UnavailableError(
                "a blank question cannot be judged by a reranker", {"retryable": False}
            )
        said = _Said()
        size = self._settings.batch_size
        async with asyncio.TaskGroup() as group:
            for at in range(0, len(wanted), size):
                group.create_task(self._batch(asked, wanted[at : at + size], said))
        if wanted:
            self._check(said, len(wanted))
        self._raw = self._raw or is_raw(said.scores.values())
        judged = shares(said.scores, raw=self._raw)
        return [judged.get(text) if text else 0.0 for text in texts]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def _sendable(self, text: str) -> str:
        """Return what may be sent of a text, "" of a blank one."""
        cut = plain_text(text[: self._settings.max_characters])
        return cut if cut.strip() else ""

    def _check(self, said: _Said, wanted: int) -> None:
        """Complain when nothing was judged, and write down when something was not."""
        missing = wanted - len(said.scores)
        if not usable(list(said.scores.values())):
            if said.failures:
                raise said.failures[0]
            raise self._endpoint.unusable("gave no score for any of the texts")
        if missing:
            reason = said.failures[0] if said.failures else "left out of the answer"
            _log.warning("rerank: %d of %d texts were not judged: %s", missing, wanted, reason)

    async def _batch(self, query: str, texts: Sequence[str], said: _Said) -> None:
        """Ask about the texts; halve what is refused, as long as one of the halves is not.

        A batch with one text that the provider cannot take costs 2 log2(size) more requests and the
        judgement of that text only; a batch that is refused whatever is in it costs two more.
        """
        refused = await self._refused(query, texts, said)
        while refused is not None and len(texts) > 1:
            half = len(texts) // 2
            halves = (texts[:half], texts[half:])
            outcomes = [await self._refused(query, part, said) for part in halves]
            bad = [at for at, outcome in enumerate(outcomes) if outcome is not None]
            if len(bad) != 1:
                refused = outcomes[0]
                break
            texts, refused = halves[bad[0]], outcomes[bad[0]]
        if refused is not None:
            said.failures.append(refused)

    async def _refused(self, query: str, texts: Sequence[str], said: _Said) -> ProviderError | None:
        """Ask about the texts; return the error when the provider does not like them."""
        try:
            said.scores.update(await self._asked(query, texts))
        except ProviderError as error:
            if error.status in _ABOUT_THE_TEXTS:
                return error
            said.failures.append(error)
        return None

    async def _asked(self, query: str, texts: Sequence[str]) -> dict[str, float]:
        settings = self._settings
        body = settings.dialect.body(settings.model, query, texts)
        answer = await self._endpoint.post(
            settings.dialect.path, body, _ATTEMPTS, within=self._seconds
        )
        try:
            judgements = settings.dialect.judgements(answer, len(texts))
        except UnreadableError as error:
            raise self._endpoint.unusable(str(error)) from error
        return {texts[at]: score for at, score in scores_by_index(judgements, len(texts)).items()}
