"""POST resources: what is to be added, and what became of it."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from contextfind.domain.errors import UnimplementedError
from contextfind.domain.identity import Identity
from contextfind.ingestion.adding import AddRequest
from contextfind.ingestion.settling import Settled
from contextfind.ports import Job
from contextfind.server.wire.body import (
    OptionalPlace,
    Tags,
    Text,
    Words,
    optional_address,
    optional_tags,
    wrong,
)
from contextfind.server.wire.content import Waiting, queue_status
from contextfind.server.wire.tasks import root_of, source_of

_REMOTE = re.compile(r"(?:[a-z][a-z0-9+.-]*://|git@|[\w.-]+@[\w.-]+:)", re.IGNORECASE)


class AddBody(Waiting):
    """Files to be added: an upload, or a path on the server's own machine; exactly one of both."""

    temp_file_id: Annotated[Text, Field(description="From resources/temp_upload.")] = ""
    path: Annotated[
        Text, Field(description="On the server; refused unless it allows the root.")
    ] = ""
    source_name: Annotated[Text, Field(description="What the file or directory is called.")] = ""
    to: Annotated[OptionalPlace, Field(description="The address the file or directory gets.")] = ""
    parent: Annotated[
        OptionalPlace,
        Field(description="The directory it is put into; at most one of to and parent."),
    ] = ""
    create_parent: Annotated[bool, Field(description="Changes nothing: parents are made.")] = True
    tags: Annotated[Tags | None, Field(description="`key=value`, for every file.")] = None
    include: Annotated[Words, Field(description="Only files that match a pattern.")] = Field(
        default_factory=list
    )
    exclude: Annotated[Words, Field(description="No files that match a pattern.")] = Field(
        default_factory=list
    )
    ignore_dirs: Annotated[Words, Field(description="Directories to leave out.")] = Field(
        default_factory=list
    )


def request_of(body: AddBody, identity: Identity) -> AddRequest:
    """Return the validated request.

    Raises:
        InvalidArgumentError: not exactly one source, more than one target, a bad tag.
        InvalidUriError: a target that is no address.
        UnimplementedError: a path that is an address on the network.

    """
    if bool(body.temp_file_id) == bool(body.path):
        raise wrong(
            "temp_file_id",
            body.temp_file_id,
            "exactly one of temp_file_id (from resources/temp_upload) and path",
        )
    if body.to.strip() and body.parent.strip():
        raise wrong("parent", body.parent, "at most one of to and parent")
    if _REMOTE.match(body.path):
        raise UnimplementedError(
            f"path is {body.path[:100]!r}: files are not fetched from the network; download them "
            "and upload them with POST /api/v1/resources/temp_upload (or contextfind add)"
        )
    return AddRequest(
        upload=body.temp_file_id or None,
        path=body.path or None,
        source_name=body.source_name.strip() or None,
        to=optional_address("to", body.to, identity),
        parent=optional_address("parent", body.parent, identity),
        tags=optional_tags(body.tags),
        include=tuple(body.include),
        exclude=tuple(body.exclude),
        ignore_dirs=tuple(body.ignore_dirs),
    )


def started(job: Job) -> dict[str, object]:
    """Return the `result` of an add that goes on in the background."""
    return {
        "status": "success",
        "task_id": job.id,
        "root_uri": root_of(job),
        "source_path": source_of(job),
        "errors": [],
        "warnings": [],
    }


def finished(job: Job) -> dict[str, object]:
    """Return the `result` of an add that has ended well."""
    result = job.result or {}
    counts = {name: _number(result.get(name)) for name in _KINDS}
    skipped, failed = _listed(result.get("skipped")), _listed(result.get("failed"))
    return {
        "status": "success",
        "task_id": job.id,
        "root_uri": root_of(job),
        "source_path": source_of(job),
        "errors": [_reason(item) for item in failed],
        "warnings": [_reason(item) for item in skipped],
        "meta": {**counts, "failed_files": failed, "skipped_files": skipped},
        "context_count": counts["added"] + counts["updated"] + counts["unchanged"],
        "queue_status": queue_status(Settled(0, 0, str(result.get("note", "")))),
    }


_KINDS = ("added", "updated", "unchanged", "removed")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _listed(value: object) -> list[dict[str, object]]:
    return [dict(item) for item in value] if isinstance(value, Sequence) else []


def _reason(item: dict[str, object]) -> str:
    return f"{item.get('path')}: {item.get('reason')}"
