import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.conversation import Archive, SessionMessage
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import Identity
from contextfind.domain.scope import visible_to
from contextfind.domain.tokens import estimated_tokens
from contextfind.domain.uri import Uri
from contextfind.ports import Message
from contextfind.sessions.memories import ExtractionRules, MemoryExtractor
from contextfind.sessions.memory_prompts import WindowRules
from contextfind.sessions.notebook import MemoryDesk
from tests.builders import NOON
from tests.households import ANN, BEN, Household, household

TOP = "viking://user/ann/memories"
TEA = {"kind": "preference", "title": "Favourite tea", "text": "Ann drinks oolong tea."}
HOME = {"kind": "fact", "title": "Home", "text": "Ann lives in Lyon."}
LAUNCH = {"kind": "event", "title": "Launch", "text": "Atlas goes live.", "date": "2026-04-02"}
FIX = {"kind": "case", "title": "Pager storm", "text": "Restarting the relay ended it."}
ARCHIVE = Archive(1, 0, 0, 1, 1, NOON)


class ScriptedChat:
    """Answers in turn, the last one for ever; notes what it was asked and how many wait at once."""

    name = "scripted"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[Sequence[Message]] = []
        self.busy = self.busiest = 0

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        assert schema is not None
        assert max_tokens == 4_000
        self.asked.append(messages)
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        await asyncio.sleep(0)
        self.busy -= 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, UnavailableError):
            raise answer
        return answer if isinstance(answer, str) else json.dumps({"memories": answer})

    async def aclose(self) -> None:
        return

    def known(self, call: int = -1) -> dict[str, str]:
        """Return what a call was told is known: text by address below the memories."""
        told = json.loads(self.asked[call][1].text)["known"]
        return {one["address"].removeprefix(f"{TOP}/"): one["text"] for one in told}


@pytest_asyncio.fixture
async def home() -> AsyncIterator[Household]:
    async with household() as it:
        yield it


def extractor(home: Household, model: ScriptedChat, **rules: int) -> MemoryExtractor:
    desk = MemoryDesk(home.finder, home.writer, home.store, home.blobs)
    return MemoryExtractor(model, desk, ExtractionRules(WindowRules(**rules)))


def said(*texts: str) -> list[SessionMessage]:
    return [
        SessionMessage(f"m{n}", "user", (), text, 1, NOON + timedelta(minutes=n), ordinal=n)
        for n, text in enumerate(texts)
    ]


def names(uris: Sequence[Uri]) -> list[str]:
    return [uri.text.removeprefix(f"{TOP}/") for uri in uris]


async def read(home: Household, name: str, who: Identity = ANN) -> str:
    return await home.browser.read(who, Uri(f"viking://user/{who.user}/memories/{name}"))


async def files(home: Household, who: Identity = ANN) -> list[str]:
    top = Uri(f"viking://user/{who.user}/memories")
    records = await home.store.below(visible_to(who), top, 1_000)
    return [record.uri.text.removeprefix(top.folder) for record in records if record.is_leaf]


async def test_each_kind_lies_in_its_directory_and_is_found(home: Household) -> None:
    model = ScriptedChat([TEA, HOME, LAUNCH, FIX])
    done = await extractor(home, model).extract(ANN, "s1", ARCHIVE, said("I drink oolong."))
    assert names(done.created) == [
        "preferences/favourite-tea.md",
        "facts/home.md",
        "events/2026-04-02-launch.md",
        "cases/pager-storm.md",
    ]
    assert (done.updated, done.unchanged, done.invalid) == ([], [], [])
    assert await read(home, "events/2026-04-02-launch.md") == (
        "# Launch\n\n2026-04-02\n\nAtlas goes live.\n"
    )
    assert await read(home, "facts/home.md") == "# Home\n\n2026-03-01\n\nAnn lives in Lyon.\n"
    await home.settled()
    hits = await home.find("which tea does Ann drink")
    assert hits[0].uri.text == f"{TOP}/preferences/favourite-tea.md"
    assert hits[0].abstract == "Favourite tea: Ann drinks oolong tea."
    assert hits[0].tags == ("archive=archive_001", "session=s1")
    strays = await home.find("s1 archive_001")
    assert {hit.score for hit in strays} <= {0.0}


async def test_the_same_archive_again_changes_nothing(home: Household) -> None:
    model = ScriptedChat([TEA, HOME, TEA | {"text": "In the evening she takes rooibos."}])
    memories = extractor(home, model)
    await memories.extract(ANN, "s1", ARCHIVE, said("I drink oolong."))
    await home.settled()
    position = await home.store.position()
    done = await memories.extract(ANN, "s1", ARCHIVE, said("I drink oolong."))
    assert names(done.unchanged) == ["preferences/favourite-tea.md", "facts/home.md"]
    assert (done.created, done.updated) == ([], [])
    await home.settled()
    assert await home.store.position() == position


