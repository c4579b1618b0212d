"""Conversations on their way from one deployment to another."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.domain.conversation import ArchiveState
from contextfind.domain.errors import AlreadyExistsError, InvalidArgumentError
from contextfind.domain.identity import Identity
from contextfind.ports import RecordCopy
from contextfind.transfer.entries import SessionCopy
from contextfind.transfer.session_copies import bring_session, read_sessions
from tests.builders import NOON, make_message, make_record
from tests.unit.transfer.vaults import Vault, disk_vault, memory_vault

ANN = Identity("acme", "ann")
HOUR = timedelta(hours=1)


@pytest.fixture(params=["memory", "disk"])
async def vault(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Vault]:
    if request.param == "memory":
        yield memory_vault()
        return
    async with disk_vault(tmp_path) as made:
        yield made


async def talked(vault: Vault) -> Vault:
    """Return the vault with a conversation of two archives and what came after, and an empty one."""
    await vault.identities.add_account("acme", "ann", NOON)
    talk = vault.sessions
    await talk.create(ANN, "tea", {"memory_policy": {"self": True}}, NOON)
    await talk.append(ANN, "tea", [make_message(f"m{n}", f"line {n}") for n in range(3)], NOON)
    first = await talk.archive(ANN, "tea", 1, NOON + HOUR)
    assert first is not None
    done = replace(first, state=ArchiveState.DONE, abstract="Tea", overview="- Tea.", error="owed")
    await talk.summarise(ANN, "tea", done, memories=2)
    odd = replace(make_message("m3", "文档 \0", "tool", at=NOON + HOUR), extra={"turn_id": 7})
    await talk.append(ANN, "tea", [odd], NOON + 2 * HOUR)
    await talk.archive(ANN, "tea", 0, NOON + 3 * HOUR)
    await talk.append(ANN, "tea", [make_message("m4", at=NOON + 3 * HOUR)], NOON + 4 * HOUR)
    await talk.create(ANN, "empty", {}, NOON)
    return vault


async def told(vault: Vault) -> list[SessionCopy]:
    return [copy async for copy in read_sessions(vault.sessions, ANN)]


async def test_a_conversation_comes_out_as_it_went_in(vault: Vault) -> None:
    source = await talked(memory_vault())
    data = await source.exported()
    brought = await vault.takes(data)
    assert (brought.totals.sessions, brought.totals.messages) == (2, 5)
    assert await vault.exported() == data
    for here, there in zip(await told(vault), await told(source), strict=True):
        assert here == there


async def test_a_conversation_half_brought_is_carried_on(vault: Vault) -> None:
    source = await talked(memory_vault())
    data = await source.exported()
    (tea,) = [copy for copy in await told(source) if copy.session.id == "tea"]
    await vault.sessions.create(ANN, "tea", tea.session.settings, NOON)
    await vault.sessions.append(ANN, "tea", tea.messages[:2], NOON)
    await vault.sessions.archive(ANN, "tea", 0, NOON + HOUR)  # killed before its summary came
    await vault.takes(data)
    assert await vault.exported() == data


@pytest.mark.parametrize("cut", range(6))
async def test_every_step_may_be_the_last_before_a_kill(vault: Vault, cut: int) -> None:
    source = await talked(memory_vault())
    (tea,) = [copy for copy in await told(source) if copy.session.id == "tea"]
    store = Failing(vault.sessions, cut)
    with pytest.raises(ConnectionError):
        await bring_session(store, tea)  # type: ignore[arg-type]
    assert await bring_session(vault.sessions, tea)
    assert await told(vault) == [tea]
    assert not await bring_session(vault.sessions, tea)


class Failing:
    """A session store that is gone after so many writes."""

    def __init__(self, store: object, writes: int) -> None:
        self._store = store
        self._left = writes

    def __getattr__(self, name: str) -> object:
        if name in {"create", "append", "archive", "summarise"}:
            if self._left == 0:
                raise ConnectionError
            self._left -= 1
        return getattr(self._store, name)


async def test_another_conversation_of_this_name_is_left_alone(vault: Vault) -> None:
    await vault.sessions.create(ANN, "tea", {}, NOON + HOUR)
    await vault.sessions.append(ANN, "tea", [make_message("own")], NOON + HOUR)
    before = await told(vault)
    await vault.takes(await (await talked(memory_vault())).exported())
    assert [copy for copy in await told(vault) if copy.session.id == "tea"] == before


async def test_an_older_copy_changes_nothing_in_one_that_went_on(vault: Vault) -> None:
    data = await (await talked(vault)).exported()
    await vault.sessions.append(ANN, "tea", [make_message("m5")], NOON + 5 * HOUR)
    await vault.sessions.archive(ANN, "tea", 0, NOON + 6 * HOUR)
    before = await told(vault)
    await vault.takes(data)
    assert await told(vault) == before


async def test_one_that_went_on_without_a_commit_is_left_alone_too(vault: Vault) -> None:
    data = await (await talked(vault)).exported()
    await vault.sessions.append(ANN, "tea", [make_message("m5")], NOON + 5 * HOUR)
    before = await told(vault)
    await vault.takes(data)
    assert await told(vault) == before


async def test_an_archive_has_no_more_messages_than_its_session(vault: Vault) -> None:
    data = await (await talked(memory_vault())).exported()
    spoilt = data.replace(b'"archives":[{"message_count":2', b'"archives":[{"message_count":9')
    assert spoilt != data
    with pytest.raises(InvalidArgumentError, match="more messages than the session"):
        await vault.takes(spoilt)


async def test_of_a_removed_user_nothing_is_known_but_a_tree(vault: Vault) -> None:
    source = await talked(memory_vault())
    await source.identities.remove_user("acme", "ann", NOON)
    assert b'"session"' not in await source.exported()
    await source.store.restore(
        [RecordCopy(make_record(uri="viking://user/ann/memories/a.md"), (), ())]
    )
    data = await source.exported()
    await vault.takes(data)
    assert await told(vault) == await told(source)
    with pytest.raises(AlreadyExistsError, match="was removed"):
        await vault.identities.add_user("acme", "ann", "user", NOON)
