"""Judged sets: folders that say which text answers which query, and a sample of one that is soon embedded."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.domain.errors import ContextFindError, InvalidUriError
from contextfind.domain.records import Passage
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import draft_file
from contextfind.ingestion.passages import PassageRules

SEED = 7  # the same sample for the same files, on every machine
CORPUS, QUERIES, JUDGEMENTS = "corpus.jsonl", "queries.jsonl", "qrels.jsonl"
_SHAPES = {
    CORPUS: '{"uri": "viking://resources/SET/a.md", "text": "…"}',
    QUERIES: '{"id": "1", "query": "…"}',
    JUDGEMENTS: '{"id": "1", "uri": "viking://resources/SET/a.md", "rel": 1}',
}


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its texts: grade by address, 1 and more; target: where it looks, None = everywhere.

    answer: the known answer in words, empty where the set holds none.
    """

    text: str
    target: Uri | None
    grades: Mapping[Uri, int]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A folder, read; every question has at least one judged text that is there."""

    name: str
    texts: Mapping[Uri, str]
    questions: Sequence[Question]

    @property
    def root(self) -> Uri:
        """Where its texts lie."""
        return Uri("viking://resources").child(self.name)


@dataclass(slots=True)
class Sample:
    """Some questions of a set, all texts that answer them, and others beside; texts cut into passages."""

    name: str
    questions: list[Question] = field(default_factory=list)
    texts: dict[Uri, tuple[Passage, ...]] = field(default_factory=dict)

    @property
    def passages(self) -> int:
        """How many texts are embedded."""
        return sum(map(len, self.texts.values()))


def read_judged(folder: Path) -> JudgedSet:
    """Read the three files of a set.

    Raises:
        Complaint: a file is missing or not as described, or nothing is judged.

    """
    texts = {uri: str(row["text"]) for uri, row in _addressed(folder, CORPUS, "text")}
    grades: dict[str, dict[Uri, int]] = {}
    for uri, row in _addressed(folder, JUDGEMENTS, "id", "rel"):
        if uri in texts and isinstance(row["rel"], int) and row["rel"] > 0:
            grades.setdefault(str(row["id"]), {})[uri] = row["rel"]
    questions = [
        Question(
            str(row["query"]),
            _target(folder, number, row),
            grades[str(row["id"])],
            str(row.get("answer") or ""),
        )
        for number, row in _rows(folder, QUERIES, "id", "query")
        if str(row["id"]) in grades
    ]
    if not questions:
        raise Complaint(
            f"{folder}: no query has a judged text; ids of {QUERIES} must stand in {JUDGEMENTS}, with "
            f"addresses of {CORPUS} and rel of at least 1",
            ExitCode.USAGE,
        )
    return JudgedSet(folder.resolve().name, texts, questions)


def sample_of(judged: JudgedSet, rules: PassageRules, questions: int, passages: int) -> Sample:
    """Draw at most so many questions, and texts of about so many passages, of which half answer them.

    The same for the same files. Raises Complaint when a text cannot be read.
    """
    draw = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    sample = Sample(judged.name)
    order = draw.sample(list(judged.questions), len(judged.questions))
    asked = 0
    while asked < min(len(order), questions) and (asked == 0 or sample.passages < passages // 2):
        for uri in order[asked].grades:
            _take(sample, judged, uri, rules)
        asked += 1
    for uri in draw.sample(sorted(judged.texts), len(judged.texts)):
        if sample.passages >= passages:
            break
        _take(sample, judged, uri, rules)
    # Further questions cost nothing where chance has drawn all of their texts.
    more = [one for one in order[asked:] if sample.texts.keys() >= one.grades.keys()]
    sample.questions = [*order[:asked], *more][:questions]
    return sample


def _take(sample: Sample, judged: JudgedSet, uri: Uri, rules: PassageRules) -> None:
    if uri in sample.texts:
        return
    data = judged.texts[uri].encode("utf-8", "replace")
    try:
        sample.texts[uri] = tuple(draft_file(uri, data, None, rules).drafts[0].passages)
    except ContextFindError as error:
        raise Complaint(
            f"{judged.name}: {uri.text} cannot be read: {error}; take it out of {CORPUS}",
            ExitCode.USAGE,
        ) from error


def _addressed(folder: Path, name: str, *fields: str) -> Iterator[tuple[Uri, Mapping[str, Any]]]:
    for number, row in _rows(folder, name, "uri", *fields):
        yield _uri(folder / name, number, row["uri"]), row


def _target(folder: Path, number: int, row: Mapping[str, Any]) -> Uri | None:
    target = row.get("target_uri")
    return None if not target else _uri(folder / QUERIES, number, target)


def _uri(path: Path, number: int, text: object) -> Uri:
    try:
        return Uri.parse(str(text))
    except InvalidUriError as error:
        raise Complaint(f"{path}, line {number}: {error}", ExitCode.USAGE, error.code) from error


def _rows(folder: Path, name: str, *fields: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield line numbers and objects of a JSON-lines file; each object has the fields."""
    path = folder / name
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        wanted = ", ".join(_SHAPES)
        raise Complaint(
            f"cannot read {path}; a set is a folder with {wanted} (docs/benchmarks.md)",
            ExitCode.USAGE,
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or any(field not in row for field in fields):
            raise Complaint(
                f"{path}, line {number}: expected an object like {_SHAPES[name]}", ExitCode.USAGE
            )
        yield number, row
