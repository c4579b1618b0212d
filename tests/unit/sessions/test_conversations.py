import asyncio
from dataclasses import replace
from itertools import count

import pytest

from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.domain.conversation import ArchiveState, Conversation
from contextfind.domain.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from contextfind.sessions.conversations import Conversations
from contextfind.sessions.messages import Said
from tests.builders import NOON
from tests.households import ANN, BEN, OTHER


class Desk:
    """Conversations over a store in memory, and a few ways to fill it."""

    def __init__(self):
        numbers = count(1)
        self.store = MemorySessionStore()
        self.all = Conversations(self.store, lambda: NOON, lambda: f"id{next(numbers)}")

    async def say(self, *lines, session="s", who=ANN):
        said = [Said("user", [{"type": "text", "text": line}]) for line in lines]
        return await self.all.add(who, session, said)

    async def archive(self, *lines, state=ArchiveState.DONE, keep=0):
        if lines:
            await self.say(*lines)
        made = await self.store.archive(ANN, "s", keep, NOON)
        if state is not ArchiveState.PENDING:
            told = f"abstract {made.number}", f"overview {made.number}"
            done = replace(made, state=state)
            if state is ArchiveState.DONE:
                done = replace(done, abstract=told[0], overview=told[1])
            await self.store.summarise(ANN, "s", done)

    async def recollected(self, last=5):
        told = await self.all.recollect(ANN, "s", last)
        return told.summary, [one.text for one in told.messages]


@pytest.fixture
def desk():
    return Desk()


class TestCreate:
    async def test_a_session_gets_the_id_that_is_asked_for(self, desk):
        made = await desk.all.create(ANN, " s 1 ", {"memory_policy": {"a": 1}})
        assert (made.id, made.created_at, made.message_count) == ("s 1", NOON, 0)
        assert made.settings == {"memory_policy": {"a": 1}}
        assert await desk.all.get(ANN, "s 1") == made

    async def test_without_one_it_gets_the_time_and_something_random(self, desk):
        assert (await desk.all.create(ANN, None, {})).id == "20260301-120000-id1"
        assert (await desk.all.create(ANN, None, {})).id == "20260301-120000-id2"

    async def test_the_same_id_twice_is_refused_and_changes_nothing(self, desk):
        await desk.say("hello")
        with pytest.raises(AlreadyExistsError, match="session 's' exists") as caught:
            await desk.all.create(ANN, "s", {"memory_policy": {}})
        assert caught.value.details == {"resource": "s", "type": "session"}
        kept = await desk.all.get(ANN, "s")
        assert (kept.message_count, kept.settings) == (1, {})

    async def test_one_of_many_parallel_ones_makes_it(self, desk):
        tries = [desk.all.create(ANN, "s", {}) for _ in range(8)]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(end, AlreadyExistsError) for end in ends) == 7


class TestOwners:
    async def test_two_users_and_two_accounts_may_use_one_id(self, desk):
        for who in (ANN, BEN, OTHER):
            await desk.say(f"I am {who.account} {who.user}", who=who)
        for who in (ANN, BEN, OTHER):
            told = await desk.all.recollect(who, "s")
            assert [one.text for one in told.messages] == [f"I am {who.account} {who.user}"]
        await desk.all.delete(BEN, "s")
        assert (await desk.all.get(ANN, "s")).message_count == 1
        assert (await desk.all.get(OTHER, "s")).message_count == 1
        assert [one.id for one in await desk.all.list(BEN, 9)] == []

    async def test_the_session_of_somebody_else_is_not_there(self, desk):
        await desk.archive("secret")
        for ask in (
            desk.all.get(BEN, "s"),
            desk.all.delete(BEN, "s"),
            desk.all.context(BEN, "s", 99),
            desk.all.archives(BEN, "s"),
            desk.all.archive(BEN, "s", "archive_001"),
        ):
            with pytest.raises(NotFoundError, match="no session 's'"):
                await ask
        assert await desk.all.recollect(BEN, "s") == Conversation()


