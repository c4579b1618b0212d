"""What a task that was at archives tells in its result."""

from collections.abc import Sequence

from contextfind.domain.identity import Identity
from contextfind.domain.session_ids import archive_uri
from contextfind.sessions.archiving import Done

_REPORTED = 100  # memories and invalid items named; their numbers are always complete


def report(identity: Identity, session_id: str, done: Sequence[Done]) -> dict[str, object]:
    """Return JSON values: the newest archive, the memories of all, what was not kept, and a note."""
    invalid = [line for one in done for line in one.extraction.invalid]
    notes = [one.note for one in done if one.note]
    newest = max((one.archive for one in done), key=lambda one: one.number, default=None)
    created = [uri.text for one in done for uri in one.extraction.created]
    updated = [uri.text for one in done for uri in one.extraction.updated]
    return {
        "session_id": session_id,
        "archive_uri": None if newest is None else archive_uri(identity, session_id, newest).text,
        "memories_extracted": {"created": len(created), "updated": len(updated)},
        "memories": [*created, *updated][:_REPORTED],
        "invalid_count": len(invalid),
        "invalid": invalid[:_REPORTED],
        "note": "; ".join(dict.fromkeys(notes)) if done else "no archive waited",
    }
