"""POST content/reindex: the index built anew, or a part of it, while it answers."""

# ruff: noqa: N802 - a test is named after its case

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contextfind.config.model import EmbeddingSettings
from contextfind.server.rules import ServerRules
from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, living, town
from tests.schemas import ON_POSTGRES
from tests.stubs.embedder import Fault, Recorded, StubEmbedder
from tests.stubs.loopback import Reply, refuse

REINDEX = "/api/v1/content/reindex"
NOTES = "viking://resources/notes"


def uri(number: int) -> str:
    return f"{NOTES}/d{number % 7}/n{number}.md"


def note(number: int) -> str:
    return f"# Note {number}\n\nAll about marker{number}q and its harbour.\n"


async def filled(me: Tenant, count: int) -> None:
    await me.fill({uri(number): note(number) for number in range(count)})


async def ended(me: Tenant, task: str, seconds: float = 60.0) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            told = result_of(await me.get(f"tasks/{task}"))
            if told["status"] not in {"pending", "running"}:
                return told
            await asyncio.sleep(0.01)


async def test_the_whole_index_is_built_anew_and_lies_where_the_old_one_lay(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await filled(me, 8)
        before = (await me.find(query="harbour", limit=50)).content
        status = result_of(await me.get("system/status"))
        result = result_of(await me.post(REINDEX, {}))
        assert result["status"] == "completed"
        assert result["object_type"] == "global_namespace"
        assert result["scanned_records"] == result["rebuilt_records"] > 8
        assert (result["failed_records"], result["deleted_records"]) == (0, 0)
        assert result["warnings"] == []
        assert (await me.find(query="harbour", limit=50)).content == before
        again = result_of(await me.get("system/status"))
        assert again["index"]["records"] == status["index"]["records"]
        await me.write(uri(8), note(8))
        assert (await me.uris(query="marker8q", level=2))[0] == uri(8)
        task = result_of(await me.get(f"tasks/{result['task_id']}"))
        assert (task["task_type"], task["resource_id"]) == ("admin_reindex", "viking://")
    left = await asyncio.to_thread(lambda: [path.name for path in tmp_path.glob("index*")])
    assert left == ([] if ON_POSTGRES else ["index"])
    async with living(tmp_path) as http:
        assert (await Tenant(http).uris(query="marker8q", level=2))[0] == uri(8)


async def test_R081_finds_with_and_without_a_target_agree_while_the_index_is_built_anew(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await filled(me, 60)
        wanted = sorted(uri(number) for number in range(60))
        accepted = result_of(await me.post(REINDEX, {"wait": False}))
        assert (accepted["status"], accepted["uri"]) == ("accepted", "viking://")
        finds = 0
        task: dict[str, Any] = {"status": "pending"}
        while task["status"] in {"pending", "running"}:
            plain, scoped = await asyncio.gather(
                me.hits(query="harbour", limit=100, level=2),
                me.hits(query="harbour", limit=100, level=2, target_uri=NOTES),
            )
            assert plain == scoped
            assert sorted(hit["uri"] for hit in plain) == wanted
            finds += 1
            task = result_of(await me.get(f"tasks/{accepted['task_id']}"))
        assert task["status"] == "completed"
        assert finds > 1


async def test_what_is_written_and_deleted_meanwhile_is_there_and_gone(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await filled(me, 40)
        task = result_of(await me.post(REINDEX, {"wait": False}))["task_id"]
        for number in range(40, 60):
            await me.write(uri(number), note(number), wait=False)
            await me.remove(uri(number - 40))
        assert (await ended(me, task))["status"] == "completed"
        await me.settled()
        found = await me.uris(query="harbour", limit=100, level=2)
        assert sorted(found) == sorted(uri(number) for number in range(20, 60))


async def test_a_part_of_the_tree_is_indexed_again_for_its_owner_alone(tmp_path: Path) -> None:
    async with town(tmp_path) as place:
        ann, ben = await place.account("acme", ["ann", "ben"])
        other = await place.tenant("bolt")
        for tenant in (ann, other):
            await filled(tenant, 3)
        await ben.write("viking://user/ben/memories/m.md", "# Mine\n\nharbour\n")
        await ben.settled()
        before = (await other.find(query="harbour")).content
        mine = (await ann.find(query="harbour")).content
        result = result_of(await ann.post(REINDEX, {"uri": NOTES, "mode": "vectors_only"}))
        assert (result["uri"], result["object_type"]) == (NOTES, "resource")
        assert result["rebuilt_records"] == result["scanned_records"] > 3
        everything = result_of(await ann.post(REINDEX, {"uri": "viking://"}))
        assert everything["rebuilt_records"] > result["rebuilt_records"]
        assert (await ann.find(query="harbour")).content == mine
        assert (await other.find(query="harbour")).content == before
        denied = await ann.post(REINDEX, {"uri": "viking://user/ben"})
        error_of(denied, 403, "PERMISSION_DENIED")
        error_of(await ann.post(REINDEX, {"uri": "file:///etc"}), 400, "INVALID_URI")
        assert (
            "mode"
            in error_of(await ann.post(REINDEX, {"mode": "all"}), 400, "INVALID_ARGUMENT")[
                "message"
            ]
        )


async def test_R118_one_account_reindexes_and_another_stays_as_it_is_byte_for_byte(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as place:
        acme, bolt = await place.tenant("acme"), await place.tenant("bolt")
        for tenant in (acme, bolt):
            await tenant.write("viking://resources/x.md", "# X\n\nThe harbour of x.\n")
            await tenant.settled()
        read = (await bolt.get("content/read", uri="viking://resources/x.md")).content
        found = (await bolt.find(query="harbour", read_content=True)).content
        result_of(await acme.post(REINDEX, {"uri": "viking://resources"}))
        await acme.remove("viking://resources/x.md")
        assert (await bolt.get("content/read", uri="viking://resources/x.md")).content == read
        assert (await bolt.find(query="harbour", read_content=True)).content == found


async def test_R040_tags_stay_and_make_no_records_when_everything_is_indexed_again(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await filled(me, 3)
        for number in range(3):
            tagged = {"uri": uri(number), "tags": ["team=search"], "mode": "replace"}
            result_of(await me.post("/api/v1/fs/attrs/set_tags", tagged))
        await me.settled()
        counts = result_of(await me.get("system/status"))["counts"]
        result_of(await me.post(REINDEX, {}))
        found = await me.hits(query="json tags team search", limit=50)
        assert {hit["uri"].rpartition(".")[2] for hit in found if hit["level"] == 2} <= {"md"}
        tagged_ones = await me.uris(query="harbour", tags=["team=search"], level=2)
        assert sorted(tagged_ones) == sorted(uri(number) for number in range(3))
        assert result_of(await me.get("system/status"))["counts"] == counts


async def test_summaries_are_written_again_when_that_is_asked_for(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await filled(me, 3)
        before = result_of(await me.get("content/overview", uri=NOTES))
        asked = {"uri": NOTES, "mode": "semantic_and_vectors"}
        assert result_of(await me.post(REINDEX, asked))["status"] == "completed"
        assert result_of(await me.get("content/overview", uri=NOTES)) == before


async def test_there_is_never_anything_to_prune(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        dry = result_of(await me.post(REINDEX, {"mode": "prune_orphans", "dry_run": True}))
        assert (dry["status"], dry["would_delete_records"]) == ("completed", 0)
        wet = result_of(await me.post(REINDEX, {"mode": "prune_orphans"}))
        assert (wet["deleted_records"], wet["scanned_records"]) == (0, 0)


@pytest.mark.parametrize("mode", ["vectors_only", "semantic_and_vectors", "prune_orphans"])
async def test_a_dry_run_counts_and_changes_nothing(tmp_path: Path, mode: str) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await filled(me, 3)
        before = result_of(await me.get("system/status"))["index"]
        dry = result_of(await me.post(REINDEX, {"uri": NOTES, "mode": mode, "dry_run": True}))
        assert dry["scanned_records"] > 3
        counts = {"rebuilt_records": 0, "failed_records": 0, "would_delete_records": 0}
        assert {name: dry[name] for name in counts} == counts
        assert (dry["status"], dry["mode"], dry["uri"]) == ("completed", mode, NOTES)
        assert "task_id" not in dry
        assert result_of(await me.get("tasks")) == []
        assert result_of(await me.get("system/status"))["index"]["position"] == before["position"]
        wet = result_of(await me.post(REINDEX, {"uri": NOTES, "mode": mode}))
        assert wet["scanned_records"] == dry["scanned_records"]


async def test_fields_without_an_effect_are_named(tmp_path: Path) -> None:
    async with living(tmp_path) as http:
        answer = await Tenant(http).post(REINDEX, {"tags": ["a=b"], "recursive": True})
        assert result_of(answer)["status"] == "completed"
        assert answer.headers["X-Ignored-Fields"] == "recursive,tags"


async def test_the_same_address_twice_at_once_is_a_conflict(tmp_path: Path) -> None:
    async with living(tmp_path, ServerRules()) as http:
        me = Tenant(http)
        await filled(me, 5)
        one, two = await asyncio.gather(
            *(me.post(REINDEX, {"uri": NOTES, "wait": False}) for _ in range(2))
        )
        answers = sorted((one, two), key=lambda answer: answer.status_code)
        task = result_of(answers[0])["task_id"]
        if answers[1].status_code == 200:  # the first had ended before
            assert (await ended(me, task))["status"] == "completed"
        else:
            told = error_of(answers[1], 409, "CONFLICT")
            assert told["details"] == {"retryable": True, "task_id": task}


class PickyEmbedder(StubEmbedder):
    """Refuses texts that it does not like, as some providers do."""

    def _right_or_wrong(self, request: Recorded, fault: Fault) -> Reply:
        if any(text.strip().endswith("poison") for text in request.texts):
            return refuse(400, "this text is against the rules")
        return super()._right_or_wrong(request, fault)


async def test_R058_what_the_embedder_refuses_is_counted_and_named_and_all_else_is_found(
    tmp_path: Path,
) -> None:
    with closing(PickyEmbedder()) as stub:
        remote = {"provider": "openai", "model": "m", "api_base": stub.base_url}
        embedding = EmbeddingSettings.model_validate(remote)
        async with living(tmp_path, embedding=embedding) as http:
            me = Tenant(http)
            for number in range(10):
                text = "poison" if number < 3 else "harbour"
                await me.write(f"{NOTES}/n{number}.md", f"marker{number}q {text}", wait=False)
            result = result_of(await me.post(REINDEX, {"uri": NOTES}))
            named = [line for line in result["warnings"] if line.startswith("no vector yet: ")]
            assert named == [f"no vector yet: {NOTES}/n{number}.md" for number in range(3)]
            assert result["failed_records"] == 3
            assert result["rebuilt_records"] + result["failed_records"] == result["scanned_records"]
            for number in range(10):
                found = await me.uris(query=f"marker{number}q", level=2)
                assert f"{NOTES}/n{number}.md" in found
