"""A language model that writes what directories are about, from what their children say."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from contextfind.domain.documents import ABSTRACT_LENGTH
from contextfind.domain.errors import UnavailableError
from contextfind.domain.languages import is_chinese
from contextfind.ingestion.drafting import Written
from contextfind.ingestion.second_chances import REST_SECONDS, Place, SecondChances
from contextfind.ingestion.summarising import (
    ChildNote,
    in_reading_order,
    overview_from,
    shorten,
    skill_of,
)
from contextfind.ingestion.summary_answer import SCHEMA, summary_in
from contextfind.ports import ChatModel, Message

_log = logging.getLogger(__name__)

_PROMPTS = files("contextfind.ingestion") / "prompts"
_QUOTED = 64
_NAME = 100  # characters of a child's name that are told
_FRAME = 30  # characters of JSON around a child
_TELLING = 20  # characters; of a summary shorter than that nothing is told


@dataclass(frozen=True, slots=True)
class AuthorRules:
    """What a summary may cost.

    calls: under way at once. input_characters: told about the children of one directory.
    max_tokens: of one answer.
    """

    calls: int
    input_characters: int
    max_tokens: int


class SummaryAuthor:
    """Asks the model once per directory and change; what it says is data and nothing else."""

    def __init__(self, model: ChatModel, rules: AuthorRules, now: Callable[[], float]) -> None:
        self._model = model
        self._rules = rules
        self._prompts = {
            chinese: (_PROMPTS / name).read_text("utf-8")
            for chinese, name in ((False, "summary_en.md"), (True, "summary_zh.md"))
        }
        self._chances = SecondChances(now)

    @property
    def at_once(self) -> int:
        """How many directories may be handed over side by side: many where none is asked about."""
        if self._chances.resting:
            return _QUOTED
        return 1 if self._chances.doubtful else self._rules.calls

    def due(self) -> list[Place]:
        """Return directories that the model could not be asked about before, and may be now."""
        return self._chances.due()

    def digest(self, name: str, children: Sequence[ChildNote]) -> str:
        """Return what tells one question from another; empty where the model is not to be asked.

        It is not asked about an empty directory, nor about a skill, which describes itself.
        """
        if not children or skill_of(children) is not None:
            return ""
        listed = [(one.name, one.abstract, one.is_directory) for one in in_reading_order(children)]
        prompts = [self._prompts[False], self._prompts[True]]
        told = [self._model.name, *prompts, self._rules.input_characters, name, listed]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    async def write(self, place: Place, children: Sequence[ChildNote]) -> Written | None:
        """Return what the model says about a directory; None where it cannot be asked or used."""
        if self._chances.resting:
            self._chances.passed_over(place)
            return None
        name = place[1].name
        try:
            answer = await self._model.complete(
                self._question(name, children), self._rules.max_tokens, SCHEMA
            )
            abstract, overview = summary_in(answer)
        except UnavailableError as fault:
            self._chances.failed(place, again=fault.details.get("retryable") is not False)
            _log.warning("the summary of %s is quoted from it, not written: %s", place[1], fault)
            if self._chances.resting:
                _log.warning("the chat model is not asked for summaries for %g s", REST_SECONDS)
            return None
        self._chances.succeeded(place)
        return Written(
            shorten(abstract, ABSTRACT_LENGTH),
            overview_from(overview, name, children),
            self.digest(name, children),
        )

    def _question(self, name: str, children: Sequence[ChildNote]) -> list[Message]:
        listed = in_reading_order(children)
        shown, room = 0, self._rules.input_characters
        while shown < len(listed) and room >= 0:
            room -= min(len(listed[shown].name), _NAME) + _FRAME
            shown += 1
        said = max(room, 0) // max(shown, 1)
        entries = [_entry(child, said) for child in listed[:shown]]
        told: dict[str, object] = {"folder": shorten(name, _NAME), "entries": entries}
        if shown < len(listed):
            told["more"] = len(listed) - shown
        text = json.dumps(told, ensure_ascii=False)
        return [Message("system", self._prompts[is_chinese(text)]), Message("user", text)]


def _entry(child: ChildNote, length: int) -> dict[str, str]:
    entry = {"name": shorten(child.name, _NAME) + "/" * child.is_directory}
    length = min(length, ABSTRACT_LENGTH)
    return entry | ({"summary": shorten(child.abstract, length)} if length >= _TELLING else {})