async def test_two_items_of_one_answer_with_one_title_share_a_memory(home: Household) -> None:
    more = TEA | {"text": "In the evening she takes rooibos."}
    model = ScriptedChat([TEA, more, TEA, TEA | {"title": "Again"}])
    done = await extractor(home, model).extract(ANN, "s1", ARCHIVE, said("Tea."))
    assert names(done.created) == ["preferences/favourite-tea.md"]
    assert await read(home, "preferences/favourite-tea.md") == (
        "# Favourite tea\n\n2026-03-01\n\nAnn drinks oolong tea.\n\n"
        "In the evening she takes rooibos.\n"
    )


async def test_a_fact_that_changed_replaces_the_old_one(home: Household) -> None:
    model = ScriptedChat([HOME], [HOME | {"text": "Ann lives in Nantes."}])
    memories = extractor(home, model)
    await memories.extract(ANN, "s1", ARCHIVE, said("I live in Lyon."))
    later = [replace(said("I moved to Nantes.")[0], created_at=NOON + timedelta(days=9))]
    done = await memories.extract(ANN, "s2", ARCHIVE, later)
    assert model.known() == {"facts/home.md": "Ann lives in Lyon."}
    assert names(done.updated) == ["facts/home.md"]
    assert await read(home, "facts/home.md") == "# Home\n\n2026-03-10\n\nAnn lives in Nantes.\n"
    assert await files(home) == ["facts/home.md"]


async def test_an_update_is_taken_where_it_was_offered(home: Household) -> None:
    news = {"kind": "fact", "title": "Where Ann lives", "text": "Ann lives in Nantes."}
    model = ScriptedChat([HOME], [news | {"updates": f"{TOP}/facts/home.md"}])
    memories = extractor(home, model)
    await memories.extract(ANN, "s1", ARCHIVE, said("I live in Lyon."))
    done = await memories.extract(ANN, "s2", ARCHIVE, said("I moved to Nantes."))
    assert names(done.updated) == ["facts/home.md"]
    assert (await read(home, "facts/home.md")).startswith("# Where Ann lives\n")
    await home.settled()
    (hit,) = await home.find("Ann lives", where=OneOf("level", frozenset({"2"})))
    assert hit.tags == ("archive=archive_001", "session=s2")


@pytest.mark.parametrize(
    "address",
    [
        "viking://user/ben/memories/facts/home.md",
        "viking://resources/docs/plan.md",
        f"{TOP}/../../ben/memories/facts/home.md",
        f"{TOP}/facts/unknown.md",
        "facts/home.md",
    ],
)
async def test_an_update_of_anything_else_is_a_new_memory(home: Household, address: str) -> None:
    ben = Uri("viking://user/ben/memories/facts/home.md")
    await home.writer.write(BEN, ben, "Ben lives in Bonn.", "create")
    plan = Uri("viking://resources/docs/plan.md")
    await home.writer.write(ANN, plan, "The plan.", "create")
    model = ScriptedChat([TEA | {"updates": address}])
    done = await extractor(home, model).extract(ANN, "s1", ARCHIVE, said("Where does Ben live?"))
    assert names(done.created) == ["preferences/favourite-tea.md"]
    assert model.known() == {}
    assert await read(home, "facts/home.md", BEN) == "Ben lives in Bonn."
    assert await home.browser.read(ANN, plan) == "The plan."


async def test_what_a_person_wrote_is_offered_and_only_added_to(home: Household) -> None:
    own = Uri(f"{TOP}/preferences/tea.md")
    await home.writer.write(ANN, own, "Tea notes\n\nNo milk.", "create", ("mine=yes",))
    item = TEA | {"updates": own.text}
    memories = extractor(home, ScriptedChat([item]))
    assert names((await memories.extract(ANN, "s1", ARCHIVE, said("Oolong."))).updated)
    assert names((await memories.extract(ANN, "s1", ARCHIVE, said("Oolong."))).unchanged)
    assert await read(home, "preferences/tea.md") == (
        "Tea notes\n\nNo milk.\n\nAnn drinks oolong tea.\n"
    )
    (record,) = await home.store.select(visible_to(ANN), OneOf("name", frozenset({"tea.md"})), 9)
    assert record.tags == ("mine=yes",)


