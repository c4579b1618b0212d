"""What ov.conf may say: every field with its meaning, bounds and default.

Nothing here reads a file or the environment. Defaults that belong to a rule of the house are
taken from it. `None` where the provider's own value is used.
"""

import ipaddress
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from contextfind.config.rerank import RerankSettings
from contextfind.config.section import Seconds, Section, Share, Url, secret
from contextfind.domain.scoring import HotnessRules, ScoreRules
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.intent import INPUT_TOKENS, PLAN_SECONDS
from contextfind.retrieval.reranking import RERANK_CANDIDATES, RERANK_SECONDS

_SCORE = ScoreRules()
_WALK = WalkRules()
_HOTNESS = HotnessRules()
_SPOKEN = ("volcengine", "ollama", "vllm", "tei", "jina", "dashscope")  # they speak `openai`
OPENAI = "https://api.openai.com/v1"
MIB = 1024 * 1024


def _provider(name: object) -> object:
    low = name.lower() if isinstance(name, str) else name
    return "openai" if low in _SPOKEN else low


def _level(name: object) -> object:
    low = name.lower() if isinstance(name, str) else name
    return "warning" if low == "warn" else "error" if low == "critical" else low


def _log_format(name: object) -> object:
    return "text" if isinstance(name, str) and "%(" in name else name  # a pattern of older files


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class ServerSettings(Section):
    """Where the server listens, who may use it, and how much it takes."""

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on. Any other than this machine's own needs a key.",
    )
    port: int = Field(
        default=1933, ge=0, le=65_535, description="Port to listen on; 0 takes a free one."
    )
    api_key: str = secret("The one key of a server for a single user (account and user `default`).")
    root_api_key: str = secret(
        "The key that makes accounts, users and their keys, and reads no data."
    )
    allowed_paths: tuple[str, ...] = Field(
        default=(),
        description="Directories of the server's machine that may be added by path. Empty: uploads only.",
    )
    cors_origins: tuple[str, ...] = Field(
        default=(),
        description="Web pages of these origins may call the API; `*` is all. Empty: none.",
    )
    max_body_bytes: int = Field(
        default=32 * MIB, ge=1024, le=1024 * MIB, description="Largest JSON body of a request."
    )
    max_upload_bytes: int = Field(
        default=512 * MIB, ge=1024, le=64 * 1024 * MIB, description="Largest uploaded file."
    )
    answer_seconds: Seconds = Field(
        default=60.0, description="An answer that needs longer is given up with DEADLINE_EXCEEDED."
    )
    wait_seconds: Seconds = Field(
        default=3_600.0,
        description="How long `wait=true` waits when the caller names no `timeout`.",
    )
    rate_limit_per_minute: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Requests a minute that each key may send; more are RESOURCE_EXHAUSTED with Retry-After. 0: no limit.",
    )
    rate_limit_burst: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="How many of them may come at once. None: all of a minute's.",
    )

    @model_validator(mode="after")
    def _open_only_with_a_key(self) -> Self:
        if not (is_loopback(self.host) or self.api_key or self.root_api_key):
            raise ValueError(
                f"server.host {self.host!r} can be reached from other machines, but there is no key; "
                "set server.api_key (or CONTEXTFIND_API_KEY) for one user, server.root_api_key for "
                "several, or listen on 127.0.0.1"
            )
        return self

    @model_validator(mode="after")
    def _one_key_is_one_role(self) -> Self:
        if self.api_key and self.api_key == self.root_api_key:
            raise ValueError(
                "server.api_key and server.root_api_key are the same key, and whoever sends it could "
                "not be told from the administrator; give each one of its own"
            )
        return self


class StorageSettings(Section):
    """Where the data lies."""

    path: str = Field(
        default="./contextfind-data",
        min_length=1,
        description="The data directory; made when it is not there. Also spelled `workspace`.",
    )


