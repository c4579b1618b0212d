"""Embeddings from any `/v1/embeddings` endpoint: OpenAI, Ollama, vLLM, TEI, Volcengine Ark."""

import asyncio
import base64
import hashlib
import json
import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.endpoint import (
    LARGEST_ANSWER,
    Endpoint,
    EndpointSettings,
    Patience,
)
from contextfind.adapters.remote.failures import ProviderError
from contextfind.adapters.remote.vectors import unit_rows
from contextfind.domain.errors import FailedPreconditionError
from contextfind.domain.images import Image
from contextfind.domain.plain_text import plain_text
from contextfind.domain.records import Matrix, Vector
from contextfind.domain.scoring import Calibration
from contextfind.ports.models import ModelStanding, Purpose

CACHED_QUERIES = 1_024
SHORTEST_CUT = 16  # characters; whoever refuses these as too long means something else
CALIBRATION = Calibration(floor=0.15, span=0.45)  # roughly OpenAI's third generation; to be fitted
_Door = Literal["query", "document", "picture"]
_ATTEMPTS: Mapping[_Door, int] = {"query": 2, "document": 5, "picture": 2}  # somebody waits for two
_TRIALS = 2  # when it is opened
_HANGS = 1  # of queries: one is short work, and the next caller has words to be answered by
_PROBE_SECONDS = (
    0.5  # a model that is well embeds a query in less; whoever asks is answered by words then
)
_VECTOR_BYTES = 256 * 1024  # 8,192 numbers as JSON
_STAND_IN = "."  # for a blank text: OpenAI and others refuse those
_TOO_LONG = re.compile(
    r"too (?:long|large|many tokens)|batch size|(?:context|input|sequence|token)s? (?:length|limit)"
    r"|max(?:imum)?[ _](?:context|input|sequence|tokens|length)|exceed|longer than|less than \d+ tokens",
    re.IGNORECASE,
)
_LENGTH_STATUSES = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """One embedding model of a provider.

    recipe: version of how the house composes the text it embeds.
    batch_size: texts in one request. max_characters: longer texts are cut.
    dimension: asked for as `dimensions`, and cut to when the model gives more; None = what it gives.
    query_seconds: in which a query must be embedded, waiting for a place and trying again included; no
        more than the endpoint's timeout.
    query_prefix, document_prefix: put in front of each text (`query: ` for E5).
    query_fields, document_fields: added to the request (`{"input_type": "query"}`).
    calibration: what the model's cosines mean.
    accepts_images: the model embeds pictures too, sent as `{"image": "data:image/…;base64,…"}`
        among the inputs (the shape of Jina's multimodal endpoints).
    """

    model: str
    recipe: str
    batch_size: int
    max_characters: int
    dimension: int | None = None
    query_seconds: float = 30.0
    query_prefix: str = ""
    document_prefix: str = ""
    query_fields: Mapping[str, object] = field(default_factory=dict)
    document_fields: Mapping[str, object] = field(default_factory=dict)
    calibration: Calibration = CALIBRATION
    accepts_images: bool = False


