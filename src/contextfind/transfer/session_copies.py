"""Conversations out of a store, and into one as they were."""

from collections.abc import AsyncIterator

from contextfind.domain.conversation import Session, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.ports import SessionStore
from contextfind.transfer.entries import SessionCopy

_PAGE = 100  # sessions listed at once, without their messages


async def read_sessions(store: SessionStore, identity: Identity) -> AsyncIterator[SessionCopy]:
    """Give the conversations of a user, the last changed one first; one is in memory at a time."""
    offset = 0
    while page := await store.list(identity, _PAGE, offset):
        offset += len(page)
        for session in page:
            archives = [*reversed(await store.archives(identity, session.id))]
            messages: list[SessionMessage] = []
            for archive in archives:
                messages += await store.archived(identity, session.id, archive.number)
            messages += await store.pending(identity, session.id)
            yield SessionCopy(session, archives, messages)


async def bring_session(store: SessionStore, copy: SessionCopy) -> bool:
    """Say and archive everything again at its old times; return whether anything was brought.

    One that is here already is left alone unless it is the beginning of the same conversation, as an
    import leaves it that was interrupted: that is carried on.
    """
    told = copy.session
    who, name = told.identity, told.id
    await store.create(who, name, told.settings, told.created_at)
    here = await store.get(who, name)
    if here is None or not await _goes_on(store, here, copy):
        return False
    for archive in copy.archives:
        if archive.number > here.commit_count:
            said = copy.messages[archive.first : archive.last + 1]
            await store.append(who, name, said, archive.created_at)
            await store.archive(who, name, 0, archive.created_at)
        last = archive is copy.archives[-1]
        found = told.memories_extracted - here.memories_extracted if last else 0
        await store.summarise(who, name, archive, max(found, 0))
    first = copy.archives[-1].last + 1 if copy.archives else 0
    await store.append(who, name, copy.messages[first:], told.updated_at)
    return True


async def _goes_on(store: SessionStore, here: Session, copy: SessionCopy) -> bool:
    """Whether a conversation here is the beginning of the one told, or empty."""
    told = copy.session
    if here.created_at != told.created_at or here.commit_count > len(copy.archives):
        return False
    whole = here.total_message_count == len(copy.messages)
    if whole and here.updated_at == told.updated_at:
        return here.memories_extracted < told.memories_extracted
    known = {message.id for message in copy.messages}
    pending = await store.pending(told.identity, told.id)
    return all(message.id in known for message in pending)
