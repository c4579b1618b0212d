"""Any page of the database spoilt: nothing hangs, nothing is an internal error, and who is hit is told what to do."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest

from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.cli.deep import check_data
from contextfind.config.model import Settings
from contextfind.config.storage import StorageSettings
from contextfind.domain.errors import DamagedError
from contextfind.wiring.findings import Verdict
from tests.api.living import Tenant, Town, town
from tests.damage import PAGE
from tests.schemas import directory_only

NOTES = "viking://resources/notes"
ACCOUNTS = ("acme", "bolt")
FILES = 30
PADDING = "padding " * 300  # some three quarters of a page for each file
SECONDS = 60.0  # for one write to be answered; below one where nothing is spoilt

pytestmark = [pytest.mark.slow, directory_only]

Damage = Callable[[bytearray, int, random.Random], None]


def uri(number: int) -> str:
    return f"{NOTES}/n{number}.md"


def empty_the_head(data: bytearray, page: int, chance: random.Random) -> None:
    del chance
    data[page * PAGE : page * PAGE + 200] = bytes(200)


def garble_some(data: bytearray, page: int, chance: random.Random) -> None:
    place = page * PAGE + chance.randrange(PAGE - 64)
    data[place : place + 64] = chance.randbytes(64)


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Mapping[str, Mapping[str, str]]]:
    """Return a data directory, and the keys of both accounts."""
    directory = tmp_path_factory.mktemp("filled") / "data"
    keys: dict[str, Mapping[str, str]] = {}

    async def fill() -> None:
        async with town(directory) as place:
            for name in ACCOUNTS:
                tenant = await place.tenant(name)
                keys[name] = tenant.key
                texts = {uri(n): f"# {name} {n}\n\n{name}-{n}q {PADDING}\n" for n in range(FILES)}
                await tenant.fill(texts)

    asyncio.run(fill())
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return directory, keys


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[Town | None]:
    """Give the server, None where the file is so damaged that it refuses and says what to do."""
    async with AsyncExitStack() as stack:
        place, told = None, "doctor --deep"
        try:
            place = await stack.enter_async_context(town(directory))
        except DamagedError as refusal:
            told = str(refusal)
        assert "doctor --deep" in told
        yield place


def check(answer: httpx.Response) -> None:
    """Hold an answer to what it may be."""
    if answer.status_code != 200:
        assert answer.status_code == 503, answer.text
        assert answer.json()["error"]["details"]["retryable"] is False
        assert "doctor --deep" in answer.text or "is lost" in answer.text


async def ask(tenant: Tenant, name: str) -> None:
    for number in (0, FILES // 2, FILES - 1):
        check(await tenant.find(query=f"{name}-{number}q", level=2))
        check(await tenant.get("content/read", uri=uri(number)))
    check(await tenant.get("fs/ls", uri=NOTES))
    check(await tenant.get("system/status"))
    body = {"uri": uri(FILES), "content": "# New\n\nnew\n", "wait": True}
    async with asyncio.timeout(SECONDS):
        check(await tenant.post("/api/v1/content/write", body))


@pytest.mark.parametrize("damage", [empty_the_head, garble_some])
@pytest.mark.parametrize("seed", range(20))
async def test_no_page_locks_anybody_out(
    filled: tuple[Path, Mapping[str, Mapping[str, str]]],
    tmp_path: Path,
    damage: Damage,
    seed: int,
) -> None:
    whole, keys = filled
    directory = shutil.copytree(whole, tmp_path / "data")
    chance = random.Random(seed)  # noqa: S311
    data = bytearray((directory / FILE_NAME).read_bytes())
    page = chance.randrange(1, len(data) // PAGE)
    damage(data, page, chance)
    (directory / FILE_NAME).write_bytes(data)
    if seed % 2:
        (directory / "index" / "manifest.json").unlink()
    settings = Settings(storage=StorageSettings(path=str(directory)))
    findings = await asyncio.to_thread(check_data, settings)
    if damage is empty_the_head:
        assert any(finding.verdict is Verdict.FAIL for finding in findings), page
    async with opened(directory) as place:
        if place is not None:
            for name in ACCOUNTS:
                await ask(Tenant(place.http, keys[name]), name)
