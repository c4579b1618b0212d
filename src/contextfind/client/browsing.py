"""The tree as a file system."""

from collections.abc import Mapping, Sequence
from typing import Literal

from contextfind.client.answers import (
    Attributes,
    Batch,
    Entry,
    Listing,
    Moved,
    Removed,
    Tagged,
    Written,
)
from contextfind.client.envelope import API, body_of, nothing, result, result_of
from contextfind.client.exchange import Answer, Request
from contextfind.client.failure import failure_of
from contextfind.client.flow import Flow, ask
from contextfind.client.shaping import shaped

WriteMode = Literal["create", "replace", "append"]
TagMode = Literal["replace", "append", "clear"]
PAGE = 256  # entries of a listing, as the server's own default
_Params = Mapping[str, str | int]
NODES = 1000  # entries of a tree


def read(uri: str) -> Flow[str]:
    """Return the text of a file."""
    return ask(_text("content/read", uri))


def download(uri: str) -> Flow[bytes]:
    """Return the bytes of a file as they came: of a document, the document."""
    return ask(Request("GET", f"{API}/content/download", _bytes, {"uri": uri}, again=True))


def abstract(uri: str) -> Flow[str]:
    """Return the short text (level 0) of a directory or file."""
    return ask(_text("content/abstract", uri))


def overview(uri: str) -> Flow[str]:
    """Return the longer text (level 1) of a directory."""
    return ask(_text("content/overview", uri))


def ls(uri: str, limit: int = PAGE, offset: int = 0) -> Flow[Listing]:
    """Return a page of a directory's children, by name."""
    params: _Params = {"uri": uri, "limit": limit, "offset": offset}
    return ask(Request("GET", f"{API}/fs/ls", _listing, params, again=True))


def tree(uri: str, depth: int = 3, limit: int = NODES) -> Flow[Listing]:
    """Return what lies below a directory, by address, at most `depth` levels down."""
    params: _Params = {"uri": uri, "level_limit": depth, "node_limit": limit}
    return ask(Request("GET", f"{API}/fs/tree", _listing, params, again=True))


def stat(uri: str) -> Flow[Entry]:
    """Return one entry."""
    return ask(Request("GET", f"{API}/fs/stat", result(Entry), {"uri": uri}, again=True))


def mkdir(uri: str, description: str = "") -> Flow[None]:
    """Make a directory; ConflictError when it is there."""
    body = {"uri": uri, "description": description}
    return ask(Request("POST", f"{API}/fs/mkdir", nothing, body=body))


def write(
    uri: str,
    content: str,
    mode: WriteMode = "replace",
    tags: Sequence[str] | None = None,
    *,
    wait: bool = True,
    timeout: float | None = None,
) -> Flow[Written]:
    """Write a text file; with `wait` it can be found then.

    Tags are `key=value`; None leaves those that are there. timeout: seconds that the server waits at most, None for
        its own time; DeadlineExceededError then, and it is written.
    """
    body: dict[str, object] = {"uri": uri, "content": content, "mode": mode}
    if tags is not None:
        body["tags"] = tags
    path, again = f"{API}/content/write", mode == "replace" and timeout is None
    body |= _waiting(timeout, wait=wait)
    return ask(Request("POST", path, result(Written), body=body, again=again))


def batch_write(
    root_uri: str,
    operations: Sequence[Mapping[str, object]],
    *,
    wait: bool = True,
    timeout: float | None = None,
    skip_conflicts: bool = False,
) -> Flow[Batch]:
    """Write files below a directory in one commit, all or none.

    operations: `uri` and `content` (or `content_base64`) each; `precondition` is `{"kind": "create_if_absent"}`
        or `{"kind": "replace_if_hash", "base_hash": "sha256:…"}`. ConflictError where one does not hold,
        unless those are skipped. timeout: as of `write`.
    """
    body: dict[str, object] = {"root_uri": root_uri, "operations": [*operations]}
    body |= {"skip_conflicts": skip_conflicts, **_waiting(timeout, wait=wait)}
    path = f"{API}/content/batch-write"
    return ask(Request("POST", path, result(Batch), body=body, again=timeout is None))


def rm(uri: str, *, recursive: bool = False) -> Flow[Removed]:
    """Remove a file, or with `recursive` a directory; what is not there is no error."""
    params = {"uri": uri, "recursive": "true" if recursive else "false"}
    return ask(Request("DELETE", f"{API}/fs", result(Removed), params, again=True))


def mv(from_uri: str, to_uri: str) -> Flow[Moved]:
    """Move a file, or a directory with all that is in it, to a whole new address; finds know of it then.

    AlreadyExistsError when something is there.
    """
    body = {"from_uri": from_uri, "to_uri": to_uri}
    return ask(Request("POST", f"{API}/fs/mv", result(Moved), body=body))


def attrs(uri: str) -> Flow[Attributes]:
    """Return what may be set of an address: its tags."""
    return ask(Request("GET", f"{API}/fs/attrs", result(Attributes), {"uri": uri}, again=True))


def set_tags(
    uri: str, tags: Sequence[str] = (), mode: TagMode = "replace", *, recursive: bool = False
) -> Flow[Tagged]:
    """Set the tags of a file or directory, or with `recursive` of every file below; filters see them then.

    mode: `append` leaves those of other keys, `clear` leaves none.
    """
    body = {"uri": uri, "tags": list(tags), "mode": mode, "recursive": recursive}
    path = f"{API}/fs/attrs/set_tags"
    return ask(Request("POST", path, result(Tagged), body=body, again=True))


def _waiting(timeout: float | None, *, wait: bool) -> dict[str, object]:
    """Return the fields that say how long to wait; a wait that came to its end is not to be begun again."""
    return {"wait": wait} if timeout is None else {"wait": wait, "timeout": timeout}


def _text(route: str, uri: str) -> Request[str]:
    return Request("GET", f"{API}/{route}", result(str), {"uri": uri}, again=True)


def _bytes(answer: Answer) -> bytes:
    if not answer.good:
        raise failure_of(answer)
    return answer.content


def _listing(answer: Answer) -> Listing:
    entries = shaped(tuple[Entry, ...], result_of(answer))
    return Listing(entries, bool(body_of(answer).get("has_more", False)))
