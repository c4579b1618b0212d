"""The retriever with one thing changed: an ingredient left out, or another value of a constant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.documents import make_passage
from contextfind.domain.filters import OneOf
from contextfind.domain.records import Passage
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.ports import Change, Commit, Committed, Hits, Probe, RecordDraft, SearchIndex
from contextfind.ports.index import Dialogue, Result, conversed
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.judging import Judge
from contextfind.retrieval.walk import HierarchicalRetriever

FILES = OneOf("level", frozenset({"2"}))  # what the benchmark asks for


class Recipe(Enum):
    """What is embedded and indexed for a document."""

    HOUSE = "as the house does it"
    NO_CONTEXT = "no line of path, title and headings in front of a passage"
    WHOLE = "one passage a file"


class RecipeStore(MemoryRecordStore):
    """A store that keeps other passages than it is given."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self._recipe = recipe

    async def commit(self, commit: Commit) -> Committed:
        put = tuple(self._redrafted(draft) for draft in commit.put)
        return await super().commit(replace(commit, put=put))

    def _redrafted(self, draft: RecordDraft) -> RecordDraft:
        if not draft.passages or self._recipe is Recipe.HOUSE:
            return draft
        if self._recipe is Recipe.WHOLE:
            return replace(draft, passages=(_joined(draft.passages),))
        bare = tuple(make_passage(p.ordinal, p.heading, p.text, "") for p in draft.passages)
        return replace(draft, passages=bare)


def _joined(passages: Sequence[Passage]) -> Passage:
    text = "\n\n".join(passage.text for passage in passages)
    return make_passage(0, "", text, passages[0].context)


class BlindToFiles:
    """An index that answers the probe over all files with nothing: a walk finds what it walks to."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        answers = await self._index.search(probes)
        pairs = zip(probes, answers, strict=True)
        return [Hits.of(()) if probe.where == FILES else answer for probe, answer in pairs]

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        return await conversed(self, dialogue)

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        return await self._index.explain(probes)

    async def position(self) -> int:
        return await self._index.position()

    async def follow(self, changes: Sequence[Change]) -> None:
        await self._index.follow(changes)

    async def aclose(self) -> None:
        await self._index.aclose()


class TrustingWords(HierarchicalRetriever):
    """Takes words for known even where none of them occurs: the rule for other languages is off."""

    def _judge(self, known: float, *, blind: bool) -> Judge:
        return replace(super()._judge(known, blind=blind), known=1.0)


@dataclass(frozen=True, slots=True)
class Variant:
    """How to retrieve; calibration None is that of the embedder."""

    name: str
    recipe: Recipe = Recipe.HOUSE
    scores: ScoreRules = field(default_factory=ScoreRules)
    walk: WalkRules = field(default_factory=WalkRules)
    calibration: Calibration | None = None
    flat: bool = True
    foreign_rule: bool = True
    collapse: bool = True

    def retriever(self, index: SearchIndex, calibration: Calibration) -> HierarchicalRetriever:
        """Return it over an index."""
        kind = HierarchicalRetriever if self.foreign_rule else TrustingWords
        seen: SearchIndex = index if self.flat else BlindToFiles(index)
        return kind(seen, self.calibration or calibration, self.scores, self.walk)

    @property
    def key(self) -> "Variant":
        """The same for variants that differ by their name only."""
        return replace(self, name="")


FULL = Variant("full")
_NO_WALK = WalkRules(max_rounds=0)
ABLATIONS: tuple[Variant, ...] = (
    FULL,
    Variant("no evidence of the directory", scores=ScoreRules(score_propagation_alpha=1)),
    Variant("meaning alone", scores=ScoreRules(meaning_weight=1)),
    Variant("words alone", scores=ScoreRules(meaning_weight=0), foreign_rule=False),
    Variant("best passage alone", scores=ScoreRules(support_weight=0)),
    Variant("order of words ignored", scores=ScoreRules(phrase_weight=0)),
    Variant("flat alone, no walk", walk=_NO_WALK),
    Variant("walk alone, no flat search", flat=False),
    Variant("flat meaning alone, no walk, no evidence", scores=ScoreRules(1, 1), walk=_NO_WALK),
    Variant("no rule for other languages", foreign_rule=False),
    Variant("copies not collapsed", collapse=False),
    Variant("no path and title in front", recipe=Recipe.NO_CONTEXT),
    Variant("one passage a file", recipe=Recipe.WHOLE),
)


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant and the values to try; usual: which of them is the default."""

    name: str
    values: Mapping[str, Variant]
    usual: str


def constants(calibration: Calibration) -> tuple[Constant, ...]:
    """Return what a sweep tries, around the defaults and the embedder's own calibration."""
    scores, walk = ScoreRules(), WalkRules()

    def scored(name: str, *values: float) -> Constant:
        def made(value: float) -> Variant:
            return replace(FULL, scores=replace(scores, **{name: value}))

        return _constant(name, values, getattr(scores, name), made)

    def walked(name: str, *values: int) -> Constant:
        def made(value: float) -> Variant:
            return replace(FULL, walk=replace(walk, **{name: int(value)}))

        return _constant(name, values, getattr(walk, name), made)

    floor, span = calibration.floor, calibration.span
    tried = {
        f"{floor + shift:.2f}/{span * factor:.2f}": replace(
            FULL, calibration=Calibration(floor + shift, span * factor)
        )
        for shift in (-0.1, -0.05, 0, 0.05)
        for factor in (0.75, 1, 1.25, 1.5)
    }
    return (
        scored("score_propagation_alpha", 0.5, 0.6, 0.7, 0.8, 1.0),
        scored("meaning_weight", 0.3, 0.4, 0.5, 0.6, 0.7),
        scored("support_weight", 0.0, 0.2, 0.3, 0.4, 0.5, 0.6),
        scored("phrase_weight", 0.0, 0.1, 0.2, 0.3, 0.4),
        scored("directory_own", 0.0, 0.1, 0.2, 0.3, 0.5),
        walked("candidates", 50, 100, 200),
        walked("global_search_topk", 5, 10, 20),
        walked("children", 5, 10, 20),
        walked("max_convergence_rounds", 1, 3),
        Constant("calibration floor/span", tried, f"{floor:.2f}/{span:.2f}"),
    )


def _constant(
    name: str, values: Sequence[float], usual: float, made: Callable[[float], Variant]
) -> Constant:
    held = dict.fromkeys((*values, usual))  # a default that is not on the list is tried too
    return Constant(name, {f"{value:g}": made(value) for value in held}, f"{usual:g}")
