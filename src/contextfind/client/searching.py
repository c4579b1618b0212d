"""Finding and searching."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from contextfind.client.envelope import API, names_in, result_of
from contextfind.client.exchange import Answer, Request
from contextfind.client.findings import Found
from contextfind.client.flow import Flow, ask
from contextfind.client.shaping import shaped


class Conditions(TypedDict, total=False):
    """What to look through for a query, as the API spells it; what is left out is not sent."""

    target_uri: str | Sequence[str]
    limit: int
    level: int | Sequence[int]
    context_type: str | Sequence[str]
    tags: Sequence[str]
    since: str
    until: str
    time_field: str
    score_threshold: float
    filter: Mapping[str, object]
    image_url: str


class FindOptions(Conditions, total=False):
    """What may be said in a find, as the API spells it; what is left out is not sent."""

    read_content: bool
    include_provenance: bool


def find(query: str = "", **options: Unpack[FindOptions]) -> Flow[Found]:
    """Return what fits the query best."""
    return ask(_asked("find", {"query": query, **options}))


def search(
    query: str = "", session_id: str | None = None, **options: Unpack[FindOptions]
) -> Flow[Found]:
    """Return what fits the query as it is meant in a session, and the plan (`query_plan`).

    Where a reranker is configured, it judges the hits.
    """
    said = {} if session_id is None else {"session_id": session_id}
    return ask(_asked("search", {"query": query, **said, **options}))


def _asked(route: str, body: Mapping[str, object]) -> Request[Found]:
    return Request("POST", f"{API}/search/{route}", _found, body=body, again=True)


def _found(answer: Answer) -> Found:
    found = shaped(Found, result_of(answer))
    return replace(
        found,
        unknown_targets=names_in(answer, "X-Unknown-Targets"),
        notes=names_in(answer, "X-Notes"),
    )