class TestIds:
    async def test_what_cannot_be_an_id_reaches_nothing(self, desk):
        for ask in (
            desk.all.create(ANN, "../x", {}),
            desk.all.get(ANN, "../x", create=True),
            desk.all.delete(ANN, "../x"),
            desk.say("x", session="../x"),
            desk.all.context(ANN, "../x", 9),
            desk.all.archives(ANN, "../x"),
            desk.all.archive(ANN, "../x", "archive_001"),
        ):
            with pytest.raises(InvalidArgumentError, match=r"session_id is '\.\./x'; expected"):
                await ask
        assert await desk.all.recollect(ANN, "../x") == Conversation()
        assert await desk.all.list(ANN, 9) == []

    async def test_every_method_takes_the_id_in_any_spelling(self, desk):
        await desk.archive("hello")
        assert (await desk.all.get(ANN, " s ")).id == "s"
        assert (await desk.all.context(ANN, "s\n", 9)).session.id == "s"
        assert (await desk.all.archive(ANN, " s", "archive_001"))[1].number == 1
        assert len((await desk.all.recollect(ANN, " s ")).messages) == 1
        assert await desk.all.delete(ANN, " s ") == "s"


class TestGetAndDelete:
    async def test_an_unknown_session_is_made_when_asked_for(self, desk):
        with pytest.raises(NotFoundError) as caught:
            await desk.all.get(ANN, "s")
        assert caught.value.details == {"resource": "s", "type": "session"}
        made = await desk.all.get(ANN, "s", create=True)
        assert (made.id, made.message_count) == ("s", 0)
        await desk.say("hello")
        assert (await desk.all.get(ANN, "s", create=True)).message_count == 1

    async def test_what_was_said_is_gone_with_the_session(self, desk):
        await desk.archive("one")
        await desk.say("two")
        assert await desk.all.delete(ANN, "s") == "s"
        with pytest.raises(NotFoundError):
            await desk.all.delete(ANN, "s")
        assert await desk.recollected() == ("", [])

    async def test_pages_of_the_list_are_the_whole(self, desk):
        for name in "abc":
            await desk.all.create(ANN, name, {})
        pages = [*(await desk.all.list(ANN, 2)), *(await desk.all.list(ANN, 2, 2))]
        assert [one.id for one in pages] == ["a", "b", "c"]


class TestAdd:
    async def test_the_first_message_makes_the_session(self, desk):
        session, added = await desk.say("one", "two")
        assert (session.id, session.message_count, added) == ("s", 2, 2)
        assert session.pending_tokens == 2

    async def test_no_message_makes_an_empty_session(self, desk):
        session, added = await desk.say()
        assert (session.message_count, added) == (0, 0)

    async def test_r138_the_same_id_twice_also_in_parallel_is_one_message(self, desk):
        said = [Said("user", [{"type": "text", "text": "once"}], "m1")]
        answers = await asyncio.gather(*(desk.all.add(ANN, "s", said * 2) for _ in range(8)))
        assert sum(added for _, added in answers) == 1
        await desk.archive()
        assert (await desk.all.add(ANN, "s", said))[1] == 0
        assert await desk.recollected() == ("overview 1", ["once"])