class OpenAIEmbedder:
    """The `Embedder` over HTTP.

    Queries, documents and pictures to search by have `concurrency` connections each, so that a find
    never waits for a place behind an ingest, and a breaker each: a model that is late with many texts
    may be quick with one.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        endpoint: EndpointSettings,
        breaker: Breaker | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._settings = settings
        largest = max(LARGEST_ANSWER, settings.batch_size * _VECTOR_BYTES)
        usual = replace(endpoint, largest_answer=largest)
        self._timeout = endpoint.timeout
        self._query_seconds = min(settings.query_seconds, endpoint.timeout)
        quick = replace(usual, timeout=self._query_seconds, probe_seconds=_PROBE_SECONDS)
        slow = replace(usual, name=f"{endpoint.name}_documents")
        self._endpoints: dict[_Door, Endpoint] = {
            "query": Endpoint(quick, breaker or Breaker(hangs=_HANGS), patience),
            "document": Endpoint(slow, breaker or Breaker(), patience),
        }
        if settings.accepts_images:
            seen = replace(usual, name=f"{endpoint.name}_pictures")
            self._endpoints["picture"] = Endpoint(seen, breaker or Breaker(), patience)
        self._dimension = settings.dimension
        self._asks_dimension = settings.dimension is not None
        self._recent: OrderedDict[str, Vector] = OrderedDict()

    @property
    def dimension(self) -> int:
        """As configured, or as learnt by `open`.

        Raises:
            FailedPreconditionError: neither.

        """
        if self._dimension is None:
            raise FailedPreconditionError("the dimension is learnt by `await open()`")
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Provider, model, dimension, text recipe, and what else is sent along with documents."""
        before, after = self._fingerprint_around_dimension()
        return f"{before}{self.dimension}{after}"

    @property
    def accepts_images(self) -> bool:
        """Whether it was told that the model embeds pictures too."""
        return self._settings.accepts_images

    @property
    def calibration(self) -> Calibration:
        """What its cosines mean."""
        return self._settings.calibration

    @property
    def max_characters(self) -> int:
        """Longer inputs are cut."""
        return self._settings.max_characters

    @property
    def standings(self) -> Sequence[ModelStanding]:
        """How its endpoints do: that for queries first."""
        return [endpoint.standing for endpoint in self._endpoints.values()]

    async def open(self, known: str | None = None) -> str:
        """Learn the dimension from a first answer, unless it is configured: then nothing is asked.

        known: the fingerprint of the vectors there are. Where it is of this model, the dimension stands in
            it, and a model that does not answer keeps nothing from opening: what is wrong is returned
            then, else nothing.

        Raises:
            UnavailableError: no answer, and the dimension is not known either.

        """
        if self._settings.dimension is not None:
            return ""
        dimension = self._dimension_in(known or "")
        within = self._timeout if dimension is None else self._query_seconds
        try:
            await self._request(["dimension"], "document", _now() + within, _TRIALS)
        except ProviderError as fault:
            if dimension is None:
                raise
            self._dimension = dimension
            return str(fault)
        return ""

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        """Return shape (len(inputs), dimension), rows of unit length, in order.

        Raises:
            UnavailableError: no usable answer; `details` hold provider, status, reason, retryable.

        """
        prefix = (
            self._settings.query_prefix if purpose == "query" else self._settings.document_prefix
        )
        most = self._settings.max_characters
        texts = [prefix + plain_text(text[:most]) for text in inputs]
        texts = [text if text.strip() else _STAND_IN for text in texts]
        rows = (
            await self._queries(texts)
            if purpose == "query"
            else await self._in_batches(texts, purpose, math.inf)
        )
        return np.array(rows, np.float32).reshape(len(inputs), self.dimension)

    async def embed_images(self, images: Sequence[Image]) -> Matrix:
        """Return shape (len(images), dimension), rows of unit length, in order; one request each.

        Raises:
            UnavailableError: no usable answer, or the provider refuses a picture.

        """
        due = _now() + self._timeout
        rows = [await self._request([_inline(image)], "picture", due) for image in images]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension), np.float32)

    async def aclose(self) -> None:
        """Close the connections."""
        for endpoint in self._endpoints.values():
            await endpoint.aclose()

    async def _queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        known = {text: self._recent[text] for text in texts if text in self._recent}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        due = _now() + self._query_seconds
        known.update(zip(new, await self._in_batches(new, "query", due), strict=True))
        for text in texts:
            self._recent[text] = known[text]
            self._recent.move_to_end(text)
        while len(self._recent) > CACHED_QUERIES:
            self._recent.popitem(last=False)
        return [known[text] for text in texts]

    async def _in_batches(
        self, texts: Sequence[str], purpose: Purpose, due: float
    ) -> Sequence[Vector]:
        size = self._settings.batch_size
        batches = [texts[at : at + size] for at in range(0, len(texts), size)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._batch(batch, purpose, due)) for batch in batches]
        except ExceptionGroup as failures:  # the first failure has stopped the others
            failure = failures.exceptions[0]
        else:
            return [row for task in tasks for row in task.result()]
        raise failure

    async def _batch(self, texts: Sequence[str], purpose: Purpose, due: float) -> Sequence[Vector]:
        """Return the rows; what is refused as too long is sent again in halves, a single text cut to half."""
        try:
            return list(await self._request(texts, purpose, due))
        except ProviderError as error:
            if not _is_about_length(error):
                raise
            if len(texts) > 1:
                half = len(texts) // 2
                first = await self._batch(texts[:half], purpose, due)
                return [*first, *await self._batch(texts[half:], purpose, due)]
            if len(texts[0]) <= SHORTEST_CUT:
                raise
            return await self._batch([texts[0][: len(texts[0]) // 2]], purpose, due)

    async def _request(
        self, inputs: Sequence[object], door: _Door, due: float, attempts: int | None = None
    ) -> Matrix:
        endpoint = self._endpoints[door]
        settings = self._settings
        fields = settings.document_fields if door == "document" else settings.query_fields
        body: dict[str, object] = {"model": settings.model, "input": list(inputs), **fields}
        asking = self._asks_dimension
        if asking:
            body["dimensions"] = settings.dimension
        try:
            answer = await endpoint.post(
                "embeddings", body, attempts or _ATTEMPTS[door], due - _now()
            )
        except ProviderError as error:
            if not (
                asking and error.status in _LENGTH_STATUSES and "dimension" in error.reason.lower()
            ):
                raise
            self._asks_dimension = False  # the model has one length only; it is cut here
            return await self._request(inputs, door, due, attempts)
        rows = unit_rows(endpoint.unusable, answer, len(inputs), settings.dimension)
        if self._dimension is None:
            self._dimension = rows.shape[1]
        if rows.shape[1] != self._dimension:  # another model answers to the name
            raise endpoint.unusable(
                f"gave vectors of {rows.shape[1]} numbers instead of {self._dimension}"
            )
        return rows

    def _fingerprint_around_dimension(self) -> tuple[str, str]:
        extra = (self._settings.document_prefix, self._settings.document_fields)
        mark = "" if extra == ("", {}) else ":" + _digest(extra)
        return f"openai:{self._settings.model}:", f":{self._settings.recipe}{mark}"

    def _dimension_in(self, fingerprint: str) -> int | None:
        before, after = self._fingerprint_around_dimension()
        if not (fingerprint.startswith(before) and fingerprint.endswith(after)):
            return None
        between = fingerprint.removeprefix(before).removesuffix(after)
        return int(between) if between.isdecimal() else None


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_about_length(error: ProviderError) -> bool:
    return error.status in _LENGTH_STATUSES and _TOO_LONG.search(error.reason) is not None


def _inline(image: Image) -> dict[str, str]:
    data = base64.b64encode(image.data).decode("ascii")
    return {"image": f"data:{image.media_type};base64,{data}"}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
