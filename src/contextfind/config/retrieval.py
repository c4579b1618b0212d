"""What ov.conf may say about finding and searching; defaults are those of the rules themselves."""

from pydantic import Field

from contextfind.config.section import Seconds, Section, Share
from contextfind.domain.scoring import HotnessRules, ScoreRules
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.intent import INPUT_TOKENS, PLAN_SECONDS
from contextfind.retrieval.reranking import RERANK_CANDIDATES, RERANK_SECONDS

_SCORE = ScoreRules()
_WALK = WalkRules()
_HOTNESS = HotnessRules()


class RetrievalSettings(Section):
    """How hits are found and scored."""

    score_propagation_alpha: Share = Field(
        default=_SCORE.score_propagation_alpha,
        description="Share of a hit's own score in the final one; the rest is the best file's of its directory. Higher: a hit stands for itself; lower: files among strong neighbours rise. 1 ignores directories.",
    )
    meaning_weight: Share = Field(
        default=_SCORE.meaning_weight,
        description="Share of meaning in a hit's own score; the rest is words. Higher: paraphrases and other languages gain on exact words, names and codes.",
    )
    support_weight: Share = Field(
        default=_SCORE.support_weight,
        description="Share of a record's four best passages together in its meaning; the rest is the best one's alone. Higher: files that speak of the question throughout gain on files that touch it once. 0 counts the best passage only.",
    )
    phrase_weight: Share = Field(
        default=_SCORE.phrase_weight,
        description="What two words that stand side by side in question and text are worth beyond themselves, as a share of their worth as words. Higher: exact phrases and names of several words gain. 0 ignores the order of words.",
    )
    directory_own: Share = Field(
        default=_SCORE.directory_own,
        description="Share of a directory's own text in its score; the rest is its best file. Higher: directories rank by their summaries, and further below their files.",
    )
    candidates: int = Field(
        default=_WALK.candidates,
        ge=1,
        le=10_000,
        description="Records that meaning and words put forward each, before the tree is walked. Higher: a hit that both find a little is missed less often, and a find takes longer.",
    )
    global_search_topk: int = Field(
        default=_WALK.global_search_topk,
        ge=1,
        le=1_000,
        description="Best leaves whose directories the walk starts from; where a filter is set, as many of the best directories as well. Higher: more places to choose from; how many are opened is said by the two below.",
    )
    max_convergence_rounds: int = Field(
        default=_WALK.max_convergence_rounds,
        ge=1,
        le=64,
        description="A find's walk ends when the best hits stayed the same that many rounds. Higher: deeper and slower; 3 measured no better.",
    )
    thinking_rounds: int = Field(
        default=_WALK.thinking_rounds,
        ge=1,
        le=64,
        description="The same for a search that is reranked. Higher: the reranker reads more of the tree, one batch a round.",
    )
    batch: int = Field(
        default=_WALK.batch,
        ge=1,
        le=64,
        description="Directories opened per round. Higher: fewer, larger rounds; the walk looks wider before it stops.",
    )
    children: int = Field(
        default=_WALK.children,
        ge=1,
        le=1_000,
        description="Records asked by meaning and by words, for each directory of a round; the best of them all together count. Higher: more of large directories is seen, and a round takes longer.",
    )
    rerank_candidates: int = Field(
        default=RERANK_CANDIDATES,
        ge=1,
        le=1_000,
        description="Texts the reranker reads at the start of a search and at most in every round; what it does not read ranks below. Higher: it may lift what blended worse, and costs more time and money.",
    )
    rerank_seconds: Seconds = Field(
        default=RERANK_SECONDS,
        description="Seconds the reranker may take in one search, all rounds together; then the rest keeps its blended scores, and the answer says so. Higher: a slow reranker is waited for; a little above `rerank.timeout` lets a request fail by itself first.",
    )
    plan_seconds: Seconds = Field(
        default=PLAN_SECONDS,
        description="Seconds in which the language model must have planned a search; then the query is searched as it was asked. Half of what is left of the request, where that is less.",
    )
    plan_input_tokens: int = Field(
        default=INPUT_TOKENS,
        ge=1_500,
        le=1_000_000,
        description="Tokens of the prompt that plans a search, instructions included: the last five messages, the summary and the query are cut to their shares of it.",
    )
    collapse_duplicates: bool = Field(
        default=True,
        description="Files whose best passages say the same share one place: the best is shown, the others are named in its `match_reason`, and directories that are there for them alone are passed over. false: each has a place of its own.",
    )
    hotness_alpha: Share = Field(
        default=_HOTNESS.alpha,
        description="Share of hotness in the score: how often a record is used, halved with age. Higher: what is used and new passes what fits better. 0 leaves it out; above, the same question is answered otherwise as time goes by.",
    )
    hotness_half_life_days: float = Field(
        default=_HOTNESS.half_life_days,
        gt=0,
        le=36_500,
        allow_inf_nan=False,
        description="After that many days without a change hotness is halved. Higher: what is old stays hot for longer.",
    )
