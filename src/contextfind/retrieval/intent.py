"""IntentAnalyzer: a language model says what to search for one message of a conversation."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from contextfind.domain.conversation import Conversation
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import And, Filter, OneOf
from contextfind.domain.identity import RequestContext
from contextfind.domain.json_answer import json_in
from contextfind.domain.plain_text import plain_text
from contextfind.domain.queries import FindQuestion, QueryPlan, TypedQuery
from contextfind.domain.records import ContextType, Level
from contextfind.domain.scope import visible_to
from contextfind.ports import ChatModel, Message, RecordStore
from contextfind.retrieval import plans
from contextfind.retrieval.ellipsis import leans
from contextfind.retrieval.prompting import Briefing, Place, Prompter

PLAN_SECONDS = (
    15.0  # as long as a reranker may take; a search of both still ends within half a minute
)
INPUT_TOKENS = 4_000  # told in one call: some 500 of them are the instructions
_ANSWER_TOKENS = 2_000  # six queries have 300; a model that thinks aloud needs the rest
_PLACES = 3  # targets that are told; further ones say little more
_LONGEST = 500  # characters of a planned query, of an intent, of the reasoning
_KINDS = {kind.value: kind for kind in ContextType}
_FAULTS = 5  # named
_PRIORITY = 3  # where the model says none

_SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "queries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "context_type": {"type": ["string", "null"], "enum": [*_KINDS, None]},
                    "intent": {"type": "string"},
                    "priority": {"type": "integer"},
                },
                "required": ["query", "context_type", "intent", "priority"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reasoning", "queries"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class IntentRules:
    """What planning one search may cost.

    seconds: until the model's answer must be there; less where the request's own time is short.
    input_tokens: of the whole prompt, as `estimated_tokens` counts them.
    """

    seconds: float = PLAN_SECONDS
    input_tokens: int = INPUT_TOKENS


class IntentAnalyzer:
    """Asks the model once per search; what it says can choose words and shelves, and widen nothing."""

    def __init__(self, model: ChatModel, store: RecordStore, rules: IntentRules) -> None:
        self._model = model
        self._store = store
        self._seconds = rules.seconds
        prompts = files("contextfind.retrieval") / "prompts"
        self._prompter = Prompter(
            english=(prompts / "intent_en.md").read_text("utf-8"),
            chinese=(prompts / "intent_zh.md").read_text("utf-8"),
            tokens=rules.input_tokens,
        )

    async def plan(
        self, context: RequestContext, question: FindQuestion, conversation: Conversation
    ) -> QueryPlan:
        """Return the model's queries and the original one; no queries where nothing is to be looked up.

        Raises:
            UnavailableError: the model does not answer in time, or its answer is no plan.

        """
        kinds = _kinds(question.where)
        places = await self._places(context, question)
        briefing = Briefing(question.query, conversation, kinds or (), places)
        answer = await self._answer(context, self._prompter.messages(briefing))
        said = bool(conversation.messages or conversation.summary)
        return _plan(answer, question.query, kinds, leaning=said and leans(question.query))

    async def _answer(self, context: RequestContext, messages: Sequence[Message]) -> str:
        seconds = context.patience(self._seconds, asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(seconds):
                return await self._model.complete(messages, _ANSWER_TOKENS, _SCHEMA)
        except TimeoutError as late:
            raise UnavailableError(
                f"the language model did not answer within {seconds:.3g} s", {"retryable": True}
            ) from late

    async def _places(self, context: RequestContext, question: FindQuestion) -> Sequence[Place]:
        """Return the targets, and what is known about them."""
        scope = visible_to(context.identity, question.targets)
        places: list[Place] = []
        for uri in (question.targets or ())[:_PLACES]:
            records = await self._store.at(scope, uri)
            told = min(records, key=lambda record: record.level, default=None)
            about = told.abstract if told and told.level is not Level.OVERVIEW else ""
            places.append(Place(uri.text, about))
        return places


def _kinds(where: Filter) -> Sequence[str] | None:
    """Return the kinds of records to which a filter limits everything, None where it does not."""
    limits = list(_limits(where))
    return sorted(frozenset.intersection(*limits)) if limits else None


def _limits(where: Filter) -> Iterator[frozenset[str]]:
    match where:
        case And(parts):
            for part in parts:
                yield from _limits(part)
        case OneOf("context_type", values):
            yield values
        case _:
            return


def _plan(answer: str, query: str, kinds: Sequence[str] | None, *, leaning: bool) -> QueryPlan:
    """Return the plan that an answer holds.

    Raises:
        UnavailableError: it holds none.

    """
    value = json_in(answer)
    items = value.get("queries") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(items, list):
        raise UnavailableError(
            "the language model's answer has no list `queries`", {"retryable": False}
        )
    reasoning = _line(value.get("reasoning"))
    if not items:
        return plans.nothing(reasoning or "The language model finds nothing to look up.")
    faults: list[str] = []
    typed = list(_typed(items, kinds, faults))
    if not typed:
        raise UnavailableError(
            f"none of the language model's queries can be used: {_some(faults)}",
            {"retryable": False},
        )
    told = f" Of the planned queries: {_some(faults)}." if faults else ""
    reasoning = (reasoning or "Planned by the language model.") + told
    return plans.together(query, typed, reasoning, leans=leaning)


def _typed(
    items: Sequence[object], kinds: Sequence[str] | None, faults: list[str]
) -> Iterator[TypedQuery]:
    """Yield the items that can be searched; say of the others what is wrong with them."""
    for at, item in enumerate(items):
        fields = item if isinstance(item, dict) else {}
        text = _line(fields.get("query"))
        if not text:
            faults.append(f"queries[{at}] has no text and is left out")
            continue
        kind = _kind(fields.get("context_type"))
        if kind is None and fields.get("context_type") is not None:
            faults.append(f"queries[{at}] names no kind of records and is put to all")
        if kind is not None and kinds is not None and kind.value not in kinds:
            kind = None  # what the caller asks for decides
        yield TypedQuery(text, kind, _line(fields.get("intent")), _priority(fields.get("priority")))


def _some(faults: Sequence[str]) -> str:
    more = [f"and {len(faults) - _FAULTS} more"] if len(faults) > _FAULTS else []
    return "; ".join([*faults[:_FAULTS], *more])


def _kind(value: object) -> ContextType | None:
    return _KINDS.get(value.strip().lower()) if isinstance(value, str) else None


def _priority(value: object) -> int:
    """Return it within 1..5, as near as it can be; 3 for what is no number."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value.strip()[:2])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _PRIORITY
    return round(min(max(value, plans.MOST_URGENT), plans.LEAST_URGENT))


def _line(value: object) -> str:
    """Return a text on one line, clean and of bounded length; empty for anything else."""
    return " ".join(plain_text(value).split())[:_LONGEST] if isinstance(value, str) else ""
