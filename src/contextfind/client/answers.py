"""What is sent and answered, as JSON: one TypedDict per shape, spelled as on the wire."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

JsonObject = dict[str, Any]  # an answer whose fields depend on the server's version
WriteMode = Literal["create", "replace", "append"]
Role = Literal["admin", "user"]


class Health(TypedDict):
    """`version` starts with the API's number; `auth_mode` is dev or api_key."""

    status: str
    healthy: bool
    version: str
    auth_mode: str


class Readiness(TypedDict):
    """`status` is ready or not_ready; one line per component."""

    status: str
    checks: dict[str, object]


class Hit(TypedDict):
    """One found thing; `score` lies in 0..1, `content` is there when it was asked for."""

    uri: str
    context_type: str
    level: int
    score: float
    abstract: str
    tags: list[str]
    match_reason: str
    content: NotRequired[str]


class ScoreParts(TypedDict):
    """What a score was made of; None for what did not count."""

    own: float
    meaning: float | None
    words: float | None
    evidence: float | None
    witness: str | None
    reranked: float | None
    hotness: float | None


class Step(TypedDict):
    """A step of a walk: `open`, `keep`, `cut` or `end`, and why.

    round: in which a directory was opened. rule: what cut a hit. parts: of the score of a hit.
    """

    event: str
    uri: str | None
    score: float | None
    reason: str
    round: NotRequired[int | None]
    rule: NotRequired[str | None]
    parts: NotRequired[ScoreParts | None]


class Walked(TypedDict):
    """The steps of a walk, and the walk in numbers.

    index_plans: how the index looked for hits and for directories. formulas: how scores are made.
    """

    index_plans: NotRequired[list[str]]
    formulas: NotRequired[list[str]]
    events: list[Step]
    statistics: dict[str, int]


class Provenance(TypedDict):
    """How one query was answered."""

    query: str
    searched_directories: list[str]
    thinking_trace: Walked


class Found(TypedDict):
    """The three shelves, best first each; `total` counts all of them.

    unknown_targets: the targets at which nothing is stored; absent when there is no such target.
    """

    memories: list[Hit]
    resources: list[Hit]
    skills: list[Hit]
    total: int
    provenance: NotRequired[list[Provenance]]
    unknown_targets: NotRequired[list[str]]


class FindOptions(TypedDict, total=False):
    """What may be said in a find, as the API spells it; what is left out is not sent."""

    target_uri: Sequence[str]
    limit: int
    level: Sequence[int]
    context_type: Sequence[str]
    tags: Sequence[str]
    since: str
    until: str
    score_threshold: float
    filter: Mapping[str, object]
    read_content: bool
    include_provenance: bool


class AddOptions(TypedDict, total=False):
    """Where the files of an add come from (one of the first two), where they go, which are taken."""

    temp_file_id: str
    path: str
    source_name: str
    to: str
    parent: str
    tags: Sequence[str]
    include: Sequence[str]
    exclude: Sequence[str]
    ignore_dirs: Sequence[str]
    wait: bool
    timeout: float


class Task(TypedDict):
    """Background work: pending, running, completed, failed or cancelled; `done` of `total` files."""

    task_id: str
    status: str
    stage: NotRequired[str]
    done: NotRequired[int]
    total: NotRequired[int]
    result: NotRequired[dict[str, Any] | None]
    error: NotRequired[str | None]


class Entry(TypedDict):
    """A file or directory; `size` in bytes, `rel_path` only in a tree."""

    uri: str
    name: str
    isDir: bool
    size: int
    modTime: str
    abstract: NotRequired[str]
    rel_path: NotRequired[str]


class Listing(NamedTuple):
    """A page of entries, and whether there are more behind it."""

    entries: list[Entry]
    has_more: bool
