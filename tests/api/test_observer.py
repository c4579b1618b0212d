"""observer/*, stats/memories and system/consistency before a real house: dev mode, root, and users."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from contextfind.config.model import EmbeddingSettings
from tests.api.caller import error_of, result_of
from tests.api.living import ROOT_KEY, Tenant, Town, living, town
from tests.stubs.embedder import Fault, stub_embedder

COMPONENTS = ["queue", "vikingdb", "models", "lock", "retrieval", "filesystem"]
CONSISTENCY = "/api/v1/system/consistency"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("observer")) as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def people(place) -> tuple[Tenant, Tenant]:
    """Ann with three files, two of them memories, and Eve of another account with none."""
    ann = await place.tenant("observed")
    await ann.fill(
        {
            "viking://resources/a.md": "quokka",
            "viking://~/memories/preferences/p.md": "likes quokkas",
            "viking://agent/memories/x.md": "agents like quokkas",
        }
    )
    return ann, await place.tenant("empty")


async def seen(who: Tenant, name: str, **params: str):
    return result_of(await who.get(f"observer/{name}", **params))


async def facts(who: Tenant, name: str):
    return (await seen(who, name, format="json"))["status"]


async def test_the_system_has_the_parts_that_clients_look_for(people):
    for who in people:
        shown = await seen(who, "system")
        assert (shown["is_healthy"], shown["errors"]) == (True, [])
        assert [name for name in shown["components"] if name != "workers"] == COMPONENTS
        for name, component in shown["components"].items():
            assert (component["name"], component["is_healthy"]) == (name, True)
            assert component["has_errors"] is False
            assert component["status"].startswith("+--")


@pytest.mark.parametrize("name", COMPONENTS)
async def test_each_part_can_be_asked_for_alone(people, name):
    ann, _ = people
    shown = await seen(ann, name)
    assert (shown["name"], shown["is_healthy"], shown["has_errors"]) == (name, True, False)
    rows = shown["status"].splitlines()
    assert len({len(row) for row in rows}) == 1
    assert isinstance((await seen(ann, name, format="json"))["status"], dict)


async def test_users_are_told_of_what_is_theirs(people):
    ann, eve = people
    assert (await facts(ann, "filesystem"))["Files"] == 3
    assert (await facts(eve, "filesystem"))["Files"] == 0
    assert (await facts(eve, "vikingdb"))["Account"] == "empty"
    assert (await facts(eve, "vikingdb"))["Records"] == 0
    told = await seen(eve, "system", format="json")
    text = str(told["components"])
    assert "index_" not in text
    assert "observed" not in text
    assert "Requests" not in text
    assert "Bytes" not in text


async def test_root_is_told_of_all_together(place, people):
    root = Tenant(place.http, ROOT_KEY)
    assert (await facts(root, "filesystem"))["Files"] >= 3
    assert (await facts(root, "vikingdb"))["Account"] == "all"
    assert "index_rows" in await facts(root, "vikingdb")
    await people[0].find(query="quokka")
    assert (await facts(root, "retrieval"))["Total Queries"] > 0
    assert "Requests waiting" in await facts(root, "lock")
    assert (await facts(root, "filesystem"))["Bytes of database"] > 0
    error_of(await root.get("stats/memories"), 403, "PERMISSION_DENIED")
    error_of(await root.post(CONSISTENCY, {}), 403, "PERMISSION_DENIED")


async def test_a_part_nobody_knows_and_a_format_are_refused(people):
    ann, _ = people
    error_of(await ann.get("observer/nope"), 400, "INVALID_ARGUMENT")
    error_of(await ann.get("observer/queue", format="xml"), 400, "INVALID_ARGUMENT")


async def test_memories_are_counted_as_the_caller_sees_them(people):
    ann, eve = people
    await ann.get("content/read", uri="viking://~/memories/preferences/p.md")
    shown = result_of(await ann.get("stats/memories"))
    assert shown["total_memories"] == 2
    assert shown["by_category"]["preferences"] == 1
    assert shown["by_category"]["events"] == 0
    assert shown["staleness"]["oldest_memory_age_days"] == 0
    assert sum(shown["hotness_distribution"].values()) == 2
    nothing = result_of(await eve.get("stats/memories"))
    assert nothing["total_memories"] == 0
    assert nothing["staleness"]["oldest_memory_age_days"] is None


async def test_what_is_stored_is_compared_with_what_finds_know(people):
    ann, eve = people
    await ann.settled()
    shown = result_of(await ann.post(CONSISTENCY, {"uri": "viking://resources"}))
    assert (shown["ok"], shown["missing_records"], shown["index_lag"]) == (True, [], 0)
    assert shown["expected_count"] >= 1
    assert result_of(await eve.post(CONSISTENCY, {"uri": "viking://~"}))["expected_count"] == 0
    for uri, status, code in (
        ("x", 400, "INVALID_URI"),
        ("viking://resources/none", 404, "NOT_FOUND"),
        ("viking://user/eve", 403, "PERMISSION_DENIED"),
    ):
        error_of(await ann.post(CONSISTENCY, {"uri": uri}), status, code)


async def test_an_embedder_that_fails_is_an_error_of_what_waits_for_it(tmp_path):
    with stub_embedder() as stub:
        remote = EmbeddingSettings(provider="openai", model="m", api_base=stub.base_url)
        async with living(tmp_path, embedding=remote) as http:
            me = Tenant(http)
            stub.always = Fault(401)
            await me.write("viking://resources/a.md", "quokka", wait=False)
            await me.post("/api/v1/system/wait", {"timeout": 20})
            shown = await seen(me, "system", format="json")
            assert shown["is_healthy"] is False
            assert any(line.startswith("queue: embedder") for line in shown["errors"])
            assert shown["components"]["queue"]["status"]["Embedding pending"] > 0
            assert shown["components"]["models"]["has_errors"] is True
            missing = result_of(await me.post(CONSISTENCY, {"uri": "viking://resources"}))
            assert missing["ok"] is False
            assert "viking://resources/a.md" in missing["missing_records"]
