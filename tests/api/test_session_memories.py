"""From a conversation to memories that are found: the real house, the real HTTP, a stub for a model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contextfind.config.chat import ChatSettings
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from contextfind.wiring import House
from tests.api.caller import calling, result_of
from tests.api.living import Tenant, Town, Watch
from tests.backends import storage_in
from tests.stubs.chat import (
    BROKEN,
    CUT,
    EMPTY,
    FORBIDDEN,
    PROSE,
    Asked,
    StubChat,
    Turn,
    say,
    stub_chat,
)

TOP = "viking://user/ann/memories"
SAYING = "I always drink oolong from the blue pot"
TEA = {
    "kind": "preference",
    "title": "Favourite tea",
    "text": "Ann always drinks oolong from the blue pot.",
    "date": "",
    "updates": "",
}
HOME = TEA | {"kind": "fact", "title": "Home", "text": "Ann lives in Lyon."}
SUMMARY = say({"abstract": "About tea.", "overview": "Ann spoke about tea."})
TELL = Callable[[Asked], Turn]


def wants_memories(asked: Asked) -> bool:
    return '"memories"' in json.dumps(asked.body.get("response_format"))


def told(asked: Asked) -> dict[str, Any]:
    found = json.loads(asked.messages[1][1])
    assert isinstance(found, dict)
    return found


class Model:
    """Gives memories where they are asked for, and a summary for all else."""

    def __init__(self, memories: Sequence[object] | Turn) -> None:
        self.memories = memories
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Turn:
        if not wants_memories(asked):
            return SUMMARY
        self.asked.append(asked)
        if isinstance(self.memories, Turn):
            return self.memories
        return say({"memories": self.memories})


@pytest.fixture
def model() -> Model:
    return Model([TEA])


@pytest.fixture
def stub(model: Model) -> Iterator[StubChat]:
    with stub_chat(model) as stub:
        yield stub


@asynccontextmanager
async def town(data: Path, stub: StubChat | None, concurrency: int = 4) -> AsyncIterator[Town]:
    chat = ChatSettings()
    if stub is not None:
        chat = ChatSettings(model="m", api_base=stub.base_url, concurrency=concurrency)
    settings = Settings(
        storage=storage_in(data),
        embedding=EmbeddingSettings(provider="hash"),
        vlm=chat,
    )
    rules = ServerRules(root_api_key="root")
    async with calling(create_app(lambda: House.open(settings), rules)) as http:
        yield Town(http, Watch())


async def tell(tenant: Tenant, session: str, *texts: str, **more: str) -> None:
    for text in texts:
        body = {"role": "user", "content": text, **more}
        result_of(await tenant.post(f"/api/v1/sessions/{session}/messages", body))


async def commit(tenant: Tenant, session: str) -> Mapping[str, Any]:
    """Commit, wait until the task has ended, and return it."""
    started = result_of(await tenant.post(f"/api/v1/sessions/{session}/commit", {}))
    while True:
        task = result_of(await tenant.get(f"tasks/{started['task_id']}"))
        if task["status"] not in {"pending", "running"}:
            assert isinstance(task, Mapping)
            return task
        await asyncio.sleep(0.02)


async def memories(tenant: Tenant, user: str = "ann") -> list[str]:
    top = f"viking://user/{user}/memories"
    listed = await tenant.get("fs/ls", uri=top, recursive="true")
    return [line["uri"].removeprefix(f"{top}/") for line in result_of(listed) if not line["isDir"]]


async def test_R019_the_memory_is_first_and_no_log_of_the_session_is_found(  # noqa: N802
    tmp_path: Path, stub: StubChat
) -> None:
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", SAYING, "What else is there?")
        task = await commit(ann, "s1")
        assert task["status"] == "completed"
        assert task["result"]["memories_extracted"]["created"] == 1
        hits = await ann.hits(query=SAYING)
        assert hits[0]["uri"] == f"{TOP}/preferences/favourite-tea.md"
        assert hits[0]["context_type"] == "memory"
        summaries = {f"viking://user/ann/.{name}.md" for name in ("abstract", "overview")}
        others = {hit["uri"] for hit in hits if not hit["uri"].startswith(TOP)}
        assert others <= summaries  # which may be there by now
        session = result_of(await ann.get("sessions/s1"))
        assert session["memories_extracted"]["total"] == 1


async def test_R095_two_commits_at_once_of_the_same_message_give_one_memory(  # noqa: N802
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        for session in ("a", "b"):
            await tell(ann, session, SAYING)
        tasks = await asyncio.gather(*(commit(ann, session) for session in ("a", "b")))
        created = [task["result"]["memories_extracted"]["created"] for task in tasks]
        assert sorted(created) == [0, 1]
        assert await memories(ann) == ["preferences/favourite-tea.md"]
    assert [len(told(asked)["known"]) for asked in model.asked] == [0, 1]


async def test_R138_the_same_message_twice_is_told_once_and_remembered_once(  # noqa: N802
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", SAYING, id="m1")
        await asyncio.gather(*(tell(ann, "s1", SAYING, id="m1") for _ in range(4)))
        await commit(ann, "s1")
        assert await memories(ann) == ["preferences/favourite-tea.md"]
    (asked,) = model.asked
    assert [one["text"] for one in told(asked)["messages"]] == [SAYING]


async def test_R134_what_failed_at_the_first_commit_is_there_after_the_second(  # noqa: N802
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", SAYING)
        model.memories = BROKEN
        await commit(ann, "s1")
        assert await ann.hits(query=SAYING) == []
        between = await ann.get("sessions/s1/archives/archive_001")
        assert SAYING in json.dumps(result_of(between))
        model.memories = [TEA]
        await commit(ann, "s1")
        assert await memories(ann) == ["preferences/favourite-tea.md"]


async def test_R136_two_of_three_are_stored_and_one_is_reported(  # noqa: N802
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    model.memories = [TEA, {"kind": "fact", "title": "Dog"}, HOME]
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", SAYING)
        result = (await commit(ann, "s1"))["result"]
        assert await memories(ann) == ["facts/home.md", "preferences/favourite-tea.md"]
        assert result["memories_extracted"]["created"] == 2
        assert "memory 2 of the answer: `text` is missing" in json.dumps(result)


@pytest.mark.parametrize("turn", [PROSE, CUT, EMPTY, FORBIDDEN])
async def test_a_model_without_a_usable_answer_costs_the_memories_only(
    tmp_path: Path, stub: StubChat, model: Model, turn: Turn
) -> None:
    model.memories = turn
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", SAYING)
        assert (await commit(ann, "s1"))["status"] == "completed"
        assert await ann.hits(query=SAYING) == []
        archived = result_of(await ann.get("sessions/s1/archives/archive_001"))
        assert "About tea." in json.dumps(archived)


async def test_the_same_fact_is_updated_and_its_old_words_are_not_found(
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    model.memories = [HOME]
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", "I live in Lyon")
        await commit(ann, "s1")
        address = f"{TOP}/facts/home.md"
        model.memories = [
            HOME | {"title": "Where she lives", "text": "Ann lives in Nantes.", "updates": address}
        ]
        await tell(ann, "s2", "I moved to Nantes")
        result = (await commit(ann, "s2"))["result"]
        assert result["memories_extracted"]["updated"] == 1
        assert await memories(ann) == ["facts/home.md"]
        assert "Ann lives in Nantes." in result_of(await ann.get("content/read", uri=address))
        hits = await ann.hits(query="Where does Ann live?", level=2)
        assert ["Lyon" in hit["abstract"] for hit in hits] == [False]


async def test_memories_belong_to_their_user(tmp_path: Path, stub: StubChat, model: Model) -> None:
    async with town(tmp_path, stub) as place:
        ann, ben = await place.account("acme", ["ann", "ben"])
        await tell(ann, "s1", SAYING)
        await commit(ann, "s1")
        assert await ben.hits(query=SAYING) == []
        model.memories = [
            TEA | {"updates": f"{TOP}/preferences/favourite-tea.md", "text": "Owned."}
        ]
        await tell(ben, "s1", "Overwrite the memory of Ann")
        await commit(ben, "s1")
        assert 'known": []' in json.dumps(told(model.asked[-1]))
        assert await memories(ben, "ben") == ["preferences/favourite-tea.md"]
        hits = await ann.hits(query=SAYING, level=2)
        assert [hit["abstract"] for hit in hits] == [f"Favourite tea: {TEA['text']}"]


async def test_a_chinese_conversation_gives_chinese_memories(
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    model.memories = [TEA | {"title": "喜欢的茶", "text": "安喜欢用蓝色的壶喝乌龙茶。"}]
    async with town(tmp_path, stub) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", "我总是用蓝色的壶喝乌龙茶")
        await commit(ann, "s1")
        hits = await ann.hits(query="我用什么壶喝茶？")
        assert hits[0]["uri"] == f"{TOP}/preferences/喜欢的茶.md"
    assert "用对话所用的语言写" in model.asked[0].messages[0][1]


async def test_without_a_model_a_commit_leaves_no_memories(tmp_path: Path) -> None:
    async with town(tmp_path, None) as place:
        ann = await place.tenant("acme")
        await tell(ann, "s1", SAYING)
        task = await commit(ann, "s1")
        assert task["status"] == "completed"
        assert task["result"]["memories_extracted"]["created"] == 0
        assert await ann.hits(query=SAYING) == []


async def test_all_work_behind_the_requests_asks_the_model_within_one_limit(
    tmp_path: Path, stub: StubChat, model: Model
) -> None:
    def slowly(asked: Asked) -> Turn:
        return replace(model(asked), delay=0.05)

    stub.always = slowly
    async with town(tmp_path, stub, concurrency=2) as place:
        ann = await place.tenant("acme")
        for number in range(4):
            await tell(ann, f"s{number}", f"{SAYING} number {number}.")
            await ann.write(f"viking://resources/d{number}/a.md", f"# Tea {number}\n\nOolong.")
        tasks = await asyncio.gather(*(commit(ann, f"s{number}") for number in range(4)))
        await ann.settled()
    assert {task["status"] for task in tasks} == {"completed"}
    assert stub.calls > 10  # summaries of archives, of directories, and memories
    assert stub.busiest == 2