class TestContext:
    async def test_it_holds_what_fits_the_budget(self, desk):
        await desk.archive("one")
        await desk.archive("two")
        await desk.say("thr1", "four", "five")
        told = await desk.all.context(ANN, "s", 2)
        assert [one.text for one in told.context.messages] == ["four", "five"]
        assert told.context.overview == ""
        told = await desk.all.context(ANN, "s", 100)
        assert [one.text for one in told.context.messages] == ["thr1", "four", "five"]
        assert told.context.overview == "overview 2"
        assert [one.id for one in told.context.abstracts] == ["archive_001"]
        assert [one.number for one in told.archives] == [2, 1]
        assert told.session.total_message_count == 5

    @pytest.mark.parametrize("state", [ArchiveState.PENDING, ArchiveState.FAILED])
    async def test_messages_that_no_summary_stands_for_are_told_themselves(self, desk, state):
        await desk.archive("old1")
        await desk.archive("new1", "new2", state=state)
        await desk.say("last")
        told = (await desk.all.context(ANN, "s", 100)).context
        assert told.overview == "overview 1"
        assert [one.text for one in told.messages] == ["new1", "new2", "last"]
        told = (await desk.all.context(ANN, "s", 2)).context
        assert [one.text for one in told.messages] == ["new2", "last"]

    async def test_long_sessions_are_read_as_far_as_the_budget_goes(self, desk):
        await desk.say(*(f"{n:04}" for n in range(1_500)))
        told = (await desk.all.context(ANN, "s", 1_200)).context
        assert [one.text for one in told.messages] == [f"{n:04}" for n in range(300, 1_500)]
        assert len((await desk.all.context(ANN, "s", 9_999)).context.messages) == 1_500

    async def test_a_commit_between_two_reads_tells_nothing_twice(self, desk):
        await desk.say("one", "two")

        class Committing(MemorySessionStore):
            async def archives(self, identity, session_id, limit=None):
                await self.archive(identity, session_id, 0, NOON)
                return await super().archives(identity, session_id, limit)

        store = Committing()
        store._held = desk.store._held
        told = await Conversations(store, lambda: NOON, lambda: "x").context(ANN, "s", 100)
        assert [one.text for one in told.context.messages] == ["one", "two"]


class TestArchives:
    async def test_they_are_listed_newest_first_and_read_by_their_id(self, desk):
        await desk.archive("one", "two")
        await desk.archive("three")
        session, archives = await desk.all.archives(ANN, "s")
        assert [one.id for one in archives] == ["archive_002", "archive_001"]
        assert session.commit_count == 2
        _, archive, messages = await desk.all.archive(ANN, "s", "archive_001")
        assert archive.overview == "overview 1"
        assert [one.text for one in messages] == ["one", "two"]

    @pytest.mark.parametrize("name", ["archive_002", "archive_1", "1", "", "../x"])
    async def test_an_unknown_one_is_not_found(self, desk, name):
        await desk.archive("one")
        with pytest.raises(NotFoundError, match="session 's' has no archive") as caught:
            await desk.all.archive(ANN, "s", name)
        assert caught.value.details == {"resource": name, "type": "archive"}


class TestRecollect:
    async def test_of_an_unknown_session_nothing_is_told(self, desk):
        assert await desk.all.recollect(ANN, "nope") == Conversation()

    async def test_r029_the_summary_and_exactly_the_last_five_messages(self, desk):
        await desk.archive("about Atlas")
        await desk.say(*"1234567")
        assert await desk.recollected() == ("overview 1", list("34567"))

    async def test_messages_that_a_commit_archived_are_still_the_last_ones(self, desk):
        await desk.archive(*"12")
        await desk.archive(*"345")
        await desk.say("6")
        assert await desk.recollected() == ("overview 2", list("23456"))
        assert await desk.recollected(9) == ("overview 2", list("123456"))
        assert await desk.recollected(1) == ("overview 2", ["6"])
        assert await desk.recollected(0) == ("overview 2", [])

    @pytest.mark.parametrize("state", [ArchiveState.PENDING, ArchiveState.FAILED])
    async def test_older_abstracts_stand_for_a_summary_that_is_not_there(self, desk, state):
        await desk.archive("1")
        await desk.archive("2")
        await desk.archive("3", state=state)
        assert await desk.recollected() == ("abstract 1\nabstract 2", list("123"))

    async def test_a_first_archive_without_a_summary_leaves_only_its_messages(self, desk):
        await desk.archive("1", "2", state=ArchiveState.PENDING, keep=1)
        assert await desk.recollected() == ("", list("12"))
