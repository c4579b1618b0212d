"""search/grep and search/glob: bodies and answers."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from contextfind.domain.identity import Identity
from contextfind.domain.uri import ROOT
from contextfind.retrieval.matching import MOST, Area, Lines, Paths
from contextfind.server.wire.answers import Address, Amount, exact
from contextfind.server.wire.body import (
    NO_FLAG,
    Body,
    OptionalPlace,
    Tags,
    Text,
    optional_address,
    optional_tags,
)
from contextfind.server.wire.listing import MAX_DEPTH

DEFAULT_MATCHES = 256  # what clients of this API send themselves

_Limit = Annotated[int, Field(ge=1, le=MOST), NO_FLAG]
_Depth = Annotated[int, Field(ge=1, le=MAX_DEPTH), NO_FLAG]


class LookBody(Body):
    """Where to look by letter, and for how many matches."""

    uri: Annotated[
        OptionalPlace, Field(description="A directory or a file; blank is all that may be seen.")
    ] = ROOT.text
    pattern: Annotated[Text, Field(description="What to look for.")]
    node_limit: Annotated[_Limit, Field(description="The most matches.")] = DEFAULT_MATCHES
    level_limit: Annotated[
        _Depth | None, Field(description="How many levels below `uri`; absent is all.")
    ] = None
    exclude_uri: Annotated[
        OptionalPlace, Field(description="A file or directory that is left out.")
    ] = ""
    tags: Annotated[
        Tags | None, Field(description="`key=value` each; only what has all of them itself.")
    ] = None

    def area(self, identity: Identity) -> Area:
        """Return where to look.

        Raises:
            InvalidUriError: an address is none. InvalidArgumentError: a tag is none.

        """
        uri = optional_address("uri", self.uri, identity) or ROOT
        without = optional_address("exclude_uri", self.exclude_uri, identity)
        return Area(uri, without, self.level_limit, optional_tags(self.tags) or ())


class GrepBody(LookBody):
    """A regular expression over the lines of files."""

    pattern: Annotated[
        Text,
        Field(
            description="A regular expression of RE2, matched against each line: linear in time, so "
            "without look-around and back-references; `\\w` and `\\b` mean ASCII, `\\p{L}` any letter."
        ),
    ]
    case_insensitive: Annotated[bool, Field(description="Whether a and A are the same.")] = False


class GlobBody(LookBody):
    """Wildcards over addresses."""

    pattern: Annotated[
        Text,
        Field(
            description="Of the path below `uri`: `*` and `?` within a name, `**` across directories, "
            "`[abc]`, `[a-z]`, `[!abc]`. A whole address is understood, too."
        ),
    ]


@exact
class Match(TypedDict):
    """A line that matches; of a very long one a piece."""

    uri: Address
    line: Annotated[int, Field(ge=1, description="Its number, from 1.")]
    content: str


@exact
class Grepped(TypedDict):
    """Lines by address and number."""

    matches: list[Match]
    count: Amount
    match_count: Amount
    files_scanned: Amount
    has_more: Annotated[bool, Field(description="Whether there may be more than these.")]


@exact
class Globbed(TypedDict):
    """Addresses in order."""

    matches: list[Address]
    count: Amount
    has_more: Annotated[bool, Field(description="Whether there may be more than these.")]


def grepped(found: Lines) -> dict[str, Any]:
    """Return the `result` of search/grep."""
    matches = [
        {"uri": one.uri.text, "line": one.line.number, "content": one.line.text}
        for one in found.matches
    ]
    return {
        "matches": matches,
        "count": len(matches),
        "match_count": len(matches),
        "files_scanned": found.files,
        "has_more": found.has_more,
    }


def globbed(found: Paths) -> dict[str, Any]:
    """Return the `result` of search/glob."""
    uris = [uri.text for uri in found.uris]
    return {"matches": uris, "count": len(uris), "has_more": found.has_more}
