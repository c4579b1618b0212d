"""Addresses of the context tree: `viking://resources/projects/atlas/release.md`."""

import re
import unicodedata
from dataclasses import dataclass

from contextfind.domain.errors import InvalidUriError

SCHEME = "viking://"
SCOPES = ("resources", "user", "agent")
OWN = frozenset({"memories", "resources", "skills", "sessions"})  # what a user's tree begins with
MAX_LENGTH = 2_048  # characters; longer ones are mistakes and would bloat every index key

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ENCODED_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Uri:
    """A normalised address: NFC, no trailing slash, no empty or dotted segment.

    `viking://` itself is the root above the scopes. Build one with `parse` (text
    from outside) or `child` (a name below a known address).
    """

    text: str

    @classmethod
    def parse(cls, text: str, user: str | None = None) -> "Uri":
        """Return the address that `text` spells; `~` stands for `user/{user}`.

        So does `user` where the name of a user is left out: `viking://user/memories/…`. Nobody who is called so
        can be meant, since the trees of others cannot be asked for.

        Raises:
            InvalidUriError: other scheme or scope, empty, dotted or control characters, too long.

        """
        normal = unicodedata.normalize("NFC", text)
        if not normal.startswith(SCHEME):
            raise _invalid(text, f"must start with {SCHEME}")
        _check_length(text, normal)
        path = normal[len(SCHEME) :].rstrip("/")
        if not path:
            return ROOT
        segments = path.split("/")
        if segments[0] == "~":
            if user is None:
                raise _invalid(text, "uses ~, which needs a user")
            segments[:1] = ["user", user]
        elif user is not None and segments[0] == "user" and segments[1:2] and segments[1] in OWN:
            segments[1:1] = [] if segments[1] == user else [user]
        if segments[0] not in SCOPES:
            raise _invalid(text, f"has an unknown scope; known are {', '.join(SCOPES)} and ~")
        for segment in segments:
            _check_segment(text, segment)
        whole = SCHEME + "/".join(segments)
        _check_length(text, whole)  # again: ~ stands for more characters
        return cls(whole)

    @property
    def segments(self) -> tuple[str, ...]:
        """The parts after `viking://`; none for the root."""
        path = self.text[len(SCHEME) :]
        return tuple(path.split("/")) if path else ()

    @property
    def name(self) -> str:
        """The last segment; empty for the root."""
        return self.text[len(SCHEME) :].rpartition("/")[2]

    @property
    def parent(self) -> "Uri | None":
        """The address above; None at the root."""
        if self.text == SCHEME:
            return None
        head = self.text[len(SCHEME) :].rpartition("/")[0]
        return Uri(SCHEME + head)

    @property
    def folder(self) -> str:
        """The prefix of every address below this one, with its slash."""
        return self.text if self.text.endswith("/") else self.text + "/"

    @property
    def scope_root(self) -> "Uri | None":
        """`viking://resources`, `viking://agent` or `viking://user/{user}`; None above those."""
        parts = self.segments
        depth = 2 if parts and parts[0] == "user" else 1
        return Uri(SCHEME + "/".join(parts[:depth])) if len(parts) >= depth else None

    @property
    def owner(self) -> str:
        """The user whose own tree this lies in; empty where the account shares it."""
        parts = self.segments
        return parts[1] if len(parts) > 1 and parts[0] == "user" else ""

    def is_under(self, directory: "Uri") -> bool:
        """Whether this is `directory` or lies below it."""
        return self.text == directory.text or self.text.startswith(directory.folder)

    def child(self, name: str) -> "Uri":
        """Return the address of `name` (one segment or a relative path) below this one.

        Raises:
            InvalidUriError: the name has empty, dotted or control segments.

        """
        return Uri.parse(self.folder + name)

    def ancestors(self) -> tuple["Uri", ...]:
        """Return the directories above, nearest first, up to and with the scope root."""
        top = self.scope_root
        if top is None or self == top:
            return ()
        found: list[Uri] = []
        here = self.parent
        while here is not None and here.is_under(top):
            found.append(here)
            here = here.parent
        return tuple(found)

    def __str__(self) -> str:
        return self.text


ROOT = Uri(SCHEME)


def _check_length(text: str, normal: str) -> None:
    if len(normal) > MAX_LENGTH:
        raise _invalid(text, f"is longer than {MAX_LENGTH} characters")


def _check_segment(text: str, segment: str) -> None:
    if not segment:
        raise _invalid(text, "has an empty segment")
    if _ENCODED_DOTS.fullmatch(segment):
        raise _invalid(text, "has a dotted segment")
    if _CONTROL.search(segment):
        raise _invalid(text, "has a control character")
    try:
        segment.encode()
    except UnicodeEncodeError:
        raise _invalid(ascii(text), "has a lone surrogate") from None


def _invalid(text: str, reason: str) -> InvalidUriError:
    named = text if len(text) <= MAX_LENGTH else text[:80] + "…"  # a message is no place for more
    return InvalidUriError(f"address {named!r} {reason}", {"uri": named, "reason": reason})
