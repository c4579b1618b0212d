"""A question answered from the tree: found, read, and written down by a language model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextfind.answering.answer import Answer, Outcome
from contextfind.answering.contexts import FILES, ContextReader
from contextfind.answering.prompt import AnswerPrompt
from contextfind.domain.errors import ContextFindError, InvalidArgumentError, UnavailableError
from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import MAX_LIMIT, FindQuestion, RetrieverMode
from contextfind.domain.results import MatchedContext
from contextfind.domain.tokens import estimated_tokens
from contextfind.domain.uri import Uri
from contextfind.ports import ChatModel
from contextfind.retrieval.finder import Finder

_log = logging.getLogger(__name__)

MAX_TOKENS = 2_000  # of one answer, the model's thinking included: with the contexts below 8,000
DEFAULT_TOP_K = 5

NO_MODEL = (
    "No chat model is configured, so no answer was written: name one as vlm.model in ov.conf. "
    "The contexts are what was found."
)
NOTHING_FOUND = "Nothing was found for this question, so no answer was written."


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to be answered.

    top_k: how many files at most. generate: whether an answer is written. target: where to look, None =
    everywhere.
    """

    question: str
    top_k: int = DEFAULT_TOP_K
    generate: bool = True
    target: Uri | None = None

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise InvalidArgumentError(
                f"question is {self.question!r}; expected a text", {"field": "question"}
            )
        if isinstance(self.top_k, bool) or not 1 <= self.top_k <= MAX_LIMIT:
            raise InvalidArgumentError(
                f"top_k is {self.top_k!r}; expected a whole number from 1 to {MAX_LIMIT}",
                {"field": "top_k"},
            )


class Answerer:
    """Answers questions; what goes wrong behind one stands in its answer.

    model: who writes; None where no chat model is configured.
    """

    def __init__(self, finder: Finder, reader: ContextReader, model: ChatModel | None) -> None:
        self._finder = finder
        self._reader = reader
        self._model = model
        self._prompt = AnswerPrompt()

    async def answer(self, context: RequestContext, asked: Asked) -> Answer:
        """Return the best files for a question, and what the model makes of them.

        Searched as `search` does, reranked where a reranker is configured, files of every shelf. An
        engine or a model that fails raises nothing: the outcome is FAILED, and the text says why.
        """
        found = Answer(asked.question, Outcome.NOT_ASKED)
        try:
            hits = await self._find(context, asked)
            texts = await self._reader.read(context.identity, asked.question, hits)
        except ContextFindError as fault:
            _log.warning("a question could not be searched: %s", fault)
            said = f"The question could not be searched: {fault}"
            return replace(found, outcome=Outcome.FAILED, text=said)
        found = replace(found, uris=[hit.uri for hit in hits], contexts=texts)
        return await self._written(found) if asked.generate else found

    async def _find(self, context: RequestContext, asked: Asked) -> list[MatchedContext]:
        question = FindQuestion(
            asked.question,
            targets=None if asked.target is None else [asked.target],
            limit=asked.top_k,
            where=FILES,
            mode=RetrieverMode.THINKING,
        )
        found = await self._finder.find(context, question)
        for note in found.notes:  # an embedder that is down…; the result has no place for it
            _log.warning("%s", note)
        hits = [*found.memories, *found.resources, *found.skills]
        return sorted(hits, key=lambda hit: (-hit.score, hit.uri))

    async def _written(self, found: Answer) -> Answer:
        if not found.uris:
            return replace(found, outcome=Outcome.NOTHING_FOUND, text=NOTHING_FOUND)
        if self._model is None:
            return replace(found, outcome=Outcome.NO_MODEL, text=NO_MODEL)
        shown = list(zip(found.uris, found.contexts, strict=True))
        messages = self._prompt.messages(found.question, shown[: self._fitting(found.contexts)])
        try:
            text = await self._model.complete(messages, MAX_TOKENS)
        except UnavailableError as fault:
            _log.warning("an answer could not be written: %s", fault)
            said = f"No answer was written: {fault}"
            return replace(found, outcome=Outcome.FAILED, text=said)
        return replace(found, outcome=Outcome.WRITTEN, text=text.strip())

    def _fitting(self, contexts: Sequence[str]) -> int:
        """Return how many of the best contexts the model is shown: all, unless they are very many."""
        left, shown = self._reader.budget.tokens, 0
        for text in contexts:
            left -= estimated_tokens(text)
            if left < 0:
                break
            shown += 1
        return max(shown, 1)
