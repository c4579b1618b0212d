"""How a PostgreSQL database suits us, and what to do where it does not."""

from collections.abc import Callable, Iterator

from contextfind.adapters.postgres.examination import Examined, Room, Schema, Standing, examined
from contextfind.adapters.postgres.pgvector import opening
from contextfind.adapters.postgres.place import Place
from contextfind.config.model import Settings
from contextfind.domain.errors import ContextFindError, StoreBusyError
from contextfind.wiring.findings import Finding, Verdict
from contextfind.wiring.postgres_storage import place_of

_LEAST_SERVER, _LEAST_PGVECTOR = 160_000, (0, 8)  # what the tests run on is newer
_MIB = 1 << 20
_SMALL_BUFFERS = 1 << 30  # below it an operator has hardly chosen it for a large index
_BUFFERED = 4  # times the buffers that an index may have before disks are heard
_LAGGING = 1_000  # changes; servers follow some hundred a second
_UNITS = {"kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "B": 1}
_SAFE = ("fsync", "full_page_writes", "synchronous_commit")

_WAY = (  # to a database that does not answer
    "does it run, and do storage.dsn and its pg_hba.conf let this machine in? A pooler in between "
    "must lend whole sessions (docs/scaling.md)"
)
_SOON = "servers wait for it and answer 503 meanwhile"


async def check_postgres(settings: Settings) -> tuple[list[Finding], Examined | None]:
    """Look at the database that the settings name; also what was seen, None when it does not answer.

    Raises:
        ConfigError: nobody can tell which database that is.

    """
    place = place_of(settings)
    try:
        seen = await examined(place)
    except ContextFindError as error:
        step = _SOON if isinstance(error, StoreBusyError) else _WAY
        return [Finding("database", Verdict.FAIL, f"{place.shown()}: {error}", step)], None
    checks: tuple[Callable[[Examined, Place], Finding | None], ...] = (
        _server,
        _pgvector,
        _role,
        _rights,
        _tables,
        _row_security,
        _connections,
        _patience,
        _durability,
        _memory,
    )
    found = [finding for check in checks if (finding := check(seen, place)) is not None]
    if settings.index_backend == "postgres" and seen.schema is not None:
        found.extend(_indexes(seen.schema))
    return found, seen


def _server(seen: Examined, place: Place) -> Finding:
    version = seen.settings["server_version"]
    line = f"PostgreSQL {version} at {place.shown()}"
    if int(seen.settings["server_version_num"]) < _LEAST_SERVER:
        return Finding("database", Verdict.FAIL, line, "16 or newer is needed")
    if seen.settings["server_encoding"] != "UTF8":
        line = f"{line} has the encoding {seen.settings['server_encoding']}"
        return Finding("database", Verdict.FAIL, line, "make another database with ENCODING 'UTF8'")
    if seen.settings["transaction_read_only"] == "on":
        step = "name the primary in storage.dsn (host=a,b with target_session_attrs=read-write finds it)"
        return Finding("database", Verdict.FAIL, f"{line} takes no writes", step)
    return Finding("database", Verdict.OK, line)


def _pgvector(seen: Examined, _: Place) -> Finding:
    version = seen.pgvector.there
    if version is None:
        if seen.pgvector.may_add:
            return Finding("pgvector", Verdict.OK, "will be added at the first start")
        step = "install it (0.8 or newer) where PostgreSQL runs, then as a superuser in this database: CREATE EXTENSION vector"
        return Finding("pgvector", Verdict.FAIL, "is not in the database", step)
    if tuple(int(part) for part in version.split(".")[:2]) < _LEAST_PGVECTOR:
        step = "install 0.8 or newer, then as its owner: ALTER EXTENSION vector UPDATE"
        return Finding("pgvector", Verdict.FAIL, f"version {version} is too old", step)
    lies_in = seen.pgvector.lies_in or "public"
    if not seen.pgvector.usable:
        line = f"version {version} lies in schema {lies_in}, which is closed to {seen.role.name}"
        step = f"as its owner: {opening(lies_in, seen.role.name)}"
        return Finding("pgvector", Verdict.FAIL, line, step)
    line = f"version {version}" + (f" in schema {lies_in}" if lies_in != "public" else "")
    return Finding("pgvector", Verdict.OK, line)


def _role(seen: Examined, _: Place) -> Finding:
    role = seen.role
    if role.rules_all or role.sees_all:
        kind = "is a superuser" if role.rules_all else "has BYPASSRLS"
        line = f"{role.name} {kind}: row-level security, the second lock between accounts, does not hold for it"
        return Finding("role", Verdict.WARN, line, "connect as a plain role that owns the schema")
    return Finding("role", Verdict.OK, f"{role.name}: row-level security holds for it")


def _rights(seen: Examined, place: Place) -> Finding | None:
    """Tell whether what is missing can be made; nothing to tell where it can."""
    role = seen.role
    if role.foreign_tables:
        line = f"{len(role.foreign_tables)} tables, the first is {role.foreign_tables[0]}, are not {role.name}'s: a newer version cannot change them"
        step = f'as their owner, for each: ALTER TABLE … OWNER TO "{role.name}"'
        return Finding("rights", Verdict.FAIL, line, step)
    if role.makes_tables or role.makes_schemas:
        return None
    line = f"{role.name} may make neither the schema {place.schema} nor tables in it"
    step = f'as a superuser in this database: CREATE SCHEMA "{place.schema}" AUTHORIZATION "{role.name}"'
    return Finding("rights", Verdict.FAIL, line, step)


def _tables(seen: Examined, place: Place) -> Finding:
    schema = seen.schema
    if schema is None:
        line = f"schema {place.schema} has none yet; the first start makes them"
        return Finding("tables", Verdict.OK, line)
    line = f"version {schema.version} in schema {place.schema}"
    if schema.version > schema.known:
        step = "install the contextfind that made them, or name another storage.db_schema"
        return Finding(
            "tables", Verdict.FAIL, f"{line}; this contextfind knows up to {schema.known}", step
        )
    if schema.version < schema.known:
        return Finding("tables", Verdict.OK, f"{line}; the next start makes it {schema.known}")
    return Finding("tables", Verdict.OK, f"{line}, {schema.position} changes")


def _row_security(seen: Examined, _: Place) -> Finding | None:
    if seen.schema is None or seen.schema.version != seen.schema.known:
        return None
    unguarded = seen.schema.unguarded
    if unguarded:
        line = f"row-level security is not forced on {', '.join(unguarded)}"
        step = "for each: ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        return Finding("row security", Verdict.WARN, line, step)
    return Finding("row security", Verdict.OK, "forced on every table with an account")


def _connections(seen: Examined, place: Place) -> Finding:
    room, each = seen.room, place.most_connections
    total = _total(room, rules_all=seen.role.rules_all)
    free = max(total - room.used, 0)
    line = (
        f"{room.used} of {total} in use, {_processes(room.living)} at work; "
        f"one takes up to {each} (storage.connections {place.connections})"
    )
    step = "raise max_connections, or lower storage.connections"
    if free < min(each, _least(place)):
        return Finding("connections", Verdict.FAIL, line, step)
    if total < each * max(room.living, 1) or (room.living == 0 and free < each):
        return Finding("connections", Verdict.WARN, line, step)
    return Finding("connections", Verdict.OK, f"{line}: room for {total // each} processes")


def _total(room: Room, *, rules_all: bool) -> int:
    """Return how many connections there may be of all who are like us."""
    total = room.most if rules_all else room.most - room.reserved
    return total if room.bound is None else min(total, room.bound)


def _least(place: Place) -> int:
    """Return how many connections a process needs to answer at all: one of each kind."""
    return min(5, place.most_connections)


def _processes(number: int) -> str:
    return f"{number} process" if number == 1 else f"{number} processes"


def _patience(seen: Examined, _: Place) -> Finding | None:
    """Tell of a server that ends sessions in which nothing is asked; nothing to tell where it does not."""
    seconds = seen.settings["idle_session_timeout"]
    if seconds == "0":
        return None
    line = f"idle_session_timeout is {seconds}: a process that only listens is taken for dead each time"
    return Finding("sessions", Verdict.WARN, line, "set it to 0 for this role: ALTER ROLE … SET")


def _durability(seen: Examined, _: Place) -> Finding | None:
    """Tell of what may lose acknowledged writes; nothing to tell where nothing does."""
    off = [name for name in _SAFE if seen.settings[name] == "off"]
    if not off:
        return None
    torn = off != ["synchronous_commit"]
    line = f"{' and '.join(off)} off: a crash of its machine may " + (
        "leave a database that cannot be used"
        if torn
        else "lose the last writes that were acknowledged"
    )
    return Finding("durability", Verdict.WARN, line, "turn on, but for data that may be lost")


def _memory(seen: Examined, _: Place) -> Finding:
    shown = seen.settings["shared_buffers"]
    size = sum(one.bytes for one in seen.schema.indexes) if seen.schema is not None else 0
    line = f"shared_buffers {shown}; index {size / _MIB:,.0f} MB"
    buffers = _bytes(shown)
    if buffers < _SMALL_BUFFERS and size > _BUFFERED * buffers:
        step = "a quarter of the machine's memory is usual; finds read what is not there from disk"
        return Finding("memory", Verdict.WARN, line, step)
    return Finding("memory", Verdict.OK, line)


def _bytes(shown: str) -> int:
    """Return a size as SHOW tells it: a number and a unit."""
    unit = shown.lstrip("0123456789")
    return int(shown.removesuffix(unit) or 0) * _UNITS.get(unit, 1)


def _indexes(schema: Schema) -> Iterator[Finding]:
    current = [one for one in schema.indexes if one.current]
    for one in current:
        yield _standing(schema, one)
    if not current and schema.version == schema.known:
        former = " in place of one of another embedder or version" if schema.indexes else ""
        yield Finding("index", Verdict.OK, f"will be built at the next start{former}")


def _standing(schema: Schema, one: Standing) -> Finding:
    behind = schema.position - one.position
    graph = "with a graph" if one.drawn else "without a graph yet"
    line = f"{one.prefix} by {schema.fingerprint}: {one.records} records, {one.vectors} vectors, {graph}"
    if behind < 0:
        step = "an older state of the tables was put back: a server, running or started, builds it anew"
        return Finding("index", Verdict.WARN, f"{line}; it stands {-behind} changes ahead", step)
    if behind > _LAGGING:
        step = "a server that runs follows; look at /ready and its log when this does not shrink"
        return Finding("index", Verdict.WARN, f"{line}; {behind} changes behind", step)
    return Finding("index", Verdict.OK, f"{line}; {behind} changes behind" if behind else line)
