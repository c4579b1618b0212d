"""What is answered about the tree and the work behind it, as frozen dataclasses.

Times are ISO 8601 in UTC, addresses `viking://…`. Fields with a default may be missing in the answer
of another server. `raw` of each is the JSON it was read from, with all fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

JsonObject = dict[str, Any]  # an answer whose fields depend on the server's version
ENDED = ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something the server said; `raw` is the JSON object itself."""

    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health(Told):
    """`version` starts with the API's number; `auth_mode` is dev or api_key."""

    status: str
    healthy: bool
    version: str
    auth_mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness(Told):
    """`status` is ready or not_ready; one line per component."""

    status: str
    checks: Mapping[str, Any]

    @property
    def ready(self) -> bool:
        """Whether everything is."""
        return self.status == "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Told):
    """Who asks, and how much there is, as far as the key may see it."""

    initialized: bool = False
    version: str = ""
    account: str = ""
    user: str = ""
    role: str = ""
    auth_mode: str = ""
    counts: Mapping[str, Any] = field(default_factory=dict)
    backlog: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Told):
    """Background work: pending, running, completed, failed or cancelled; `done` of `total` files.

    rate: files or texts a second, of the stage that it is in. eta_seconds: until that ends. None: unknown.
    """

    task_id: str
    status: str
    task_type: str = ""
    stage: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None
    eta_seconds: float | None = None
    resource_id: str = ""
    result: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Told):
    """A file or directory; `size` in bytes, `rel_path` only in a tree."""

    uri: str
    name: str = ""
    is_dir: bool = False
    size: int = 0
    mod_time: str = ""
    abstract: str = ""
    rel_path: str = ""
    tags: tuple[str, ...] = ()


class Listing(NamedTuple):
    """A page of entries, and whether there are more behind it."""

    entries: tuple[Entry, ...]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Told):
    """A text file that was written; the states are queued or complete."""

    uri: str
    written_bytes: int = 0
    semantic_status: str = ""
    vector_status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed(Told):
    """What was removed; a count of 0 means that nothing was there."""

    uri: str
    estimated_deleted_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Told):
    """Files and directories that were moved; the addresses are in `raw`, as `from` and `to`."""

    moved_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttrValues(Told):
    """What may be set of an address."""

    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes(Told):
    """The attributes of an address."""

    uri: str
    context_type: str = ""
    attrs: AttrValues

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, `key=value` each."""
        return self.attrs.tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(Told):
    """What was tagged: of one address all the tags it has now, of many those that were given."""

    uri: str
    updated_uris: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMatch(Told):
    """A line that matches; its number counts from 1."""

    uri: str
    line: int
    content: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grepped(Told):
    """Lines by address and number; whether there may be more."""

    matches: tuple[LineMatch, ...] = ()
    files_scanned: int = 0
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Globbed(Told):
    """Addresses in order; whether there may be more."""

    matches: tuple[str, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict(Told):
    """A file of a batch that was left out, and why."""

    uri: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Told):
    """What became of the files of a batch, by address; the states are queued or complete."""

    root_uri: str
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    semantic_status: str = ""
    vector_status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added(Told):
    """Files on their way into the tree, below `root_uri`.

    task: how it ended, when that was waited for. unread: local files that could not be read, by path
    below the source, with the reason.
    """

    root_uri: str
    task_id: str = ""
    status: str = ""
    task: Task | None = None
    unread: Mapping[str, str] = field(default_factory=dict)
