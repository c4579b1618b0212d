"""content/* and fs/mkdir: bodies and answers."""

from typing import Annotated, Literal

from pydantic import Field

from contextfind.domain.records import context_type_of
from contextfind.ingestion.settling import Settled
from contextfind.ingestion.writing import Written
from contextfind.server.examples import FILE
from contextfind.server.wire.body import NO_FLAG, Body, Params, Place, Tags, Telemetry, Text


class Waiting(Body):
    """How long to wait for what was asked for."""

    wait: Annotated[bool, Field(description="Answer only when all of it can be found.")] = False
    timeout: Annotated[
        Annotated[float, Field(ge=0), NO_FLAG] | None,
        Field(description="Seconds to wait at most; then DEADLINE_EXCEEDED, and the work goes on."),
    ] = None
    telemetry: Annotated[Telemetry, Field(description="Add what was measured.")] = False


class WriteBody(Waiting):
    """A text file to be written."""

    uri: Annotated[Place, Field(description="Where it is to lie.")]
    content: Annotated[Text, Field(description="All of its text, or what is appended.")]
    mode: Annotated[
        Literal["create", "replace", "append"],
        Field(description="`create` refuses to write over a file."),
    ] = "replace"
    tags: Annotated[
        Tags | None,
        Field(description="`key=value` each; absent leaves those that are there."),
    ] = None


class ReadParams(Params):
    """Which lines of a file; `raw` asks for what is stored, which is what is always given."""

    uri: Annotated[Place, Field(description="The file.", examples=[FILE])]
    offset: Annotated[int, Field(ge=0, description="The first line; 0 is the first.")] = 0
    limit: Annotated[int, Field(ge=-1, description="How many lines; -1 is all that follow.")] = -1
    raw: Annotated[bool, Field(description="Changes nothing.")] = True


class RemoveParams(Params):
    """What to remove; a removal has always taken effect when it is answered."""

    uri: Annotated[
        Place,
        Field(
            description="A file or directory; one that is not there is no error.",
            examples=["viking://resources/handbook/drafts/old.md"],
        ),
    ]
    recursive: Annotated[bool, Field(description="Needed for a directory.")] = False


class MkdirBody(Body):
    """A directory to be made."""

    uri: Annotated[Place, Field(description="Where it is to lie.")]
    description: Annotated[Text, Field(description="Its abstract, until files describe it.")] = ""


def part_of(text: str, offset: int, limit: int) -> str:
    """Return `limit` lines from line `offset` (0 is the first); -1 is all that follow."""
    if offset == 0 and limit < 0:
        return text
    lines = text.split("\n")
    kept = lines[offset:] if limit < 0 else lines[offset : offset + limit]
    return "\n".join(kept)


def written(done: Written, settled: Settled | None) -> dict[str, object]:
    """Return the `result` of a write; `settled` when it was waited for."""
    parent = done.uri.parent
    shown: dict[str, object] = {
        "uri": done.uri.text,
        "root_uri": done.uri.text if parent is None else parent.text,
        "context_type": context_type_of(done.uri).value,
        "mode": done.mode,
        "written_bytes": done.size,
        "content_updated": True,
    }
    return {**shown, **outcome(settled)}


def outcome(settled: Settled | None, *, changed: bool = True) -> dict[str, object]:
    """Return what can be found already of what was written; `settled` when it was waited for."""
    if settled is None:
        state = "queued" if changed else "complete"
        return {"semantic_status": state, "vector_status": state}
    return {
        "semantic_status": "complete" if settled.directories == 0 else "queued",
        "vector_status": "complete" if settled.texts == 0 else "queued",
        "queue_status": queue_status(settled),
    }


def queue_status(settled: Settled) -> dict[str, object]:
    """Return how the two kinds of background work stand, in the words clients know."""
    return {
        "Semantic": _queue(settled.directories, ""),
        "Embedding": _queue(settled.texts, settled.note),
    }


def _queue(pending: int, note: str) -> dict[str, object]:
    errors = [note] if note else []
    return {
        "processed": 0,
        "pending": pending,
        "requeue_count": 0,
        "error_count": len(errors),
        "errors": errors,
    }
