"""Conversations as lines of an export, and back."""

from collections.abc import Mapping

from contextfind.domain.conversation import Archive, Session, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.transfer.encoding import encoded, said
from contextfind.transfer.entries import SessionCopy
from contextfind.transfer.shapes import ArchiveLine, MessageLine, SessionLine


def session_line(copy: SessionCopy) -> bytes:
    """Return the line of a conversation; equal ones give equal bytes."""
    session = copy.session
    fields: dict[str, object] = {
        "account": session.identity.account,
        "user": session.identity.user,
        "id": session.id,
        "created_at": said(session.created_at),
        "updated_at": said(session.updated_at),
        "settings": dict(session.settings),
        "memories_extracted": session.memories_extracted,
        "archives": [_archive_said(archive) for archive in copy.archives],
        "messages": [_message_said(message) for message in copy.messages],
    }
    return encoded("session", fields)


def session_of(line: SessionLine) -> SessionCopy:
    """Undo `session_line`; the counts of the session are left to the store that it enters."""
    session = Session(
        line.id,
        Identity(line.account, line.user),
        line.created_at,
        line.updated_at,
        line.settings,
        total_message_count=len(line.messages),
        memories_extracted=line.memories_extracted,
    )
    archives: list[Archive] = []
    first = 0
    for number, one in enumerate(line.archives, start=1):
        archives.append(_archive_of(one, number, first))
        first += one.message_count
    messages = [_message_of(one, ordinal) for ordinal, one in enumerate(line.messages)]
    return SessionCopy(session, archives, messages)


def _archive_said(archive: Archive) -> Mapping[str, object]:
    return {
        "message_count": archive.message_count,
        "created_at": said(archive.created_at),
        "state": archive.state.value,
        "abstract": archive.abstract,
        "overview": archive.overview,
        "error": archive.error,
    }


def _archive_of(line: ArchiveLine, number: int, first: int) -> Archive:
    return Archive(
        number=number,
        first=first,
        last=first + line.message_count - 1,
        message_count=line.message_count,
        tokens=0,
        created_at=line.created_at,
        state=line.state,
        abstract=line.abstract,
        overview=line.overview,
        error=line.error,
    )


def _message_said(message: SessionMessage) -> Mapping[str, object]:
    return {
        "id": message.id,
        "role": message.role,
        "created_at": said(message.created_at),
        "tokens": message.tokens,
        "text": message.text,
        "parts": list(message.parts),
        "extra": dict(message.extra),
    }


def _message_of(line: MessageLine, ordinal: int) -> SessionMessage:
    return SessionMessage(
        id=line.id,
        role=line.role,
        parts=line.parts,
        text=line.text,
        tokens=line.tokens,
        created_at=line.created_at,
        extra=line.extra,
        ordinal=ordinal,
    )
