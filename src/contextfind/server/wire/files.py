"""content/download and content/batch-write: bodies and answers."""

import base64
import binascii
import mimetypes
import re
from typing import Annotated, Any, Literal, NotRequired
from urllib.parse import quote

from pydantic import Field
from typing_extensions import TypedDict

from contextfind.domain.errors import InvalidArgumentError, ResourceExhaustedError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.conditions import BatchWritten, Condition, WriteOrder
from contextfind.ingestion.settling import Settled
from contextfind.server.wire.answers import Address, Queues, exact
from contextfind.server.wire.body import Body, Place, Text, address, shown, wrong
from contextfind.server.wire.content import Waiting, outcome

MAX_OPERATIONS = 256
MAX_BYTES = 16 * 1024 * 1024  # of all files of a batch together; as much as clients put into one

_ORDINARY = re.compile(r'[^ -~]|["\\%]')  # what a plain file name in a header must do without
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


class Precondition(Body):
    """What must be there for a file to be written."""

    kind: Annotated[
        Literal["create_if_absent", "replace_if_hash", "none"],
        Field(description="Nothing; a file with the hash; anything."),
    ] = "none"
    base_hash: Annotated[
        Text, Field(description="SHA-256 of the file that is there, `sha256:` and 64 hex digits.")
    ] = ""


class Operation(Body):
    """A file of a batch."""

    uri: Annotated[Place, Field(description="Where it is to lie, below `root_uri`.")]
    content: Annotated[Text | None, Field(description="Its text.")] = None
    content_base64: Annotated[
        str | None, Field(description="Its bytes instead: a text in any encoding, a document.")
    ] = None
    precondition: Annotated[Precondition, Field(description="When it is written.")] = Precondition()


class BatchBody(Waiting):
    """Files to be written together."""

    root_uri: Annotated[Place, Field(description="The directory below which all of them lie.")]
    operations: Annotated[
        list[Operation],
        Field(min_length=1, max_length=MAX_OPERATIONS, description="The files; each address once."),
    ]
    skip_conflicts: Annotated[
        bool,
        Field(
            description="Leave out, and name, those whose precondition fails; else none is written."
        ),
    ] = False


@exact
class Conflict(TypedDict):
    """A file whose precondition does not hold."""

    uri: Address
    reason: str


@exact
class Batch(TypedDict):
    """What became of the files of a batch."""

    root_uri: Address
    created: list[Address]
    updated: list[Address]
    unchanged: list[Address]
    conflicts: list[Conflict]
    semantic_status: Literal["queued", "complete"]
    vector_status: Literal["queued", "complete"]
    queue_status: NotRequired[Annotated[Queues, Field(description="With `wait`.")]]


def orders_of(body: BatchBody, root: Uri, identity: Identity) -> list[WriteOrder]:
    """Return the files of a batch, in order.

    Raises:
        InvalidArgumentError: one lies elsewhere or is named twice, has no content or two, or a hash is none.
        ResourceExhaustedError: they are too large together.

    """
    orders = [
        _order(f"operations[{index}]", operation, root, identity)
        for index, operation in enumerate(body.operations)
    ]
    seen: set[Uri] = set()
    for index, order in enumerate(orders):
        if order.uri in seen:
            raise wrong(f"operations[{index}].uri", order.uri.text, "each address once")
        seen.add(order.uri)
    size = sum(len(order.data) for order in orders)
    if size > MAX_BYTES:
        raise ResourceExhaustedError(
            f"the files have {size} bytes together; send at most {MAX_BYTES} at once",
            {"max_bytes": MAX_BYTES},
        )
    return orders


def batch_written(root: Uri, done: BatchWritten, settled: Settled | None) -> dict[str, Any]:
    """Return the `result` of a batch; `settled` when it was waited for."""
    return {
        "root_uri": root.text,
        "created": [uri.text for uri in done.created],
        "updated": [uri.text for uri in done.updated],
        "unchanged": [uri.text for uri in done.unchanged],
        "conflicts": [{"uri": one.uri.text, "reason": one.reason} for one in done.conflicts],
        **outcome(settled, changed=bool(done.created or done.updated)),
    }


def download_headers(uri: Uri) -> dict[str, str]:
    """Return what a browser is told of a file: its type by its name, and to keep it rather than to show it."""
    kind, _ = mimetypes.guess_type(uri.name)
    plain = _ORDINARY.sub("_", uri.name)
    spelled = quote(uri.name, safe="")
    return {
        "Content-Type": kind or "application/octet-stream",
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{spelled}",
    }


def _order(where: str, operation: Operation, root: Uri, identity: Identity) -> WriteOrder:
    uri = address(f"{where}.uri", operation.uri, identity)
    if uri == root or not uri.is_under(root):
        raise wrong(f"{where}.uri", operation.uri, f"an address below {root.text}")
    kind, base = operation.precondition.kind, ""
    if kind == "replace_if_hash":
        base = _digest(f"{where}.precondition.base_hash", operation.precondition.base_hash)
    conditions: dict[str, Condition] = {"create_if_absent": "absent", "replace_if_hash": "same"}
    return WriteOrder(uri, _data(where, operation), conditions.get(kind, "none"), base)


def _digest(where: str, text: str) -> str:
    found = _DIGEST.fullmatch(text.strip().lower())
    if found is None:
        raise wrong(where, text, "sha256: and 64 hex digits")
    return found[1]


def _data(where: str, operation: Operation) -> bytes:
    if (operation.content is None) == (operation.content_base64 is None):
        raise InvalidArgumentError(
            f"{where} has {'neither' if operation.content is None else 'both'}; expected either "
            "content or content_base64",
            {"field": where},
        )
    if operation.content is not None:
        return operation.content.encode()
    text = operation.content_base64 or ""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        field = f"{where}.content_base64"
        raise InvalidArgumentError(
            f"{field} is {shown(text)}; expected base64", {"field": field}
        ) from None