class EmbeddingSettings(Section):
    """The model that turns text into vectors. The keys may also stand in `embedding.dense`."""

    provider: Annotated[Literal["local", "openai", "hash"], BeforeValidator(_provider)] = Field(
        default="local",
        description="`local`: multilingual-e5-small inside the process. `openai`: any `/v1/embeddings` endpoint. `hash`: hashed words, for tests.",
    )
    model: str = Field(default="", description="Name of the model; `openai` needs it.")
    api_base: Url = Field(
        default=OPENAI, description="Address of the endpoint, without `/embeddings`."
    )
    api_key: str = secret("Key of the endpoint.")
    dimension: int | None = Field(
        default=None,
        ge=2,
        le=8_192,
        description="Length of the vectors; longer ones are cut. None: as the model gives them.",
    )
    batch_size: int = Field(default=32, ge=1, le=2_048, description="Texts in one request.")
    concurrency: int = Field(
        default=4,
        ge=1,
        le=256,
        description="Requests under way at once. Also spelled `max_concurrent`.",
    )
    timeout: Seconds = Field(default=30.0, description="Seconds of one request.")
    max_characters: int = Field(
        default=8_000, ge=100, le=1_000_000, description="Longer texts are cut."
    )
    query_prefix: str = Field(
        default="", description="Put in front of every query, for models that want it (`query: `)."
    )
    document_prefix: str = Field(
        default="", description="Put in front of every document (`passage: `)."
    )
    query_fields: dict[str, Any] = Field(
        default={}, description='Added to requests for queries (`{"input_type": "query"}`).'
    )
    document_fields: dict[str, Any] = Field(
        default={}, description="Added to requests for documents."
    )
    accepts_images: bool = Field(
        default=False,
        description='The `openai` model embeds pictures too, sent as `{"image": "data:…"}` among the inputs; finds may then carry `image_url`.',
    )
    calibration_floor: float | None = Field(
        default=None,
        ge=-1,
        lt=1,
        description="Cosine of an unrelated pair of texts; `contextfind calibrate` fits both. None: as fits the provider.",
    )
    calibration_span: float | None = Field(
        default=None,
        gt=0,
        le=2,
        description="From there to a certain match. None: as fits the provider.",
    )

    @model_validator(mode="after")
    def _provider_and_model_agree(self) -> Self:
        if self.provider == "openai" and not self.model:
            raise ValueError("embedding.model is missing; provider 'openai' needs the model's name")
        if self.provider != "openai" and (self.model or "api_base" in self.model_fields_set):
            raise ValueError(
                f"embedding.model and embedding.api_base mean nothing to provider {self.provider!r}; "
                "set embedding.provider to 'openai', or leave them out"
            )
        if self.accepts_images and self.provider != "openai":
            raise ValueError(
                f"embedding.accepts_images is true, but provider {self.provider!r} takes text only; "
                "set embedding.provider to 'openai' with a multimodal model"
            )
        if (self.calibration_floor is None) != (self.calibration_span is None):
            raise ValueError("embedding.calibration_floor and calibration_span go together")
        return self


class ChatSettings(Section):
    """A language model behind a `/v1/chat/completions` endpoint. No model: none is asked; searches are then planned by `vlm` in place of `query_planner`. A planner with neither address nor key is asked where `vlm` is."""

    provider: str = Field(
        default="openai",
        description="Whoever it is, it is spoken to in OpenAI's way.",
    )
    model: str = Field(default="", description="Name of the model. Empty: there is none.")
    api_base: Url = Field(
        default=OPENAI, description="Address of the endpoint, without `/chat/completions`."
    )
    api_key: str = secret("Key of the endpoint.")
    temperature: float = Field(
        default=0.0,
        ge=0,
        le=2,
        description="0 gives the same answer each time, as far as the model can.",
    )
    concurrency: int = Field(
        default=4,
        ge=1,
        le=256,
        description="Requests under way at once. Also spelled `max_concurrent`.",
    )
    timeout: Seconds = Field(
        default=60.0, description="Seconds in which an answer must be there, retries included."
    )


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
        description="Directories the walk starts from, and leaves whose directories it starts from. Higher: more places to choose from; how many are opened is said by the two below.",
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
        description="Records asked of each directory by meaning and by words. Higher: more of a large directory is seen, and a round takes longer.",
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
        description="Files whose best passages say the same share one place: the best is shown, the others are named in its `match_reason`. false: each has a place of its own.",
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


class IngestionSettings(Section):
    """How files are taken in."""

    passage_target: int = Field(
        default=700,
        ge=100,
        le=8_000,
        description="Characters a passage should have; 700 measured best.",
    )
    passage_longest: int = Field(
        default=1_200, ge=100, le=16_000, description="Characters a passage may have."
    )
    max_file_bytes: int = Field(
        default=100_000_000,
        ge=1_024,
        le=4_000_000_000,
        description="Larger files are skipped, and named.",
    )
    model_summaries: bool = Field(
        default=True,
        description="Where `vlm.model` is set, it writes the summaries of directories: one call for each whose children changed. Off: they are quoted from the files.",
    )
    summary_input_characters: int = Field(
        default=12_000,
        ge=500,
        le=1_000_000,
        description="Characters that the model is told about the children of one directory; more cost more, and less is cut off.",
    )
    summary_max_tokens: int = Field(
        default=3_000,
        ge=100,
        le=100_000,
        description="Tokens of one summary by the model, its thinking included; too few, and the answer is cut off and not used.",
    )

    @model_validator(mode="after")
    def _target_fits(self) -> Self:
        if self.passage_target > self.passage_longest:
            raise ValueError(
                f"ingestion.passage_target {self.passage_target} is more than "
                f"ingestion.passage_longest {self.passage_longest}"
            )
        return self


class LogSettings(Section):
    """What the program says about its work, on standard error."""

    level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_level)] = Field(
        default="info", description="The least important line that is shown."
    )
    format: Annotated[Literal["text", "json"], BeforeValidator(_log_format)] = Field(
        default="text", description="`json`: one object a line."
    )


class Settings(Section):
    """All of ov.conf."""

    server: ServerSettings = ServerSettings()
    storage: StorageSettings = StorageSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    vlm: ChatSettings = ChatSettings()
    query_planner: ChatSettings = ChatSettings()
    rerank: RerankSettings = RerankSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    ingestion: IngestionSettings = IngestionSettings()
    log: LogSettings = LogSettings()
