"""What stands for archived messages: written by a language model, or quoted from them."""

import asyncio
import json
import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.resources import files

from contextfind.domain.conversation import Archive, SessionMessage
from contextfind.domain.documents import ABSTRACT_LENGTH, OVERVIEW_LENGTH
from contextfind.domain.errors import UnavailableError
from contextfind.domain.tokens import estimated_tokens
from contextfind.ingestion.summarising import shorten
from contextfind.ingestion.summary_answer import SCHEMA, summary_in
from contextfind.ports import ChatModel, Message
from contextfind.sessions.excerpt import excerpt, in_chinese
from contextfind.sessions.transcript import told_within

_log = logging.getLogger(__name__)

_PROMPTS = files("contextfind.sessions") / "prompts"
_QUOTED = 2_400  # characters of quotes in an overview; as much as a model is asked to write
_BEFORE = 0.2  # of the budget that the summary of what was said before may take
_FRAME = 16  # tokens of JSON around the messages
_WRONG_SETTING = (401, 402, 403, 404)  # statuses: no key, no money, no right, no such model


@dataclass(frozen=True, slots=True)
class SummaryRules:
    """What the summary of one archive may cost: a single call of the model.

    input_tokens: of the whole prompt, as `estimated_tokens` counts, however long the conversation
        was; Chinese may cost half as much again, and with the answer fits into a model that reads
        16,000. max_tokens: of the answer, its
        thinking included. seconds: the call may take, beside what limits it itself.
    """

    input_tokens: int = 8_000
    max_tokens: int = 3_000
    seconds: float = 90.0


@dataclass(frozen=True, slots=True)
class Summary:
    """One line, and Markdown.

    fault: why the model's own is not here, empty where it is or where there is no model.
    try_again: whether that may be another time: the model did not answer.
    """

    abstract: str
    overview: str
    fault: str = ""
    try_again: bool = False


class Summariser:
    """Summarises archives; `model` None: quotes always.

    cpu: where the work on long conversations is done, beside the event loop.
    """

    def __init__(self, model: ChatModel | None, rules: SummaryRules, cpu: Executor) -> None:
        self._model = model
        self._rules = rules
        self._cpu = cpu
        self._prompts = {
            chinese: (_PROMPTS / name).read_text("utf-8")
            for chinese, name in (
                (False, "session_summary_en.md"),
                (True, "session_summary_zh.md"),
            )
        }

    @property
    def has_model(self) -> bool:
        """Whether there is a model to be asked."""
        return self._model is not None

    async def quoted(
        self, messages: Sequence[SessionMessage], before: Sequence[Archive]
    ) -> Summary:
        """Return a summary quoted from the messages. before: earlier archives, newest first."""
        loop = asyncio.get_running_loop()
        said = await loop.run_in_executor(self._cpu, excerpt, messages, before, _QUOTED)
        return Summary(said[0], _cut(said[1]))

    async def written(
        self, messages: Sequence[SessionMessage], before: Sequence[Archive], quoted: Summary
    ) -> Summary:
        """Return what the model says; `quoted` with the fault where it says nothing of use.

        before: earlier archives, newest first; their newest overview is told, so that the summary
        stands for them too.
        """
        if self._model is None or not any(message.text.strip() for message in messages):
            return quoted  # nobody to ask, or about nothing
        loop = asyncio.get_running_loop()
        question = await loop.run_in_executor(self._cpu, self._question, messages, before)
        try:
            async with asyncio.timeout(self._rules.seconds):
                answer = await self._model.complete(question, self._rules.max_tokens, SCHEMA)
        except UnavailableError as fault:
            return _failed(quoted, str(fault), try_again=helps_later(fault))
        except TimeoutError:
            late = f"the model did not answer within {self._rules.seconds:g} s"
            return _failed(quoted, late, try_again=True)
        try:
            abstract, overview = summary_in(answer)
        except UnavailableError as fault:
            return _failed(quoted, str(fault), try_again=False)
        return Summary(shorten(abstract, ABSTRACT_LENGTH), _cut(overview))

    def _question(
        self, messages: Sequence[SessionMessage], before: Sequence[Archive]
    ) -> list[Message]:
        prompt = self._prompts[in_chinese(messages)]
        room = self._rules.input_tokens - estimated_tokens(prompt) - _FRAME
        earlier = next((one.overview for one in before if one.overview), "")
        while _tokens(earlier) > room * _BEFORE:
            earlier = earlier[: len(earlier) * 3 // 4]
        told = told_within(messages, room - _tokens(earlier))
        text = json.dumps({"before": earlier, "messages": told}, ensure_ascii=False)
        return [Message("system", prompt), Message("user", text)]


def helps_later(fault: UnavailableError) -> bool:
    """Whether the same question may be answered another time.

    So it may by a model that did not answer, or with a key or a name that is set right meanwhile;
    what it refuses, or answers uselessly, it would again.
    """
    wrong_setting = fault.details.get("status") in _WRONG_SETTING
    return wrong_setting or fault.details.get("retryable") is not False


def _failed(quoted: Summary, fault: str, *, try_again: bool) -> Summary:
    _log.warning("the summary of an archive is quoted from it, not written: %s", fault)
    return replace(quoted, fault=fault, try_again=try_again)


def _tokens(text: str) -> int:
    return estimated_tokens(json.dumps(text, ensure_ascii=False))


def _cut(text: str) -> str:
    """Return the text, cut behind a line where it is longer than an overview may be."""
    if len(text) <= OVERVIEW_LENGTH:
        return text
    cut = text[: OVERVIEW_LENGTH - 2]
    end = cut.rfind("\n")
    return (cut[:end] if end > OVERVIEW_LENGTH / 2 else cut).rstrip() + "\n…"
