"""A sample of texts and questions through the configured embedder and the word index: what both channels say."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.local.words import WordTokenizer
from contextfind.cli.judged import Question, Sample
from contextfind.domain.calibrating import Judged
from contextfind.domain.filters import Everything
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER
from contextfind.domain.records import Level, Matrix, Record, RecordId, context_type_of
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import ScoreRules
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Change, Embedder, Probe
from contextfind.retrieval.judging import Judge

BATCH = 16  # texts per call: a local model takes a second for them, so that the bar moves
_WHENEVER = datetime.fromtimestamp(0, UTC)  # nothing here depends on the time

Progress = Callable[[str, int, int, str], None]  # stage, done, total, unit


@dataclass(frozen=True, slots=True)
class Comparer:
    """Compares every question of a sample with every text of it.

    show: told how far it is. rules: what cosines and words are made of.
    """

    embedder: Embedder
    show: Progress
    rules: ScoreRules = field(default_factory=ScoreRules)

    async def compare(self, sample: Sample) -> Judged:
        """Return cosines, words and grades; rows are questions, columns texts by address.

        Raises:
            UnavailableError: the embedder does not answer.

        """
        tokenizer = WordTokenizer()
        uris = sorted(sample.texts)
        size = (self.embedder.dimension, self.embedder.fingerprint)
        index = await EmbeddedIndex.open(None, *size, tokenizer)
        try:
            await index.follow(await self._changes(sample, uris))
            rows: list[tuple[list[float], list[float]]] = []
            for number, question in enumerate(sample.questions):
                self.show(f"{sample.name}: asking", number, len(sample.questions), "questions")
                vector = (await self.embedder.embed([question.text], "query"))[0]
                terms = tuple(tokenizer.terms(question.text))
                probe = Probe(_scope(question), Everything(), len(uris), vector, terms)
                (hits,) = await index.search([probe])
                judge = Judge(self.embedder.calibration, self.rules, hits.known)
                found = {hit.uri: (judge.cosine(hit), judge.words(hit) or 0.0) for hit in hits}
                rows.append(_row(uris, found))
        finally:
            await index.aclose()
        grades = [[question.grades.get(uri, 0) for uri in uris] for question in sample.questions]
        cosines, words = zip(*rows, strict=True)
        return Judged(
            sample.name, np.array(cosines, float), np.array(words, float), np.array(grades, int)
        )

    async def _changes(self, sample: Sample, uris: Sequence[Uri]) -> list[Change]:
        digests = {p.digest: p.embedded_text for uri in uris for p in sample.texts[uri]}
        rows: dict[str, Matrix] = {}
        limit = self.embedder.max_characters
        for some in _slices(list(digests), BATCH):
            self.show(f"{sample.name}: embedding", len(rows), len(digests), "passages")
            texts = [digests[digest][:limit] for digest in some]
            found = await self.embedder.embed(texts, "document")
            rows |= zip(some, found, strict=True)
        return [
            Change(
                number,
                RecordId(number),
                _record(number, uri),
                sample.texts[uri],
                np.stack([rows[passage.digest] for passage in sample.texts[uri]]),
            )
            for number, uri in enumerate(uris, start=1)
        ]


def _slices(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for begin in range(0, len(values), size):
        yield values[begin : begin + size]


def _scope(question: Question) -> Scope:
    target = ROOT if question.target is None else question.target
    return Scope(DEFAULT_ACCOUNT, DEFAULT_USER, (target,))


def _record(number: int, uri: Uri) -> Record:
    return Record(
        id=RecordId(number),
        account=DEFAULT_ACCOUNT,
        owner="",  # nobody's own: what is compared is no secret
        uri=uri,
        level=Level.DETAIL,
        context_type=context_type_of(uri),
        abstract="",
        tags=(),
        created_at=_WHENEVER,
        updated_at=_WHENEVER,
    )


def _row(
    uris: Sequence[Uri], found: Mapping[Uri, tuple[float | None, float]]
) -> tuple[list[float], list[float]]:
    """Return cosines (NaN where there is none) and words of one question, text by text."""
    cosines: list[float] = []
    words: list[float] = []
    for uri in uris:
        cosine, shared = found.get(uri, (None, 0.0))
        cosines.append(np.nan if cosine is None else cosine)
        words.append(shared)
    return cosines, words
