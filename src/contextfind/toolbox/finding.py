"""`find`, `search`: what fits a question."""

from typing import Annotated, Any

from pydantic import Field

from contextfind.client.findings import Found, Hit
from contextfind.client.searching import FindOptions
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool, shortened

_ABSTRACT = (
    400  # characters of a hit that are shown: enough to choose by, ten hits fit 1,500 tokens
)
_MOST = 50
_SCALE = "score 0..1: below 0.35 mostly noise, 0.45 plausible, 0.6 strong"
_NEXT = "Read one with the tool read."
_FILES = (2,)
_FILES_AND_DIRECTORIES = (
    1,
    2,
)  # a directory once, by its overview: its abstract says the same in short


class FindArguments(Arguments):
    """A question, and where its answer may lie."""

    query: Annotated[str, Field(min_length=1, description="What you look for, in plain words.")]
    target_uri: Annotated[
        str | list[str],
        Field(
            description="Only at and below this address, or these: viking://resources/handbook. "
            "Empty: everywhere you may look."
        ),
    ] = ""
    limit: Annotated[int, Field(ge=1, le=_MOST, description="How many hits at most.")] = 10
    min_score: Annotated[
        float | None,
        Field(ge=0, le=1, description="Leave out hits below; nothing is left out by default."),
    ] = None
    context_type: Annotated[
        str | list[str], Field(description="memory, resource, skill, or several; empty: all.")
    ] = ""
    tags: Annotated[
        list[str],
        Field(description="Only what has all of these tags, key=value each.", max_length=20),
    ] = Field(default_factory=list)
    since: Annotated[
        str | None, Field(description="Only what changed since: 2h, 7d, 2026-03-01.")
    ] = None
    until: Annotated[str | None, Field(description="Only what changed before; as since.")] = None
    files_only: Annotated[
        bool, Field(description="Leave out hits that stand for whole directories.")
    ] = False

    def options(self) -> FindOptions:
        """Return what is asked of the server, besides the query."""
        said: dict[str, Any] = {
            "target_uri": self.target_uri,
            "limit": self.limit,
            "score_threshold": self.min_score,
            "context_type": self.context_type,
            "tags": self.tags,
            "since": self.since,
            "until": self.until,
            "level": _FILES if self.files_only else _FILES_AND_DIRECTORIES,
        }
        options: Any = {name: value for name, value in said.items() if value not in ("", [], None)}
        chosen: FindOptions = options
        return chosen


class SearchArguments(FindArguments):
    """A question as it is meant in a conversation."""

    session_id: Annotated[
        str | None, Field(description="A session of the server whose messages give the context.")
    ] = None


async def _find(desk: Desk, asked: FindArguments) -> Told:
    return _told(await desk.client.find(asked.query, **asked.options()))


async def _search(desk: Desk, asked: SearchArguments) -> Told:
    return _told(await desk.client.search(asked.query, asked.session_id, **asked.options()))


def _told(found: Found) -> Told:
    hits = found.hits
    lines = [f"{len(hits)} hits, best first ({_SCALE})." if hits else "Nothing was found."]
    for place, hit in enumerate(hits, 1):
        lines += [f"{place}. {hit.score:.2f} {_kind(hit)} {hit.uri}", f"   {_abstract(hit)}"]
    if hits:
        lines.append(_NEXT)
    lines += [f"Nothing is stored at {uri}." for uri in found.unknown_targets]
    lines += [f"Note: {note}" for note in found.notes]
    return Told("\n".join(lines), {"hits": [_data(hit) for hit in hits], "total": found.total})


def _kind(hit: Hit) -> str:
    return hit.context_type if hit.level in _FILES else f"{hit.context_type} (directory)"


def _abstract(hit: Hit) -> str:
    return shortened(hit.abstract, _ABSTRACT) or "(no abstract)"


def _data(hit: Hit) -> dict[str, Any]:
    return {
        "uri": hit.uri,
        "score": hit.score,
        "context_type": hit.context_type,
        "level": hit.level,
        "abstract": shortened(hit.abstract, _ABSTRACT),
        "tags": list(hit.tags),
    }


FIND = Tool(
    "find",
    "Find by meaning",
    "Find what fits a question in stored memories, resources (documents, code) and skills, by meaning "
    "and by words. Take this first when you need to know something. Returns addresses with scores and "
    "abstracts; read them with `read`. For exact strings take `grep`, for file names `glob`, for a "
    "question that leans on a conversation ('and the second one?') `search`.",
    FindArguments,
    _find,
)
SEARCH = Tool(
    "search",
    "Search in context",
    "As `find`, but the question is first understood in the context of a session (session_id), and hits "
    "are judged by a reranker where the server has one. Slower; without a session or for a question "
    "that stands for itself, take `find`.",
    SearchArguments,
    _search,
)
