"""All that ov.conf may say: every field with its meaning, bounds and default.

The larger sections have modules of their own. None of them reads a file or the environment.
`None` where the provider's own value is used.
"""

import ipaddress
from itertools import combinations
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from contextfind.config.chat import ChatSettings
from contextfind.config.rerank import RerankSettings
from contextfind.config.retrieval import RetrievalSettings
from contextfind.config.section import OPENAI, Seconds, Section, Url, secret
from contextfind.config.storage import IndexSettings, QdrantSettings, StorageSettings

_SPOKEN = ("volcengine", "ollama", "vllm", "tei", "jina", "dashscope")  # they speak `openai`
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
    metrics_key: str = secret(
        "A key that reads /metrics and nothing else. The keys above read it too; without any, this machine."
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
    shutdown_seconds: int = Field(
        default=10,
        ge=0,
        le=3_600,
        description="A server that is told to stop gives running requests so long; then they are UNAVAILABLE.",
    )
    max_requests: int = Field(
        default=64,
        ge=1,
        le=10_000,
        description="Requests answered at once, three quarters of them of one account at most; the others wait, and the accounts take turns.",
    )
    max_waiting: int = Field(
        default=256,
        ge=1,
        le=10_000,
        description="Requests of one account that may wait; more are RESOURCE_EXHAUSTED with Retry-After.",
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
        names = ("api_key", "root_api_key", "metrics_key")
        keys = [(name, key) for name in names if (key := getattr(self, name))]
        for (one, key), (other, same) in combinations(keys, 2):
            if key == same:
                raise ValueError(
                    f"server.{one} and server.{other} are the same key, and what each of them may do "
                    "could not be told apart; give each one of its own"
                )
        return self


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
    query_timeout: Seconds = Field(
        default=4.0,
        description="Seconds in which a query must be embedded, all included; then words alone answer it. Longer for a model that is loaded anew after every pause. At most `timeout`.",
    )
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
    requests: bool = Field(
        default=True,
        description="A line for every request, at level info; /health, /ready and /metrics at debug.",
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
    index: IndexSettings = IndexSettings()
    qdrant: QdrantSettings = QdrantSettings()
    ingestion: IngestionSettings = IngestionSettings()
    log: LogSettings = LogSettings()

    @property
    def index_backend(self) -> Literal["embedded", "postgres", "qdrant"]:
        """The search index that is meant."""
        if self.index.backend != "auto":
            return self.index.backend
        return "postgres" if self.storage.backend == "postgres" else "embedded"

    @model_validator(mode="after")
    def _index_fits_the_storage(self) -> Self:
        storage, index = self.storage.backend, self.index_backend
        if index == "embedded" and storage == "postgres":
            raise ValueError(
                "index.backend 'embedded' belongs to one process, and storage.backend 'postgres' to several; "
                "set index.backend to 'auto', 'postgres' or 'qdrant'"
            )
        if index == "postgres" and storage != "postgres":
            raise ValueError(
                "index.backend 'postgres' lies in the database of storage.backend 'postgres', which is "
                f"{storage!r} here; set index.backend to 'auto', 'embedded' or 'qdrant'"
            )
        return self
