"""What there is to say of each part of a running server, to whom it may be said.

Who may see the whole house is told of all accounts; everybody else of what is theirs, and nothing that is counted
for all together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity
from contextfind.server.house import House
from contextfind.server.premises import Premises
from contextfind.server.wire.observer import Component

_OK = "ok"
_FINDS = ("/api/v1/search/find", "/api/v1/search/search")
_INDEX = ("index", "worker follower")
_QUEUES = ("worker embedding", "worker summaries")
_EMBEDDER = "embedder"
_TASKS_LOOKED_AT = 200  # newest ones of a caller; older ones have ended long ago


@dataclass(frozen=True, slots=True)
class Observed:
    """What was asked of the house, once for all components.

    checks, models: `ok` or one line of what is wrong, by name. figures: by name, then by label; only for who may
    see the whole house, as are `index` in status and what is counted of requests. tasks: not ended, by state.
    """

    who: Identity
    whole: bool
    status: Mapping[str, Any]
    checks: Mapping[str, str]
    models: Mapping[str, str]
    figures: Mapping[str, Mapping[str, float]]
    tasks: Mapping[str, int]


async def observed(premises: Premises, house: House, who: Identity) -> Observed:
    """Return what there is to say to somebody.

    Raises:
        UnavailableError: the store does not answer.

    """
    whole = premises.keeper.may_see_house(who)
    status = await (house.status() if whole else house.status(who.account, who.user))
    figures = {one.name: one.values for one in await house.figures()} if whole else {}
    return Observed(
        who,
        whole,
        status,
        await _checks(premises),
        house.models(),
        figures,
        await _tasks(house, who, figures),
    )


def queue(seen: Observed) -> Component:
    """Return what stands between what was written and finding it."""
    backlog = seen.status["backlog"]
    facts = {
        "Embedding pending": backlog["texts"],
        "Semantic pending": backlog["directories"],
        "Tasks pending": seen.tasks.get("pending", 0),
        "Tasks running": seen.tasks.get("running", 0),
    }
    embedders = [name for name in seen.models if name.startswith(_EMBEDDER)]
    wrong = [*_wrong(seen.checks, _QUEUES), *_wrong(seen.models, embedders)]
    return Component("queue", wrong, facts)


def index(seen: Observed) -> Component:
    """Return what finds search, under the name that clients ask for."""
    counts = seen.status["counts"]
    facts: dict[str, object] = {
        "Account": "all" if seen.whole else seen.who.account,
        "Backend": "embedded",
        "Dimension": seen.status["embedder"]["dimension"],
        "Records": counts["records"],
        "Passages": counts["passages"],
        "Vector count": counts["vectors"],
    }
    if seen.whole:
        told = {name: values.get("", 0) for name, values in seen.figures.items()}
        facts |= {name: int(count) for name, count in told.items() if name.startswith("index_")}
    return Component("vikingdb", _wrong(seen.checks, _INDEX), facts)


def models(seen: Observed) -> Component:
    """Return the embedder and every model behind the network."""
    embedder = seen.status["embedder"]
    facts = {
        "Embedding model": embedder["fingerprint"],
        "Embedding dimension": embedder["dimension"],
        **dict(seen.models),
    }
    return Component("models", _wrong(seen.models, seen.models), facts)


def lock(premises: Premises, seen: Observed) -> Component:
    """Return who holds the data, and how many requests there are."""
    facts: dict[str, object] = {"Data directory": "locked by this server"}
    if seen.whole:
        facts |= {"Requests in flight": premises.measures.in_flight}
        facts |= {"Requests waiting": premises.seats.waiting}
    return Component("lock", (), facts)


def retrieval(premises: Premises, seen: Observed) -> Component:
    """Return how many finds there were and how long they took; they are counted for all callers together."""
    if not seen.whole:
        return Component("retrieval", (), {"Queries": "counted for the whole server only"})
    kinds = premises.measures.latencies().items()
    finds = [(kind, latency) for kind, latency in kinds if kind[1] in _FINDS]
    count = sum(sum(latency.counts) for _, latency in finds)
    seconds = sum(latency.seconds for _, latency in finds)
    facts = {
        "Total Queries": count,
        "Failed": sum(sum(one.counts) for (_, _, status), one in finds if status >= 400),  # noqa: PLR2004 - HTTP's
        "Avg Latency (ms)": round(1_000 * seconds / count, 1) if count else 0.0,
    }
    return Component("retrieval", (), facts)


def filesystem(seen: Observed) -> Component:
    """Return how much is stored."""
    counts = seen.status["counts"]
    facts: dict[str, object] = {"Files": counts["files"], "Directories": counts["directories"]}
    sizes = seen.figures.get("data_bytes", {})
    facts |= {f"Bytes of {part}": int(size) for part, size in sizes.items()}
    return Component("filesystem", _wrong(seen.checks, ("store",)), facts)


def everything(premises: Premises, seen: Observed) -> Sequence[Component]:
    """Return all components, and one for what none of them tells of."""
    parts = [
        queue(seen),
        index(seen),
        models(seen),
        lock(premises, seen),
        retrieval(premises, seen),
        filesystem(seen),
    ]
    told = {*_QUEUES, *_INDEX, "store"}
    rest = {name: line for name, line in seen.checks.items() if name not in told}
    return [*parts, Component("workers", _wrong(rest, rest), rest)]


def _wrong(lines: Mapping[str, str], names: Sequence[str] | Mapping[str, str]) -> Sequence[str]:
    found = ((name, lines.get(name, _OK)) for name in names)
    return [f"{name}: {line}" for name, line in found if line != _OK]


async def _checks(premises: Premises) -> Mapping[str, str]:
    try:
        return await premises.door.asked(
            lambda house: house.readiness(), premises.rules.ready_seconds
        )
    except UnavailableError as error:
        return {"store": str(error)}


async def _tasks(
    house: House, who: Identity, figures: Mapping[str, Mapping[str, float]]
) -> Mapping[str, int]:
    """Return how many tasks have not ended, by state: all of them, or the caller's."""
    if "tasks" in figures:
        return {state: int(count) for state, count in figures["tasks"].items()}
    states = [job.state for job in await house.jobs.list(who, _TASKS_LOOKED_AT)]
    return {state.value: states.count(state) for state in set(states)}
