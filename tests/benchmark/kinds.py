"""The kinds of find that are measured, as request bodies.

Filters by tag keep from .1 to 90 % of the files: held to the plain find, they are R047 and R099.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from tests.benchmark.forest import ACCOUNTS, SHARES
from tests.benchmark.generated import DAYS, END, KEPT, Library

FIND = "/api/v1/search/find"
SMALL = ACCOUNTS[SHARES.index(0.01)]  # holds a hundredth of all files
RECENT = 0.1  # of the files of a filter by time
RECALLED = ("plain", "tag 10 %", "tag 90 %", "time 10 %", "subtree")  # asked exactly as well
_NAMES = {
    "thousandth": "tag 0.1 %",
    "hundredth": "tag 1 %",
    "tenth": "tag 10 %",
    "most": "tag 90 %",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of find: who asks, and the bodies of its requests."""

    name: str
    account: str
    bodies: Sequence[str]


def kinds_of(library: Library, count: int) -> list[Kind]:
    """Return all kinds with `count` requests each, the plain one first."""
    big = ACCOUNTS[0]
    questions = library.questions(big, count)
    since = (END - timedelta(days=DAYS * RECENT)).isoformat()
    more: dict[str, Mapping[str, object]] = {
        "plain": {},
        **{_NAMES[name]: {"tags": [f"{name}=yes"]} for name in KEPT},
        "time 10 %": {"since": since},
        "memories": {"context_type": "memory"},
        "read_content": {"read_content": True},
    }
    kinds = [
        Kind(name, big, [json.dumps({"query": text, **fields}) for text in questions])
        for name, fields in more.items()
    ]
    places = library.places(big, count)
    within = [
        json.dumps({"query": text, "target_uri": place})
        for text, place in zip(questions, places, strict=True)
    ]
    alone = [json.dumps({"tags": ["tenth=yes"], "target_uri": place}) for place in places]
    small = [json.dumps({"query": text}) for text in library.questions(SMALL, count)]
    return [
        *kinds,
        Kind("subtree", big, within),
        Kind("filter only", big, [json.dumps({"tags": ["tenth=yes"]})] * count),
        Kind("filter only, subtree", big, alone),
        Kind("small account", SMALL, small),
    ]
