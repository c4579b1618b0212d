"""Finds measured side by side with a bare route, and what of the exact answers they find."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import httpx

from contextfind.answering.measures import quantile
from examples.serving import Api
from tests.benchmark.clients import Answers, Load, sent
from tests.benchmark.kinds import FIND, RECALLED, Kind
from tests.benchmark.watched import Watched
from tests.benchmark.yardstick import Bare, bare_route

CONCURRENCY = (1, 8, 32)
# Each kind gets its finds in turns, so that a slow moment of the machine meets all of them; many at
# once get fewer and longer turns, or their ends, when connections run dry, would count for much.
TURNS_ALONE, TURNS_TOGETHER = 4, 2
WARM_UP = 50  # finds before anything is measured
LIMIT = 10  # hits of an answer, and the 10 of recall@10
BARE, BARE_LARGE = "bare route", "bare route, large answer"
LARGE = "read_content"  # is compared with the bare route that answers as much
KeyOf = Callable[[str], str]  # account -> its key
Hits = dict[str, list[list[str]]]  # by kind, for each of its questions


@dataclass(frozen=True, slots=True)
class Row:
    """What one kind of find took at one concurrency.

    cpu_ms: of the server for each find. ratio: the median over that of the bare route.
    plans: how often the index chose what for one find, as the warm-up shows.
    """

    kind: str
    concurrency: int
    finds: int
    failed: int
    ms_p50: float
    ms_p95: float
    ms_p99: float
    per_second: float
    cpu_ms: float
    answer_bytes: int
    ratio: float
    plans: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Warm:
    """What a few finds of a kind told: the size of an answer, and what the index chose how often."""

    answer_bytes: int
    plans: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Sent:
    """All finds of a row; cpu: seconds of the server."""

    kind: str
    concurrency: int
    parts: Sequence[Answers]
    cpu: float


def measure_finds(
    server: Watched, kinds: Sequence[Kind], key_of: KeyOf, report: Callable[[str], None]
) -> list[Row]:
    """Return a row for the bare route and each kind, at every concurrency."""
    warm = {kind.name: _warmed(server, kind, key_of) for kind in kinds}
    bodies = kinds[0].bodies
    rows: list[Row] = []
    with bare_route() as bare:
        loads = {
            name: Load(bare.port, f"/find/{warm[like].answer_bytes}", bodies)
            for name, like in ((BARE, kinds[0].name), (BARE_LARGE, LARGE))
        }
        loads |= {kind.name: _load(server, kind, key_of) for kind in kinds}
        for concurrency in CONCURRENCY:
            report(f"finds, {concurrency} at once")
            busy = {name: replace(load, concurrency=concurrency) for name, load in loads.items()}
            turns = TURNS_ALONE if concurrency == 1 else TURNS_TOGETHER
            rows += _rows(server, bare, busy, warm, turns)
    return rows


def through_httpx(
    server: Watched, kind: Kind, key_of: KeyOf, answer_bytes: int
) -> dict[str, dict[str, float]]:
    """Return p50 and p95 as a program with httpx sees them, one at a time: of the bare route and the kind."""
    with bare_route() as bare:
        place = f"http://127.0.0.1:{bare.port}/find/{answer_bytes}"
        return {
            BARE: _through_httpx(place, "none", kind.bodies),
            kind.name: _through_httpx(f"{server.url}{FIND}", key_of(kind.account), kind.bodies),
        }


def _through_httpx(url: str, key: str, bodies: Sequence[str]) -> dict[str, float]:
    took = []
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, trust_env=False) as client:
        for body in [*bodies[:WARM_UP], *bodies]:
            asked = json.loads(body)
            begun = time.perf_counter()
            client.post(url, json=asked).raise_for_status().json()
            took.append(1000 * (time.perf_counter() - begun))
    measured = took[-len(bodies) :]
    return {f"ms_p{share}": round(quantile(measured, share / 100), 3) for share in (50, 95)}


def hits_of(server: Watched, kinds: Sequence[Kind], key_of: KeyOf, count: int) -> Hits:
    """Return for each kind of `RECALLED` the addresses that its first `count` finds are answered with."""
    told: Hits = {}
    for kind in kinds:
        if kind.name in RECALLED:
            load = _load(server, kind, key_of)
            answers = sent(replace(load, bodies=kind.bodies[:count], keep=True)).answers
            told[kind.name] = [addresses(answer) for answer in answers]
    return told


def recall(found: Hits, exact: Hits) -> dict[str, float]:
    """Return for each kind the mean share of the exact hits that was found; 1 where there are none."""
    told: dict[str, float] = {}
    for name, answers in exact.items():
        pairs = zip(found[name], answers, strict=True)
        shares = [len({*got} & {*right}) / len(right) if right else 1.0 for got, right in pairs]
        told[name] = round(sum(shares) / max(len(shares), 1), 4)
    return told


def addresses(answer: str) -> list[str]:
    """Return what the first ten hits of an answer are, on all shelves; none of one that failed."""
    result = json.loads(answer).get("result") or {}
    hits = [hit for shelf in ("memories", "resources", "skills") for hit in result.get(shelf, ())]
    return [f"{hit['uri']} {hit['level']}" for hit in hits][:LIMIT]


def index_figures(server: Watched) -> dict[str, int]:
    """Return what the index tells of itself."""
    with Api(server.url, server.keys.root) as root:
        told: dict[str, int] = root.call("GET", "/api/v1/system/status")["index"]
    return told


def _warmed(server: Watched, kind: Kind, key_of: KeyOf) -> _Warm:
    """Ask a few, and see what the index chose for them and how much is answered."""
    before = index_figures(server)
    few = sent(replace(_load(server, kind, key_of), bodies=kind.bodies[:WARM_UP]))
    after = index_figures(server)
    grown = {
        name.removeprefix("plan_"): after[name] - before.get(name, 0)
        for name in after
        if name.startswith("plan_")
    }
    return _Warm(
        few.bytes_mean,
        {name: round(count / len(few.ms), 1) for name, count in grown.items() if count},
    )


def _rows(
    server: Watched, bare: Bare, loads: Mapping[str, Load], warm: Mapping[str, _Warm], turns: int
) -> list[Row]:
    """Send all loads in turns."""
    answers: dict[str, list[Answers]] = {name: [] for name in loads}
    cpu = dict.fromkeys(loads, 0.0)
    for turn in range(turns):
        for name, load in loads.items():
            asked = server if name in warm else bare
            if load.bodies[turn::turns]:
                used = asked.cpu_seconds()
                answers[name].append(sent(replace(load, bodies=load.bodies[turn::turns])))
                cpu[name] += asked.cpu_seconds() - used
    floors = {name: quantile(_ms(answers[name]), 0.5) for name in (BARE, BARE_LARGE)}
    return [
        _row(
            _Sent(name, loads[name].concurrency, parts, cpu[name]),
            floors[BARE_LARGE if name in {LARGE, BARE_LARGE} else BARE],
            warm[name].plans if name in warm else {},
        )
        for name, parts in answers.items()
    ]


def _row(sent_ones: _Sent, floor: float, plans: Mapping[str, float]) -> Row:
    parts = sent_ones.parts
    took = _ms(parts)
    return Row(
        kind=sent_ones.kind,
        concurrency=sent_ones.concurrency,
        finds=len(took),
        failed=sum(part.failed for part in parts),
        ms_p50=round(quantile(took, 0.5), 3),
        ms_p95=round(quantile(took, 0.95), 3),
        ms_p99=round(quantile(took, 0.99), 3),
        per_second=round(len(took) / sum(part.seconds for part in parts), 1),
        cpu_ms=round(1000 * sent_ones.cpu / len(took), 3),
        answer_bytes=sum(part.bytes_mean for part in parts) // len(parts),
        ratio=round(quantile(took, 0.5) / floor, 2),
        plans=plans,
    )


def _ms(parts: Sequence[Answers]) -> list[float]:
    return [one for part in parts for one in part.ms]


def _load(server: Watched, kind: Kind, key_of: KeyOf) -> Load:
    return Load(server.port, FIND, kind.bodies, key_of(kind.account))