async def test_tags_that_a_memory_got_since_are_kept(home: Household) -> None:
    model = ScriptedChat([HOME], [HOME | {"text": "Ann lives in Nantes."}])
    memories = extractor(home, model)
    await memories.extract(ANN, "s1", ARCHIVE, said("Lyon"))
    uri = Uri(f"{TOP}/facts/home.md")
    tags = ("archive=archive_001", "session=s1", "star=1")
    await home.writer.write(ANN, uri, await read(home, "facts/home.md"), "replace", tags)
    await memories.extract(ANN, "s=2", replace(ARCHIVE, number=2), said("Nantes"))
    (record,) = await home.store.select(visible_to(ANN), OneOf("name", frozenset({"home.md"})), 9)
    assert record.tags == ("archive=archive_002", "session=s-2", "star=1")


async def test_the_same_words_under_another_title_are_the_same_memory(home: Household) -> None:
    model = ScriptedChat([TEA], [TEA | {"title": "What Ann drinks"}])
    memories = extractor(home, model)
    await memories.extract(ANN, "s1", ARCHIVE, said("Oolong"))
    done = await memories.extract(ANN, "s2", ARCHIVE, said("Oolong"))
    assert names(done.unchanged) == ["preferences/favourite-tea.md"]
    assert await files(home) == ["preferences/favourite-tea.md"]


async def test_R095_two_commits_at_once_of_the_same_message_give_one_memory(  # noqa: N802
    home: Household,
) -> None:
    model = ScriptedChat([TEA])
    memories = extractor(home, model)
    both = await asyncio.gather(
        *(memories.extract(ANN, name, ARCHIVE, said("I drink oolong.")) for name in ("a", "b"))
    )
    assert sorted(len(done.created) for done in both) == [0, 1]
    assert await files(home) == ["preferences/favourite-tea.md"]
    assert model.busiest == 1
    assert model.known(0) == {}
    assert model.known(1) == {"preferences/favourite-tea.md": "Ann drinks oolong tea."}


async def test_users_do_not_wait_for_each_other_nor_see_each_other(home: Household) -> None:
    model = ScriptedChat([TEA])
    memories = extractor(home, model)
    await asyncio.gather(*(memories.extract(who, "s", ARCHIVE, said("Tea")) for who in (ANN, BEN)))
    assert model.busiest == 2
    assert await files(home) == await files(home, BEN) == ["preferences/favourite-tea.md"]
    assert model.known(0) == model.known(1) == {}


