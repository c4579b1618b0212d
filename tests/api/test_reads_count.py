"""Reading counts as a use; a real house, so counts are written behind the answers."""

import asyncio
from pathlib import Path
from typing import Any

from tests.api.living import Tenant, living

PAGE, OTHER = "viking://resources/ops/rollback.md", "viking://resources/ops/backup.md"
FILES = {PAGE: "Roll back with the zebra switch.", OTHER: "Backups of the zebra run at night."}
USED: dict[str, Any] = {"op": "range", "field": "active_count", "gte": 1}


async def used(tenant: Tenant) -> set[str]:
    """Return the files that were used at least once."""
    return set(await tenant.uris(filter=USED, level=2))


async def until_used(tenant: Tenant, uris: set[str]) -> None:
    async with asyncio.timeout(30):
        while await used(tenant) != uris:  # noqa: ASYNC110 - over HTTP there is no bell
            await asyncio.sleep(0.05)


async def test_a_filter_on_active_count_sees_what_was_read(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        tenant = Tenant(http)
        await tenant.fill(FILES)
        assert await used(tenant) == set()
        await tenant.get("content/read", uri=PAGE)
        await until_used(tenant, {PAGE})
        await tenant.get("content/abstract", uri=OTHER)
        await until_used(tenant, {PAGE, OTHER})


async def test_what_was_read_just_before_the_end_is_counted(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        tenant = Tenant(http)
        await tenant.fill(FILES)
        await tenant.get("content/read", uri=PAGE)
    async with living(tmp_path) as http:
        assert await used(Tenant(http)) == {PAGE}


async def test_by_default_a_find_answers_the_same_bytes_however_often_its_hits_were_used(
    tmp_path: Path,
) -> None:
    asked: dict[str, Any] = {"query": "zebra switch", "include_provenance": True}
    async with living(tmp_path) as http:
        tenant = Tenant(http)
        await tenant.fill(FILES)
        before = (await tenant.find(**asked)).content
        for _ in range(3):
            await tenant.get("content/read", uri=OTHER)
        await until_used(tenant, {OTHER})
        assert (await tenant.find(**asked)).content == before
