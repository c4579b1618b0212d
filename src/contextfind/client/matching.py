"""Finding by letter: lines of files, and addresses."""

from contextfind.client.answers import Globbed, Grepped
from contextfind.client.envelope import API, result
from contextfind.client.exchange import Request
from contextfind.client.flow import Flow, ask

ROOT = "viking://"
MATCHES = 256  # as the server's own default


def grep(
    pattern: str,
    uri: str = ROOT,
    *,
    ignore_case: bool = False,
    limit: int = MATCHES,
    depth: int | None = None,
    without: str = "",
) -> Flow[Grepped]:
    """Return the lines of files at and below `uri` that match a regular expression, by address and line.

    depth: how many levels below `uri`, None for all. without: an address that is left out.
    """
    body: dict[str, object] = {"pattern": pattern, "uri": uri, "node_limit": limit}
    body |= {"case_insensitive": ignore_case}
    if depth is not None:
        body["level_limit"] = depth
    if without:
        body["exclude_uri"] = without
    return ask(Request("POST", f"{API}/search/grep", result(Grepped), body=body, again=True))


def glob(pattern: str, uri: str = ROOT, *, limit: int = MATCHES) -> Flow[Globbed]:
    """Return the addresses whose path below `uri` matches wildcards: `*.md`, `**/*.md`, `[a-c]?`."""
    body = {"pattern": pattern, "uri": uri, "node_limit": limit}
    return ask(Request("POST", f"{API}/search/glob", result(Globbed), body=body, again=True))