class InterruptedChat(ScriptedChat):
    """Lets somebody do something before it answers."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]], *answers: object) -> None:
        super().__init__(*answers)
        self.meanwhile = meanwhile

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        await self.meanwhile()
        return await super().complete(messages, max_tokens, schema)


@pytest.mark.parametrize("there", [True, False])
async def test_what_a_person_writes_while_the_model_thinks_is_not_replaced(
    home: Household,
    there: bool,  # noqa: FBT001
) -> None:
    if there:
        await extractor(home, ScriptedChat([HOME])).extract(ANN, "s", ARCHIVE, said("Lyon"))
    write, uri = home.writer.write, Uri(f"{TOP}/facts/home.md")
    model = InterruptedChat(
        lambda: write(ANN, uri, "# Home\n\nMy own words.\n", "replace"),
        [HOME | {"text": "Ann lives in Nantes."}],
    )
    done = await extractor(home, model).extract(ANN, "s", ARCHIVE, said("Nantes"))
    assert done.invalid == []
    body = await read(home, "facts/home.md")
    assert " ".join(body.split()) == "# Home My own words. Ann lives in Nantes."


async def test_a_memory_removed_while_the_model_thinks_is_written_anew(home: Household) -> None:
    await extractor(home, ScriptedChat([HOME])).extract(ANN, "s", ARCHIVE, said("Lyon"))
    uri = Uri(f"{TOP}/facts/home.md")
    model = InterruptedChat(
        lambda: home.writer.remove(ANN, uri, recursive=False),
        [HOME | {"text": "Ann lives in Nantes."}],
    )
    await extractor(home, model).extract(ANN, "s", ARCHIVE, said("Nantes"))
    assert "Nantes" in await read(home, "facts/home.md")


class HangingChat(ScriptedChat):
    """Never answers the first question; `hangs` is set while it does not."""

    def __init__(self, *answers: object) -> None:
        super().__init__(*answers)
        self.hangs = asyncio.Event()

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        if not self.asked:
            self.asked.append(messages)
            self.hangs.set()
            await asyncio.Event().wait()
        return await super().complete(messages, max_tokens, schema)


async def test_a_model_that_hangs_holds_up_its_user_until_cancelled_and_nobody_else(
    home: Household,
) -> None:
    model = HangingChat([TEA])
    memories = extractor(home, model)
    hanging = asyncio.create_task(memories.extract(ANN, "a", ARCHIVE, said("Tea")))
    await model.hangs.wait()
    next_one = asyncio.create_task(memories.extract(ANN, "b", ARCHIVE, said("Tea")))
    assert len((await memories.extract(BEN, "s", ARCHIVE, said("Tea"))).created) == 1
    assert not next_one.done()
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert len((await next_one).created) == 1


async def test_R136_bad_items_are_reported_and_the_rest_is_kept(home: Household) -> None:  # noqa: N802
    model = ScriptedChat([TEA, {"kind": "fact", "title": "Dog"}, HOME])
    done = await extractor(home, model).extract(ANN, "s1", ARCHIVE, said("Tea", "Dog"))
    assert len(done.created) == 2
    assert done.invalid == [
        "messages 0 to 1: memory 2 of the answer: `text` is missing; expected words"
    ]


async def test_what_cannot_be_written_is_reported_and_the_rest_is_kept(home: Household) -> None:
    below = Uri(f"{TOP}/facts/home.md/notes.md")
    await home.writer.write(ANN, below, "A directory like a file.", "create")
    done = await extractor(home, ScriptedChat([HOME, TEA])).extract(ANN, "s", ARCHIVE, said("x"))
    assert names(done.created) == ["preferences/favourite-tea.md"]
    (complaint,) = done.invalid
    assert complaint.startswith("'Home' is not kept: ")


@pytest.mark.parametrize("answer", ["I would rather not.", '{"memories": [{"kind"', "null", "{}"])
async def test_nonsense_is_no_extraction(home: Household, answer: str) -> None:
    with pytest.raises(UnavailableError):
        await extractor(home, ScriptedChat(answer)).extract(ANN, "s", ARCHIVE, said("Tea"))
    assert await files(home) == []


async def test_R134_after_a_failure_the_next_call_gives_the_memory(home: Household) -> None:  # noqa: N802
    memories = extractor(home, ScriptedChat(UnavailableError("status 500"), [TEA]))
    with pytest.raises(UnavailableError, match="status 500"):
        await memories.extract(ANN, "s", ARCHIVE, said("Tea"))
    done = await memories.extract(ANN, "s", ARCHIVE, said("Tea"))
    assert names(done.created) == ["preferences/favourite-tea.md"]


WIDE = {"tokens": 300, "message_tokens": 100, "windows": 3}
LONG = ["word " * 70] * 6


async def test_a_long_archive_is_read_in_windows_that_know_the_ones_before(
    home: Household,
) -> None:
    model = ScriptedChat([HOME], [HOME | {"text": "Ann lives in Nantes."}, TEA], [])
    memories = extractor(home, model, **WIDE)
    done = await memories.extract(ANN, "s", ARCHIVE, said(*LONG))
    assert len(model.asked) == 3
    assert model.known(1) == {"facts/home.md": "Ann lives in Lyon."}
    assert model.known(2)["facts/home.md"] == "Ann lives in Nantes."
    assert names(done.created) == ["facts/home.md", "preferences/favourite-tea.md"]
    assert "Nantes" in await read(home, "facts/home.md")


async def test_a_long_archive_again_changes_nothing(home: Household) -> None:
    answers = ([HOME], [HOME | {"text": "Ann lives in Nantes."}], [])
    memories = extractor(home, ScriptedChat(*answers, *answers), **WIDE)
    await memories.extract(ANN, "s", ARCHIVE, said(*LONG))
    await home.settled()
    position = await home.store.position()
    done = await memories.extract(ANN, "s", ARCHIVE, said(*LONG))
    assert names(done.unchanged) == ["facts/home.md"]
    await home.settled()
    assert await home.store.position() == position


TEXTS = [  # a title and what may be said of it
    *(
        (title, text)
        for title in ("Home", "home!")
        for text in ("Lyon.", "Lyon", "Nantes.", "Rome.")
    ),
    *(("Dog", text) for text in ("Bo.", "Rex.\n\nBo.", "Rex.")),
]
ITEMS = st.lists(
    st.builds(
        lambda kind, said, day: {"kind": kind, "title": said[0], "text": said[1], "date": day},
        st.sampled_from(["fact", "event"]),
        st.sampled_from(TEXTS),
        st.sampled_from(["", "2026-03-01", "2026-03-02"]),
    ),
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ITEMS, min_size=3, max_size=3))
def test_whatever_a_model_says_the_second_time_adds_nothing(answers: list[list[object]]) -> None:
    async def twice() -> None:
        async with household() as home:
            memories = extractor(home, ScriptedChat(*answers, *answers), **WIDE)
            await memories.extract(ANN, "s", ARCHIVE, said(*LONG))
            before = {name: await read(home, name) for name in await files(home)}
            done = await memories.extract(ANN, "s", ARCHIVE, said(*LONG))
            assert {name: await read(home, name) for name in await files(home)} == before
            assert (done.created, done.updated, done.invalid) == ([], [], [])

    asyncio.run(twice())


async def test_messages_without_room_are_reported(home: Household) -> None:
    memories = extractor(home, ScriptedChat([]), **WIDE)
    done = await memories.extract(ANN, "s", ARCHIVE, said(*LONG, *LONG))
    assert done.invalid == ["the first 6 messages were not read: too many at once"]


async def test_a_window_that_cannot_be_used_costs_no_other(home: Household) -> None:
    memories = extractor(home, ScriptedChat([TEA], "I would rather not.", [HOME]), **WIDE)
    done = await memories.extract(ANN, "s", ARCHIVE, said(*LONG))
    assert names(done.created) == ["preferences/favourite-tea.md", "facts/home.md"]
    assert done.invalid == ["messages 2 to 3: the model's answer holds no JSON"]


@pytest.mark.parametrize("details", [{}, {"retryable": False, "status": 401}])
async def test_a_model_that_goes_down_is_asked_no_more_and_what_it_said_is_kept(
    home: Household, details: dict[str, object]
) -> None:
    model = ScriptedChat([TEA], UnavailableError("down", details))
    with pytest.raises(UnavailableError, match="down"):
        await extractor(home, model, **WIDE).extract(ANN, "s", ARCHIVE, said(*LONG))
    assert len(model.asked) == 2
    assert await files(home) == ["preferences/favourite-tea.md"]


async def test_without_words_nobody_is_asked(home: Household) -> None:
    model = ScriptedChat([TEA])
    done = await extractor(home, model).extract(ANN, "s", ARCHIVE, said(" "))
    assert (done.created, done.invalid, model.asked) == ([], [], [])


async def test_what_fits_what_is_said_is_offered_however_old_it_is(home: Household) -> None:
    texts = {f"facts/n{n}.md": f"Number {n} is a prime of the heron." for n in range(40)}
    texts["facts/tea.md"] = "Ann drinks oolong from the blue pot."
    for name, text in sorted(texts.items(), reverse=True):
        await home.writer.write(ANN, Uri(f"{TOP}/{name}"), text, "create")
    await home.settled()
    model = ScriptedChat([])
    await extractor(home, model).extract(ANN, "s", ARCHIVE, said("My blue pot of oolong broke."))
    known = model.known()
    assert next(iter(known)) == "facts/tea.md"
    assert len(known) <= 12


async def test_R139_a_prompt_stays_within_its_budget_and_the_last_hold_the_last_messages(  # noqa: N802
    home: Household,
) -> None:
    for n in range(12):
        text = "安喜欢用蓝色的壶喝乌龙茶" * 150
        await home.writer.write(ANN, Uri(f"{TOP}/facts/{n}.md"), text, "create")
    model = ScriptedChat([])
    messages = said(*(f"{n} " + "word " * 100 for n in range(2_000)))
    await extractor(home, model).extract(ANN, "s", ARCHIVE, messages)
    assert len(model.asked) == 8
    for asked in model.asked:
        assert sum(estimated_tokens(one.text) for one in asked) <= 10_000
    told = json.loads(model.asked[-1][1].text)["messages"]
    assert [one["text"].split()[0] for one in told[-5:]] == ["1995", "1996", "1997", "1998", "1999"]


async def test_known_memories_take_a_bounded_room_and_one_cut_short_is_not_replaced(
    home: Household,
) -> None:
    await extractor(home, ScriptedChat([HOME])).extract(ANN, "s", ARCHIVE, said("Lyon"))
    long = await read(home, "facts/home.md") + "\n" + "It is a long story. " * 150
    await home.writer.write(ANN, Uri(f"{TOP}/facts/home.md"), long, "replace")
    model = ScriptedChat([HOME | {"text": "Ann lives in Nantes."}])
    await extractor(home, model).extract(ANN, "s", ARCHIVE, said("Lyon"))
    assert len(model.known()["facts/home.md"]) == 2_000
    body = await read(home, "facts/home.md")
    assert "long story" in body
    assert body.endswith("\n\nAnn lives in Nantes.\n")
