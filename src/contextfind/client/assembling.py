"""Contexts: what an agent puts into its prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

from contextfind.client.answers import Told
from contextfind.client.envelope import API, result
from contextfind.client.exchange import Request
from contextfind.client.flow import Flow, ask
from contextfind.client.searching import Conditions

Tier = Literal["full", "overview", "abstract", "uri"]
TOKENS = 1_600  # as the server's own default


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry(Told):
    """One entry of a block; `detail` is how much of it is shown, `text` empty where it is the address alone."""

    uri: str
    category: str = ""
    score: float = 0.0
    detail: str = ""
    text: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Told):
    """A block for a prompt, best entries first; `stats` says how it came about."""

    entries: tuple[ContextEntry, ...] = ()
    rendered: str = ""
    digest: str = ""
    stats: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What goes into the prompt: the digest where there is one, else the block."""
        return self.digest or self.rendered

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done without."""
        return tuple(self.stats.get("notes") or ())


class ContextOptions(Conditions, total=False):
    """What may be said of a context, as the API spells it; what is left out is not sent."""

    quotas: Mapping[str, int]
    purpose: Literal["coding", "chat"]
    detail: Tier | Mapping[str, Tier]
    dedup_turns: int
    exclude_uris: Sequence[str]
    peer_scope: Literal["all", "actor"]
    other_peer_penalty: float | Mapping[str, float]
    query_expansion: Literal["auto", "off"]
    rewrite: bool | Literal["auto"]
    rewrite_max_bullets: int


def context(
    query: str = "",
    session_id: str | None = None,
    *,
    max_tokens: int = TOKENS,
    **options: Unpack[ContextOptions],
) -> Flow[Context]:
    """Return what fits the query best as one block of text, which costs at most `max_tokens`.

    session_id: the conversation, whose last messages say what is meant. With `dedup_turns` entries that its last
    contexts showed are not shown again; such a call is not sent twice, for what it showed counts as shown.
    """
    said = {} if session_id is None else {"session_id": session_id}
    body = {"query": query, "mode": "context", "max_tokens": max_tokens, **said, **options}
    again = not options.get("dedup_turns")
    return ask(Request("POST", f"{API}/search/search", result(Context), body=body, again=again))
