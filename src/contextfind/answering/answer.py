"""What comes of a question: the texts that were found, and what was made of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict

from contextfind.domain.uri import Uri

_CITATION = re.compile(r"(?:\[|【)((?:\d{1,3}\s*[,，、]\s*)*\d{1,3})(?:\]|】)(?!\()")


class Outcome(StrEnum):
    """How it went: an answer was written, was not wanted, could not be written, or the question failed."""

    WRITTEN = "written"
    NOT_ASKED = "not_asked"
    NO_MODEL = "no_model"
    NOTHING_FOUND = "nothing_found"
    FAILED = "failed"


class Result(TypedDict):
    """An answer as callers of the pipeline get it: always these four keys, JSON values only.

    contexts[n] is the text behind retrieved_uris[n]; `[1]` in the answer is the first of them.
    """

    question: str
    contexts: list[str]
    answer: str
    retrieved_uris: list[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question that was asked, and what came of it.

    contexts: a text for each of `uris`, best first. text: what the model said, or why it said nothing;
    empty where no answer was asked for.
    """

    question: str
    outcome: Outcome
    uris: Sequence[Uri] = ()
    contexts: Sequence[str] = ()
    text: str = ""

    @property
    def failed(self) -> bool:
        """Whether the search or the model failed."""
        return self.outcome is Outcome.FAILED

    @property
    def cited(self) -> list[Uri]:
        """The addresses that a written answer names by number, in order; numbers of nothing are passed over."""
        if self.outcome is not Outcome.WRITTEN:
            return []
        return [self.uris[number - 1] for number in self._numbers()]

    @property
    def with_sources(self) -> str:
        """The text, and below it the addresses behind its numbers."""
        if self.outcome is not Outcome.WRITTEN:
            return self.text
        lines = [f"[{number}] {self.uris[number - 1]}" for number in self._numbers()]
        return "\n\n".join([self.text, "\n".join(lines)]) if lines else self.text

    def as_result(self) -> Result:
        """Return it as callers of the pipeline get it."""
        return {
            "question": self.question,
            "contexts": list(self.contexts),
            "answer": self.with_sources,
            "retrieved_uris": [uri.text for uri in self.uris],
        }

    def _numbers(self) -> list[int]:
        named = {
            int(number)
            for found in _CITATION.findall(self.text)
            for number in re.findall(r"\d+", found)
        }
        return sorted(number for number in named if 0 < number <= len(self.uris))
