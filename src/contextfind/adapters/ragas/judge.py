"""Answers judged by the measures of Ragas, with a language model as their reader."""

import asyncio
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

try:
    try:
        from instructor.core import InstructorRetryException
    except ImportError:  # where older versions have it
        from instructor.retry import InstructorRetryException
    from openai import AsyncOpenAI, OpenAIError
    from ragas.llms import llm_factory
    from ragas.metrics.collections import (
        ContextPrecisionWithoutReference,
        ContextRecall,
        FactualCorrectness,
        Faithfulness,
    )

    INSTALLED = True
except ImportError:
    INSTALLED = False

MEASURES = ("faithfulness", "context_precision", "context_recall", "factual_correctness")
_NEED_TRUTH = MEASURES[2:]
_CALLS = 8  # of the model, one after the other, that a measure may need for one answer
_RETRIES = 2
_MAX_TOKENS = 4_096  # of one judgement: every statement of an answer is written out again
_NO_KEY = "none"  # endpoints that want no key; the library wants one


@dataclass(frozen=True, slots=True)
class Reader:
    """The language model that reads, behind a `/v1/chat/completions` endpoint; timeout: seconds of a call."""

    model: str
    base_url: str
    api_key: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What is judged; truth: the known answer, None where there is none."""

    question: str
    contexts: Sequence[str]
    answer: str
    truth: str | None


@dataclass(frozen=True, slots=True)
class Grades:
    """One answer's scores in [0, 1] by measure; faults: why a measure has none."""

    scores: Mapping[str, float]
    faults: Mapping[str, str]


class RagasJudge:
    """Asks the model several times for each answer; nothing is reported to the makers of Ragas."""

    def __init__(self, reader: Reader) -> None:
        os.environ["RAGAS_DO_NOT_TRACK"] = "true"
        self._seconds = reader.timeout * _CALLS
        self._client = AsyncOpenAI(
            base_url=reader.base_url,
            api_key=reader.api_key or _NO_KEY,
            timeout=reader.timeout,
            max_retries=_RETRIES,
        )
        llm = llm_factory(
            reader.model, client=self._client, max_tokens=_MAX_TOKENS, temperature=0.0
        )
        kinds = (Faithfulness, ContextPrecisionWithoutReference, ContextRecall, FactualCorrectness)
        self._measures = {name: kind(llm=llm) for name, kind in zip(MEASURES, kinds, strict=True)}

    async def grade(self, judged: Judged) -> Grades:
        """Return the scores of one answer; measures that need the truth are left out without one."""
        scores: dict[str, float] = {}
        faults: dict[str, str] = {}
        for name in MEASURES:
            if name in _NEED_TRUTH and judged.truth is None:
                continue
            try:
                async with asyncio.timeout(self._seconds):
                    scores[name] = await self._score(name, judged)
            except TimeoutError:
                faults[name] = f"no judgement within {self._seconds:g} s"
            except (OpenAIError, InstructorRetryException, ValueError) as error:
                faults[name] = " ".join(str(error).split())[:300]
        return Grades(scores, faults)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _score(self, name: str, judged: Judged) -> float:
        texts: dict[str, object] = {
            "user_input": judged.question,
            "response": judged.answer,
            "retrieved_contexts": list(judged.contexts),
            "reference": judged.truth,
        }
        wanted = {
            "faithfulness": ("user_input", "response", "retrieved_contexts"),
            "context_precision": ("user_input", "response", "retrieved_contexts"),
            "context_recall": ("user_input", "retrieved_contexts", "reference"),
            "factual_correctness": ("response", "reference"),
        }
        given = {field: texts[field] for field in wanted[name]}
        result = await self._measures[name].ascore(**given)
        score = float(result.value)
        if not math.isfinite(score):
            raise ValueError("the answer makes no statement that could be judged")
        return score
