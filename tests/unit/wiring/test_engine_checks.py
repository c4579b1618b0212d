"""What `contextfind doctor` says of a real PostgreSQL, and of Qdrant behind its wire."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from contextfind.adapters.postgres.examination import Examined, Room, examined
from contextfind.adapters.postgres.place import Place
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.config.storage import IndexSettings, QdrantSettings, StorageSettings
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity
from contextfind.domain.uri import Uri
from contextfind.wiring import House, postgres_checks
from contextfind.wiring.engine_checks import check_engines
from contextfind.wiring.findings import Finding, Verdict
from tests import databases
from tests.clusters import MEMORY
from tests.stubs.qdrant_http import serving
from tests.stubs.qdrant_server import QdrantServer
from tests.unit.cli.calling import call

UNREACHABLE = "postgresql://ann:secret@127.0.0.1:9/nowhere"
PATIENCE = 60.0


def settings_for(place: Place, **storage: object) -> Settings:
    fields: dict[str, object] = {
        "backend": "postgres",
        "dsn": place.dsn,
        "db_schema": place.schema,
        "connections": place.connections,
        **storage,
    }
    return Settings(
        storage=StorageSettings.model_validate(fields),
        embedding=EmbeddingSettings(provider="hash"),
    )


def named(findings: list[Finding]) -> dict[str, Finding]:
    assert len({finding.what for finding in findings}) == len(findings)
    return {finding.what: finding for finding in findings}


async def looked_at(place: Place, **storage: object) -> dict[str, Finding]:
    return named(await check_engines(settings_for(place, **storage)))


async def fill(settings: Settings) -> None:
    """Write a file, and wait until it can be found."""
    who = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
    async with House.open(settings) as house:
        await house.writer.write(who, Uri("viking://resources/a.md"), "quokka", "create")
        await house.settling.settle(DEFAULT_ACCOUNT, None, PATIENCE)


@pytest.fixture
def place() -> Iterator[Place]:
    where = databases.place()
    yield where
    databases.drop(where.schema)


def changed(place: Place, statement: str) -> None:
    databases.execute(f'SET search_path = "{place.schema}", public; {statement}', place.dsn)


async def seen_by(monkeypatch: pytest.MonkeyPatch, place: Place, **fields: object) -> Finding:
    """Return the first finding that is not OK when a look sees something else than there is."""
    seen = await examined(place)
    pretended = replace(seen, **fields)  # type: ignore[arg-type]

    async def pretend(_: Place) -> Examined:
        return pretended

    monkeypatch.setattr(postgres_checks, "examined", pretend)
    found = await check_engines(settings_for(place))
    return next(f for f in found if f.verdict is not Verdict.OK and f.what != "durability")


async def test_a_database_without_tables_is_fine_and_none_are_made(place: Place) -> None:
    found = await looked_at(place)
    assert found["database"].verdict is Verdict.OK
    assert found["database"].line.startswith("PostgreSQL ")
    assert found["tables"].line == (
        f"schema {place.schema} has none yet; the first start makes them"
    )
    assert found["pgvector"].verdict is Verdict.OK
    assert "index" not in found
    seen = await examined(place)
    assert seen.schema is None


async def test_a_deployment_is_told_whole(place: Place) -> None:
    await fill(settings_for(place))
    found = await looked_at(place)
    wrong = {what for what, one in found.items() if one.verdict is not Verdict.OK}
    assert wrong == {"durability"}  # the tests' server does not sync
    assert "fsync and full_page_writes and synchronous_commit off" in found["durability"].line
    assert found["row security"].line == "forced on every table with an account"
    assert "0 processes at work" in found["connections"].line
    assert found["index"].line.startswith("index_")
    assert "by hash" in found["index"].line
    assert "behind" not in found["index"].line
    assert re.match(r"shared_buffers \d+[MG]B; index \d", found["memory"].line)


async def test_a_running_process_is_counted(place: Place) -> None:
    async with House.open(settings_for(place)):
        found = await looked_at(place)
    assert "1 process at work" in found["connections"].line
    assert f"one takes up to {place.most_connections} " in found["connections"].line


def test_both_pools_the_searches_the_bell_and_the_locks_are_counted(place: Place) -> None:
    assert replace(place, connections=16).most_connections == 38


async def test_who_does_not_answer_is_named_without_the_password() -> None:
    (finding,) = await check_engines(settings_for(Place(UNREACHABLE), timeout=2))
    assert finding.verdict is Verdict.FAIL
    assert "127.0.0.1:9/nowhere" in finding.line
    assert "secret" not in finding.line + finding.next_step
    assert "pg_hba.conf" in finding.next_step


async def test_a_connection_string_that_is_none_is_not_repeated() -> None:
    settings = Settings(storage=StorageSettings(backend="postgres", dsn="my secret words"))
    (finding,) = await check_engines(settings)
    assert finding.verdict is Verdict.FAIL
    assert "postgresql://user:password@host:5432/name" in finding.line
    assert "secret" not in finding.line


async def test_the_role_of_a_superuser_is_a_warning(place: Place) -> None:
    admin = conninfo.make_conninfo(place.dsn, user="postgres")
    with psycopg.connect(admin) as connection:
        row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        if row.fetchone() != (True,):
            pytest.skip("the server of this run has no superuser of that name")
    found = await looked_at(replace(place, dsn=admin))
    assert found["role"].verdict is Verdict.WARN
    assert "is a superuser" in found["role"].line


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"rules_all": True}, "is a superuser"), ({"sees_all": True}, "has BYPASSRLS")],
)
async def test_a_role_that_sees_everything_is_a_warning(
    place: Place, monkeypatch: pytest.MonkeyPatch, fields: dict[str, bool], told: str
) -> None:
    role = (await examined(place)).role
    finding = await seen_by(monkeypatch, place, role=replace(role, **fields))  # type: ignore[arg-type]
    assert (finding.what, finding.verdict) == ("role", Verdict.WARN)
    assert told in finding.line


async def test_a_table_without_the_second_lock_is_a_warning(place: Place) -> None:
    await fill(settings_for(place))
    changed(place, "ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY")
    changed(place, "ALTER TABLE vectors DISABLE ROW LEVEL SECURITY")
    finding = (await looked_at(place))["row security"]
    assert finding.verdict is Verdict.WARN
    assert "sessions, vectors" in finding.line


async def test_tables_of_a_newer_version_are_a_failure(place: Place) -> None:
    await fill(settings_for(place))
    changed(place, "UPDATE schema_version SET version = 99")
    found = await looked_at(place)
    assert found["tables"].verdict is Verdict.FAIL
    assert "version 99" in found["tables"].line


async def test_an_index_that_does_not_belong_to_the_log(place: Place) -> None:
    await fill(settings_for(place))
    changed(place, "UPDATE head SET position = position + 5000")
    behind = (await looked_at(place))["index"]
    assert behind.verdict is Verdict.WARN
    assert "5000 changes behind" in behind.line
    changed(place, "UPDATE head SET position = 0")
    assert (await looked_at(place))["index"].verdict is Verdict.WARN
    changed(place, "UPDATE meta SET value = 'another' WHERE key = 'embedder_fingerprint'")
    other = (await looked_at(place))["index"]
    assert other.line == (
        "will be built at the next start in place of one of another embedder or version"
    )


async def test_who_may_make_nothing_is_told_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = (await examined(place)).role
    none = replace(role, makes_schemas=False, makes_tables=False)
    finding = await seen_by(monkeypatch, place, role=none)
    assert (finding.what, finding.verdict) == ("rights", Verdict.FAIL)
    assert "CREATE SCHEMA" in finding.next_step


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("server_version_num", "150006", "16 or newer"),
        ("server_encoding", "LATIN1", "UTF8"),
        ("transaction_read_only", "on", "primary"),
    ],
)
async def test_a_server_that_does_not_do_is_a_failure(
    place: Place, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, told: str
) -> None:
    settings = dict((await examined(place)).settings)
    finding = await seen_by(monkeypatch, place, settings={**settings, setting: value})
    assert (finding.what, finding.verdict) == ("database", Verdict.FAIL)
    assert told in finding.next_step


async def test_a_server_that_ends_idle_sessions_is_a_warning(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**(await examined(place)).settings, "idle_session_timeout": "1min"}
    finding = await seen_by(monkeypatch, place, settings=settings)
    assert (finding.what, finding.verdict) == ("sessions", Verdict.WARN)
    assert "1min" in finding.line


@pytest.mark.parametrize("there", ["0.7.4", None])
async def test_pgvector_that_is_old_or_missing_is_a_failure(
    place: Place, monkeypatch: pytest.MonkeyPatch, there: str | None
) -> None:
    pgvector = replace((await examined(place)).pgvector, there=there, may_add=False)
    finding = await seen_by(monkeypatch, place, pgvector=pgvector)
    assert (finding.what, finding.verdict) == ("pgvector", Verdict.FAIL)
    assert "0.8 or newer" in finding.next_step


async def test_pgvector_in_a_schema_that_is_closed_to_us(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    pgvector = replace((await examined(place)).pgvector, lies_in="extensions", usable=False)
    finding = await seen_by(monkeypatch, place, pgvector=pgvector)
    assert (finding.what, finding.verdict) == ("pgvector", Verdict.FAIL)
    assert 'GRANT USAGE ON SCHEMA "extensions" TO "contextfind"' in finding.next_step


@pytest.mark.parametrize(
    ("room", "verdict"),
    [
        (Room(most=100, reserved=3, bound=None, used=96, living=0), Verdict.FAIL),
        (Room(most=100, reserved=3, bound=20, used=20, living=1), Verdict.FAIL),
        (Room(most=40, reserved=3, bound=None, used=10, living=3), Verdict.WARN),
    ],
)
async def test_too_few_connections(
    place: Place, monkeypatch: pytest.MonkeyPatch, room: Room, verdict: Verdict
) -> None:
    finding = await seen_by(monkeypatch, place, room=room)
    assert (finding.what, finding.verdict) == ("connections", verdict)
    assert "max_connections" in finding.next_step


async def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError(name="psycopg")

    monkeypatch.setattr("importlib.import_module", missing)
    (finding,) = await check_engines(settings_for(Place(UNREACHABLE)))
    assert finding.verdict is Verdict.FAIL
    assert "pip install 'contextfind[postgres]'" in finding.line


async def test_a_data_directory_needs_no_engine(tmp_path: Path) -> None:
    assert await check_engines(Settings(storage=StorageSettings(path=str(tmp_path)))) == []


@contextmanager
def qdrant() -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as home, serving(QdrantServer(Path(home))) as url:
        yield url


def on_qdrant(settings: Settings, url: str) -> Settings:
    parts = {
        "index": IndexSettings(backend="qdrant"),
        "qdrant": QdrantSettings(url=url, timeout=5),
    }
    return settings.model_copy(update=parts)


async def test_a_cluster_and_what_lies_there(place: Place) -> None:
    with qdrant() as url:
        settings = on_qdrant(settings_for(place), url)
        empty = named(await check_engines(settings))
        assert empty["qdrant"].line == f"Qdrant 1.20.0 at {url}"
        assert "built at the next start" in empty["index"].line
        await fill(settings)
        full = named(await check_engines(settings))
        assert full["index"].verdict is Verdict.OK
        assert full["index"].line.startswith("contextfind-")
        assert "is green" in full["index"].line
        assert "behind" not in full["index"].line
        changed(place, "UPDATE head SET position = position + 5000")
        assert named(await check_engines(settings))["index"].verdict is Verdict.WARN


async def test_a_cluster_that_is_down_or_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(storage=StorageSettings(path=str(tmp_path)))
    (down,) = await check_engines(on_qdrant(settings, "http://127.0.0.1:9"))
    assert (down.what, down.verdict) == ("qdrant", Verdict.FAIL)
    assert "qdrant.url" in down.next_step
    monkeypatch.setattr("contextfind.adapters.qdrant.collections.LEAST_VERSION", (9, 9))
    with qdrant() as url:
        (old,) = await check_engines(on_qdrant(settings, url))
    assert old.verdict is Verdict.FAIL
    assert "9.9 or newer is needed" in old.line


def test_doctor_tells_it_on_the_screen_and_as_json(place: Place) -> None:
    environment = {
        "CONTEXTFIND_EMBEDDING__PROVIDER": "hash",
        "CONTEXTFIND_STORAGE__BACKEND": "postgres",
        "CONTEXTFIND_STORAGE__DSN": place.dsn,
        "CONTEXTFIND_STORAGE__DB_SCHEMA": place.schema,
        "CONTEXTFIND_PORT": "0",
        "HOME": os.environ["HOME"],
    }
    told = call("doctor", env=environment)
    assert told.exit_code == 0, told.stdout
    assert "ok   database" in told.stdout
    failed = call("doctor", "--json", env={**environment, "CONTEXTFIND_STORAGE__DSN": UNREACHABLE})
    assert failed.exit_code == 1
    assert '"database"' in failed.stdout
    assert "secret" not in failed.stdout
