"""How a Qdrant cluster suits us, and what to do where it does not."""

from collections.abc import Iterator

from contextfind.adapters.qdrant.examination import Standing, examined
from contextfind.adapters.qdrant.place import Place
from contextfind.config.model import Settings
from contextfind.domain.errors import ContextFindError, FailedPreconditionError
from contextfind.wiring.findings import Finding, Verdict
from contextfind.wiring.qdrant_index import place_of

_LAGGING = 1_000  # changes; servers follow some hundred a second


async def check_qdrant(
    settings: Settings, fingerprint: str | None, position: int | None
) -> list[Finding]:
    """Look at the cluster that the settings name.

    fingerprint, position: of the embedder and of the log, None where nobody has looked at the storage.
    """
    place = place_of(settings.qdrant)
    try:
        seen = await examined(place)
    except FailedPreconditionError as error:
        return [Finding("qdrant", Verdict.FAIL, str(error))]
    except ContextFindError as error:
        step = "does it run, and are qdrant.url and qdrant.api_key right?"
        return [Finding("qdrant", Verdict.FAIL, f"{place.url}: {error}", step)]
    server = Finding("qdrant", Verdict.OK, f"Qdrant {seen.version} at {place.url}")
    ours = [one for one in seen.indexes if fingerprint is None or one.made_by(place, fingerprint)]
    return [server, *_indexes(place, ours, position)]


def _indexes(place: Place, ours: list[Standing], position: int | None) -> Iterator[Finding]:
    if not ours:
        line = f"no collection of {place.prefix!r} yet: built at the next start"
        yield Finding("index", Verdict.OK, line)
    for one in ours:
        yield _standing(one, position)


def _standing(one: Standing, position: int | None) -> Finding:
    line = f"{one.alias}: {one.collection} is {one.state}, about {one.points} points, change {one.position}"
    if one.state == "red":
        step = "look at the cluster's log; contextfind reindex builds it anew"
        return Finding("index", Verdict.FAIL, line, step)
    behind = 0 if position is None else position - one.position
    if behind < 0:
        step = "an older state of the storage was put back: a server, running or started, builds it anew"
        return Finding("index", Verdict.WARN, f"{line}; {-behind} changes ahead", step)
    if behind > _LAGGING:
        step = "a server that runs follows; look at /ready and its log when this does not shrink"
        return Finding("index", Verdict.WARN, f"{line}; {behind} changes behind", step)
    return Finding("index", Verdict.OK, f"{line}; {behind} changes behind" if behind else line)
