"""The names of sessions and archives, and their addresses."""

import re
import unicodedata

from contextfind.domain.conversation import Archive
from contextfind.domain.errors import InvalidArgumentError, InvalidUriError
from contextfind.domain.filter_faults import fault
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri

LONGEST = 200  # characters; clients join the names of programs, folders and channels into one
EXPECTED = (
    f"1 to {LONGEST} characters that can be one segment of an address: no slash or backslash, no "
    "control characters, neither . nor .."
)

_SLASHES = re.compile(r"[/\\]")


def parse_session_id(text: str) -> str:
    """Return the id that the text spells: NFC, without the blanks around it.

    Raises:
        InvalidArgumentError: it is empty, too long, or could not be a segment of an address.

    """
    name = unicodedata.normalize("NFC", text.strip())
    if not name or len(name) > LONGEST or _SLASHES.search(name):
        raise _refusal(text)
    try:
        Uri.parse(f"viking://resources/{name}")
    except InvalidUriError:
        raise _refusal(text) from None
    return name


def session_uri(identity: Identity, session_id: str) -> Uri:
    """Return the address that stands for a session: `viking://user/ann/sessions/ID`."""
    return Uri(f"viking://user/{identity.user}/sessions/{session_id}")


def archive_uri(identity: Identity, session_id: str, archive: Archive) -> Uri:
    """Return the address that stands for an archive of a session."""
    return Uri(f"{session_uri(identity, session_id)}/history/{archive.id}")


def _refusal(text: str) -> InvalidArgumentError:
    return fault("session_id", text, EXPECTED)
