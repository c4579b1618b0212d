"""content/reindex: what is asked, and what became of it."""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.domain.records import context_type_of
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.reindexing import Mode
from contextfind.ports import Job
from contextfind.server.wire.answers import Address, Amount, exact
from contextfind.server.wire.body import OptionalPlace
from contextfind.server.wire.content import Waiting

_TREES = 2  # segments of an address that is all of a user's


class ReindexBody(Waiting):
    """What is to be indexed again."""

    uri: Annotated[
        OptionalPlace, Field(description="At and below which address; blank is everything.")
    ] = ""
    mode: Annotated[
        Mode,
        Field(
            description="`semantic_and_vectors` also writes the summaries of directories again. Vectors are kept "
            "with the data: no mode asks a model for those that are there."
        ),
    ] = "vectors_only"
    wait: Annotated[bool, Field(description="Answer only when it is done.")] = True
    dry_run: Annotated[
        bool,
        Field(description="Change nothing: count what is there, and name what has no vector yet."),
    ] = False


@exact
class Reindexed(TypedDict):
    """What was asked for and, unless it goes on as a task, what became of it."""

    uri: Address
    mode: Mode
    object_type: str
    status: Literal["accepted", "completed"]
    task_id: NotRequired[str]
    scanned_records: NotRequired[Amount]
    rebuilt_records: NotRequired[Amount]
    failed_records: NotRequired[
        Annotated[int, Field(ge=0, description="Found by words only: no vector yet.")]
    ]
    unsupported_records: NotRequired[Amount]
    deleted_records: NotRequired[Amount]
    would_delete_records: NotRequired[Amount]
    duration_ms: NotRequired[Amount]
    warnings: NotRequired[list[str]]


def accepted(under: Uri, mode: Mode, job: Job) -> dict[str, object]:
    """Return the `result` of one that goes on."""
    return {**_asked(under, mode), "status": "accepted", "task_id": job.id}


def reindexed(under: Uri, mode: Mode, ended: Job) -> dict[str, object]:
    """Return the `result` of one that has ended well."""
    return {**foreseen(under, mode, ended.result or {}), "task_id": ended.id}


def foreseen(under: Uri, mode: Mode, counts: Mapping[str, object]) -> dict[str, object]:
    """Return the `result` of a dry run; an index here never holds what the store does not."""
    pruned = {"deleted_records": 0, "would_delete_records": 0}
    done = {"status": "completed", "unsupported_records": 0}
    return {**_asked(under, mode), **done, **pruned, **counts}


def _asked(under: Uri, mode: Mode) -> dict[str, object]:
    return {"uri": under.text, "mode": mode, "object_type": _object_type(under)}


def _object_type(under: Uri) -> str:
    if under == ROOT:
        return "global_namespace"
    if under.segments[0] == "user" and len(under.segments) <= _TREES:
        return "user_namespace"
    return context_type_of(under).value
