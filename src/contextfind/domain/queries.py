"""What is asked: questions after validation, and the plan made from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from contextfind.domain.filters import Everything, Filter
from contextfind.domain.images import ImageSource
from contextfind.domain.records import ContextType
from contextfind.domain.uri import Uri

DEFAULT_LIMIT = 10
MAX_LIMIT = 100


class RetrieverMode(StrEnum):
    """QUICK scores with the blended score alone (find); THINKING may rerank (search)."""

    QUICK = "quick"
    THINKING = "thinking"


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """One question to one shelf, as the planner (or the caller) phrased it.

    context_type: the only kind of records it is put to; None = all that the caller asked for.
    weight: share of its hits' scores that counts where they stand on one list with those of others.
    """

    query: str
    context_type: ContextType | None = None
    intent: str = ""
    priority: int = 3  # 1 is most urgent, 5 least
    target_directories: Sequence[Uri] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The typed queries of one search; none means: this message needs no retrieval."""

    queries: Sequence[TypedQuery]
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class FindQuestion:
    """One validated find; every default of the API lives here.

    targets: None = everything the caller may see; empty = nothing.
    where: which hits to keep; scope is applied apart from it.
    selective: whether `where` says enough to be asked without any text.
    image: a picture to search by, alone or together with the text.
    mode: thinking only where a reranker is configured and there is a text to judge by.
    score_threshold: inclusive, tested on the score that is shown; None = no cut.
    """

    query: str = ""
    targets: Sequence[Uri] | None = None
    limit: int = DEFAULT_LIMIT
    score_threshold: float | None = None
    where: Filter = field(default_factory=Everything)
    selective: bool = False
    read_content: bool = False
    include_provenance: bool = False
    image: ImageSource | None = None
    mode: RetrieverMode = RetrieverMode.QUICK
