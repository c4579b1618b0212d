"""The shape of every `result`, for the page that describes the API; answers are held to it by test."""

from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.domain.errors import Code

Address = Annotated[str, Field(description="An address: `viking://…`.")]
Moment = Annotated[
    str, Field(description="ISO 8601 in UTC.", json_schema_extra={"format": "date-time"})
]
Amount = Annotated[int, Field(ge=0)]
Kind = Literal["memory", "resource", "skill"]
Secret = Annotated[str, Field(description="The key itself; only its digest is kept.")]
Result = TypeVar("Result")

exact = with_config(ConfigDict(extra="forbid"))  # an object has these fields and no others


@exact
class Measured(TypedDict):
    """What was measured of a request; `summary` depends on the operation."""

    id: str
    summary: dict[str, Any]


@exact
class Ok(TypedDict, Generic[Result]):
    """Success."""

    status: Literal["ok"]
    result: Result
    telemetry: NotRequired[
        Annotated[Measured, Field(description="Only when the request asked for it.")]
    ]


@exact
class Page(TypedDict, Generic[Result]):
    """A part of a listing."""

    status: Literal["ok"]
    result: Result
    has_more: Annotated[bool, Field(description="Whether a larger `offset` gives more.")]


@exact
class Fault(TypedDict):
    """What went wrong: `message` alone is enough to correct the call."""

    code: Code
    message: str
    details: Annotated[
        dict[str, Any],
        Field(
            description="`validation_errors` for fields, `retryable` where trying again can help, …"
        ),
    ]


@exact
class Failure(TypedDict):
    """Anything but success, on every route."""

    status: Literal["error"]
    result: None
    error: Fault


@exact
class Queue(TypedDict):
    """One kind of background work."""

    processed: Amount
    pending: Amount
    requeue_count: Amount
    error_count: Amount
    errors: list[str]


@exact
class Queues(TypedDict):
    """Background work that stands between what was written and finding it."""

    Semantic: Queue
    Embedding: Queue


@exact
class Wrote(TypedDict):
    """A file that was written."""

    uri: Address
    root_uri: Address
    context_type: Kind
    mode: Literal["create", "replace", "append"]
    written_bytes: Amount
    content_updated: bool
    semantic_status: Literal["queued", "complete"]
    vector_status: Literal["queued", "complete"]
    queue_status: NotRequired[Annotated[Queues, Field(description="With `wait`.")]]


@exact
class Line(TypedDict):
    """An entry of a listing; `output=original` has `mode` instead of `abstract` and `tags`."""

    name: str
    uri: Address
    size: Amount
    isDir: bool
    modTime: Moment
    rel_path: NotRequired[
        Annotated[str, Field(description="Below the listed directory; in trees.")]
    ]
    mode: NotRequired[int]
    abstract: NotRequired[str]
    tags: NotRequired[list[str]]


@exact
class Stat(TypedDict):
    """One file or directory."""

    name: str
    uri: Address
    size: Amount
    isDir: bool
    modTime: Moment
    mode: int
    abstract: str
    tags: list[str]
    isLocked: bool
    count: NotRequired[Annotated[int, Field(ge=0, description="Entries of a directory.")]]


@exact
class Made(TypedDict):
    """A directory that was made."""

    uri: Address


@exact
class Removed(TypedDict):
    """What was removed; 0 when nothing was there."""

    uri: Address
    estimated_deleted_count: Amount


@exact
class Uploaded(TypedDict):
    """A file that waits to be added."""

    temp_file_id: str


@exact
class AddedFiles(TypedDict):
    """What became of the files."""

    added: Amount
    updated: Amount
    unchanged: Amount
    removed: Amount
    failed_files: list[dict[str, Any]]
    skipped_files: list[dict[str, Any]]


@exact
class Added(TypedDict):
    """An addition that goes on as a task or, with `wait`, has ended."""

    status: Literal["success"]
    task_id: str
    root_uri: str
    source_path: str
    errors: list[str]
    warnings: list[str]
    meta: NotRequired[Annotated[AddedFiles, Field(description="With `wait`.")]]
    context_count: NotRequired[Annotated[int, Field(ge=0, description="With `wait`.")]]
    queue_status: NotRequired[Annotated[Queues, Field(description="With `wait`.")]]


@exact
class Task(TypedDict):
    """Background work: `done` of `total` files."""

    task_id: str
    task_type: str
    status: Literal["pending", "running", "completed", "failed", "cancelled"]
    stage: str
    done: Amount
    total: Amount
    rate: Annotated[
        float | None,
        Field(
            ge=0, description="A second, lately: files read, or texts embedded, as `stage` says."
        ),
    ]
    eta_seconds: Annotated[float | None, Field(ge=0, description="Until the stage ends.")]
    resource_id: str
    meta: dict[str, Any]
    result: dict[str, Any] | None
    error: str | None
    created_at: Annotated[float, Field(description="Seconds since 1970.")]
    updated_at: float
    processing_seconds: float
    created_at_iso: Moment
    updated_at_iso: Moment


@exact
class Health(TypedDict):
    """The process answers."""

    status: Literal["ok"]
    healthy: Literal[True]
    version: Annotated[str, Field(description="Starts with the version of the API.")]
    auth_mode: Literal["dev", "api_key"]


@exact
class Readiness(TypedDict):
    """One line per component: `ok`, or what is wrong."""

    status: Literal["ready", "not_ready"]
    checks: dict[str, str]


@exact
class Backlog(TypedDict):
    """What is still to be embedded and summarised."""

    texts: Amount
    directories: Amount


@exact
class EmbedderStatus(TypedDict):
    """The embedder in force."""

    fingerprint: str
    dimension: Amount


@exact
class Status(TypedDict):
    """Who asks, and how much there is; figures of the index only in dev mode and for root."""

    initialized: bool
    version: str
    account: str
    user: str
    role: Literal["root", "admin", "user"]
    auth_mode: Literal["dev", "api_key"]
    counts: dict[str, int]
    backlog: Backlog
    embedder: EmbedderStatus
    index: NotRequired[dict[str, Any]]


@exact
class AccountLine(TypedDict):
    """A tenant."""

    account_id: str
    created_at: Moment
    user_count: Amount
    status: Literal["active"]


@exact
class UserLine(TypedDict):
    """A user of a tenant."""

    account_id: str
    user_id: str
    role: Literal["admin", "user"]
    created_at: Moment


@exact
class KeyLine(TypedDict):
    """A key without its secret."""

    key_id: str
    account_id: str
    user_id: str
    role: Literal["admin", "user"]
    hint: Annotated[str, Field(description="Its first characters.")]
    label: str
    created_at: Moment
    last_used_at: Moment | None


@exact
class NewKey(KeyLine):
    """A key with its secret, which is never shown again."""

    user_key: Secret


@exact
class NewAccount(TypedDict):
    """A tenant that was made, and the key of its first user."""

    account_id: str
    admin_user_id: str
    user_key: Secret


@exact
class NewUser(TypedDict):
    """A user that was made, and its key."""

    account_id: str
    user_id: str
    user_key: Secret


@exact
class GoneUser(TypedDict):
    """A user that was removed."""

    account_id: str
    user_id: str
    removed: Literal[True]
    revoked_keys: Amount


@exact
class ChangedRole(TypedDict):
    """The role that a user has now."""

    account_id: str
    user_id: str
    role: Literal["admin", "user"]


@exact
class GoneKey(TypedDict):
    """A key that was taken back."""

    key_id: str
    revoked: Literal[True]
