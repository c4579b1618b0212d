"""What a line of an export may look like: each a JSON object with one key that says what it is."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from contextfind.domain.conversation import ArchiveState
from contextfind.domain.identity import NAME_PATTERN
from contextfind.domain.records import ContextType

Named = Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")]  # an account or a user
Filled = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0, lt=2**63)]  # what a database holds
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("there is no such time in UTC") from None


def _finite(value: Mapping[str, object]) -> Mapping[str, object]:
    json.dumps(value, allow_nan=False)
    return value


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
FreeJson = Annotated[Mapping[str, object], AfterValidator(_finite)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbedderLine(_Line):
    """Which embedder made the vectors."""

    fingerprint: Filled
    dimension: Annotated[int, Field(gt=0)]


class HeaderLine(_Line):
    """Key `contextfind-export`: format version and what is known before the records come."""

    version: int
    created_at: Moment
    embedder: EmbedderLine | None = None
    account: str = ""
    counts: Mapping[str, Count] = Field(default_factory=dict)


class UserLine(_Line):
    """A user inside an account's line."""

    id: Named
    role: Literal["admin", "user"]
    created_at: Moment


class AccountLine(_Line):
    """Key `account`."""

    id: Named
    created_at: Moment
    users: tuple[UserLine, ...] = ()


class PassageLine(_Line):
    """A passage inside a record's line; vector: base64 of little-endian float32."""

    text: str
    heading: str = ""
    context: str = ""
    vector: str | None = None


class RecordLine(_Line):
    """Key `record`; `original` is base64, `content` text, `content_base64` a body that is no UTF-8."""

    account: Named
    uri: Filled
    level: Literal[0, 1, 2]
    context_type: ContextType
    abstract: str = ""
    created_at: Moment
    updated_at: Moment
    tags: tuple[str, ...] = ()
    active_count: Count = 0
    size: Count = 0
    source: str = ""
    origin: str = ""
    stale: bool = False
    passages: tuple[PassageLine, ...] = ()
    content: str | None = None
    content_base64: str | None = None
    original: str | None = None


class MessageLine(_Line):
    """A message inside a conversation's line."""

    id: Filled
    role: str
    created_at: Moment
    tokens: Count = 0
    text: str = ""
    parts: tuple[FreeJson, ...] = ()
    extra: FreeJson = Field(default_factory=dict)


class ArchiveLine(_Line):
    """An archive inside a conversation's line: the next `message_count` of its messages."""

    message_count: Annotated[int, Field(gt=0)]
    created_at: Moment
    state: ArchiveState
    abstract: str = ""
    overview: str = ""
    error: str = ""


class SessionLine(_Line):
    """Key `session`: a conversation; messages oldest first, those of the archives before the others."""

    account: Named
    user: Named
    id: Filled
    created_at: Moment
    updated_at: Moment
    settings: FreeJson = Field(default_factory=dict)
    memories_extracted: Count = 0
    archives: tuple[ArchiveLine, ...] = ()
    messages: tuple[MessageLine, ...] = ()

    @model_validator(mode="after")
    def _hold_what_was_archived(self) -> Self:
        if sum(archive.message_count for archive in self.archives) > len(self.messages):
            raise ValueError("the archives have more messages than the session")
        return self


class BlockLine(_Line):
    """Key `block`: closes the lines since the last one; sha256 of their bytes, line ends included."""

    records: Count
    sha256: Digest


class EndLine(_Line):
    """Key `end`: the last line; sha256 of the digests of all blocks, as written, in order."""

    accounts: Count
    records: Count
    passages: Count
    vectors: Count
    sessions: Count = 0
    messages: Count = 0
    sha256: Digest


class Line(_Line):
    """Any line after the header; exactly one of these."""

    record: RecordLine | None = None
    account: AccountLine | None = None
    session: SessionLine | None = None
    block: BlockLine | None = None
    end: EndLine | None = None
