"""Settings -> the models that are asked."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from contextfind.adapters.local import hash as hashed
from contextfind.adapters.local import nano
from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.nano import NanoEmbedder
from contextfind.adapters.remote import chat, embeddings, rerank
from contextfind.adapters.remote.chat import OpenAIChat
from contextfind.adapters.remote.embeddings import OpenAIEmbedder
from contextfind.adapters.remote.endpoint import EndpointSettings
from contextfind.adapters.remote.rerank import HttpReranker
from contextfind.adapters.remote.rerank_dialects import dialect
from contextfind.adapters.remote.volcengine import VolcengineSigner
from contextfind.config.chat import ChatSettings
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.config.rerank import RerankSettings
from contextfind.domain.documents import TEXT_RECIPE
from contextfind.domain.scoring import Calibration
from contextfind.ingestion.author import AuthorRules, SummaryAuthor
from contextfind.ports import (
    ChatModel,
    Embedder,
    ModelStanding,
    RecordStore,
    RemoteModel,
    Reranker,
)
from contextfind.retrieval.intent import IntentAnalyzer, IntentRules

_log = logging.getLogger(__name__)

# Of the time of a plan, for one request: so that the request fails by itself, and its breaker counts that.
# Of a model that hangs only the first searches wait for it.
_OF_A_PLAN = 0.95


class Switchboard:
    """The models that a house asks over the network, in the order they were opened; closes them with `stack`."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack = stack
        self._models: list[RemoteModel] = []

    def standings(self) -> Sequence[ModelStanding]:
        """Return how all their endpoints do."""
        return [one for model in self._models for one in model.standings]

    def add(self, model: OpenAIEmbedder | OpenAIChat | HttpReranker) -> None:
        """Take in a model that was opened just now."""
        self.stack.push_async_callback(model.aclose)
        self._models.append(model)


async def open_embedder(
    settings: EmbeddingSettings, board: Switchboard, known: str | None = None
) -> Embedder:
    """Return the embedder that the settings name, ready to be asked.

    known: the fingerprint of the vectors there are. With it a model of that fingerprint may be down, or
    refuse: words are searched without it, and the log says so.

    Raises:
        UnavailableError: the model does not answer, and what is known of it is not enough.

    """
    embedder = _embedder(settings)
    if not isinstance(embedder, OpenAIEmbedder):
        board.stack.push_async_callback(embedder.aclose)
        return embedder
    board.add(embedder)
    fault = await embedder.open(known)
    if fault:
        _log.warning("the embedder does not work, so words alone are searched: %s", fault)
    return embedder


def open_chat(settings: ChatSettings, board: Switchboard, name: str) -> ChatModel | None:
    """Return the chat model that the settings name, with connections of its own; None where none is.

    name: what it is called in /ready.
    """
    if not settings.model:
        return None
    asked = chat.ChatSettings(settings.model, settings.temperature)
    model = OpenAIChat(asked, _endpoint(settings, name))
    board.add(model)
    return model


def build_author(
    settings: Settings, model: ChatModel | None, timer: Callable[[], float]
) -> SummaryAuthor | None:
    """Return what lets the model write summaries; None where there is none, or it shall not."""
    knobs = settings.ingestion
    if model is None or not knobs.model_summaries:
        return None
    rules = AuthorRules(
        calls=settings.vlm.concurrency,
        input_characters=knobs.summary_input_characters,
        max_tokens=knobs.summary_max_tokens,
    )
    return SummaryAuthor(model, rules, timer)


def open_analyzer(
    settings: Settings, store: RecordStore, board: Switchboard
) -> IntentAnalyzer | None:
    """Return what lets `query_planner.model`, or else `vlm.model`, plan searches; None without either."""
    knobs, asked = settings.retrieval, planner_settings(settings)
    seconds = min(asked.timeout, _OF_A_PLAN * knobs.plan_seconds)
    model = open_chat(asked.model_copy(update={"timeout": seconds}), board, "planner")
    if model is None:
        return None
    return IntentAnalyzer(model, store, IntentRules(knobs.plan_seconds, knobs.plan_input_tokens))


def planner_settings(settings: Settings) -> ChatSettings:
    """Return whose model plans, and where it is asked: a conversation is sent nowhere by default."""
    planner, general = settings.query_planner, settings.vlm
    if not planner.model:
        return general
    if {"api_base", "api_key"} & planner.model_fields_set:
        return planner
    place = {"api_base": general.api_base, "api_key": general.api_key}
    return planner.model_copy(update=place)


def open_reranker(settings: RerankSettings, board: Switchboard) -> Reranker | None:
    """Return the reranker that the settings name, None when they name none. Nothing is sent yet."""
    if not settings.enabled:
        return None
    signed = settings.provider == "volcengine"
    asked = rerank.RerankSettings(
        model=settings.model,
        dialect=dialect(settings.provider, settings.model, settings.api_base),
        batch_size=settings.batch_size,
        max_characters=settings.max_characters,
        signer=VolcengineSigner(settings.ak, settings.sk, settings.region) if signed else None,
    )
    endpoint = _endpoint(settings, "reranker")
    reranker = HttpReranker(asked, replace(endpoint, api_key="") if signed else endpoint)
    board.add(reranker)
    return reranker


def _embedder(settings: EmbeddingSettings) -> Embedder:
    if settings.provider == "hash":
        size = hashed.DIMENSION if settings.dimension is None else settings.dimension
        return HashEmbedder(TEXT_RECIPE, size, _calibration(settings, hashed.CALIBRATION))
    if settings.provider == "local":
        return NanoEmbedder(TEXT_RECIPE, _calibration(settings, nano.CALIBRATION))
    asked = embeddings.EmbeddingSettings(
        model=settings.model,
        recipe=TEXT_RECIPE,
        batch_size=settings.batch_size,
        max_characters=settings.max_characters,
        dimension=settings.dimension,
        query_seconds=settings.query_timeout,
        query_prefix=settings.query_prefix,
        document_prefix=settings.document_prefix,
        query_fields=settings.query_fields,
        document_fields=settings.document_fields,
        calibration=_calibration(settings, embeddings.CALIBRATION),
        accepts_images=settings.accepts_images,
    )
    return OpenAIEmbedder(asked, _endpoint(settings, "embedder"))


def _endpoint(
    settings: EmbeddingSettings | ChatSettings | RerankSettings, name: str
) -> EndpointSettings:
    return EndpointSettings(
        name=name,
        base_url=settings.api_base,
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        api_key=settings.api_key,
    )


def _calibration(settings: EmbeddingSettings, usual: Calibration) -> Calibration:
    floor, span = settings.calibration_floor, settings.calibration_span
    return usual if floor is None or span is None else Calibration(floor, span)
