"""fs/mv and fs/attrs: bodies and answers."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.records import context_type_of
from contextfind.domain.tags import TagMode
from contextfind.domain.uri import Uri
from contextfind.ports import Retag
from contextfind.retrieval.browsing import Entry
from contextfind.server.wire.answers import Address, Amount, Kind, exact
from contextfind.server.wire.body import Body, Place, Tags, optional_tags

MAX_TAGS = 200  # as many as a find may ask for


class MoveBody(Body):
    """What goes where."""

    from_uri: Annotated[Place, Field(description="A file, or a directory with all that is in it.")]
    to_uri: Annotated[
        Place,
        Field(
            description="Its whole new address, where nothing may be; no directory to move into."
        ),
    ]


class TagsBody(Body):
    """What gets which tags."""

    uri: Annotated[Place, Field(description="A file or directory.")]
    tags: Annotated[
        Tags,
        Field(
            default_factory=list,
            max_length=MAX_TAGS,
            description="`key=value` each; one value per key.",
        ),
    ]
    mode: Annotated[
        TagMode,
        Field(
            description="`replace`: these and no others; `append`: these, and those of other keys; "
            "`clear`: none."
        ),
    ] = "replace"
    recursive: Annotated[
        bool,
        Field(
            description="Of a directory: every file in it. Otherwise the directory has tags of its own."
        ),
    ] = False


# `from` is a word of Python.
Moved = TypedDict("Moved", {"from": Address, "to": Address, "moved_count": Amount})


@exact
class AttrValues(TypedDict):
    """What may be set of an address."""

    tags: list[str]


@exact
class Attrs(TypedDict):
    """The attributes of an address."""

    uri: Address
    context_type: Kind
    attrs: AttrValues


@exact
class Tagged(TypedDict):
    """What was tagged: `tags` as they are kept; of one address all it has now, of many those that were given."""

    uri: Address
    updated_uris: list[str]
    root_uri: Address
    context_type: Kind
    tags: list[str]
    mode: TagMode
    success_count: Amount
    skipped_count: Amount
    failed_count: Amount
    tags_updated: bool


def retag_of(body: TagsBody, uri: Uri) -> Retag:
    """Return what is asked for.

    Raises:
        InvalidArgumentError: a tag is none, or tags are given that `clear` would take away.

    """
    tags = optional_tags(body.tags) or ()
    if body.mode == "clear" and tags:
        raise InvalidArgumentError(
            f"mode is 'clear' and tags is {list(tags)!r}; expected no tags, for clear leaves none",
            {"field": "tags"},
        )
    return Retag(uri, tags, body.mode, body.recursive)


def moved(source: Uri, target: Uri, addresses: Sequence[Uri]) -> dict[str, Any]:
    """Return the `result` of a move; the count is of files and directories."""
    return {"from": source.text, "to": target.text, "moved_count": len(addresses)}


def attrs(entry: Entry) -> dict[str, Any]:
    """Return the `result` of fs/attrs."""
    return {
        "uri": entry.uri.text,
        "context_type": context_type_of(entry.uri).value,
        "attrs": {"tags": list(entry.tags)},
    }


def tagged(retag: Retag, addresses: Sequence[Uri], entry: Entry) -> dict[str, Any]:
    """Return the `result` of set_tags; `entry` is what lies at its address now."""
    alone = not retag.recursive or not entry.is_directory
    return {
        "uri": retag.uri.text,
        "updated_uris": [uri.text for uri in addresses],
        "root_uri": retag.uri.text,
        "context_type": context_type_of(retag.uri).value,
        "tags": list(entry.tags if alone else retag.tags),
        "mode": retag.mode,
        "success_count": len(addresses),
        "skipped_count": 0,
        "failed_count": 0,
        "tags_updated": bool(addresses),
    }
