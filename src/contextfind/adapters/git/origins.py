"""Where a repository comes from: which addresses git is given, and which never."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from contextfind.domain.errors import InvalidArgumentError

SCHEMES = ("https", "http", "ssh", "git", "file")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")
_HELPER = re.compile(r"[A-Za-z0-9+.\-]*::")  # `ext::sh -c …`: git would run what follows
_SHORT = re.compile(
    r"(?:[A-Za-z0-9_.+~][A-Za-z0-9_.+~\-]*@)?([A-Za-z0-9_.][A-Za-z0-9_.\-]*):([^:]+)"
)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\ud800-\udfff]")
_LONGEST = 2_000  # characters; longer ones are mistakes


@dataclass(frozen=True, slots=True)
class Origin:
    """A repository that git may be told to clone.

    url: as git is given it; may hold a password. name: what it is called, without `.git`. shown: the
    url for people, without user and password.
    """

    url: str
    name: str
    shown: str


def looks_remote(text: str) -> bool:
    """Whether a text is spelled as an address and not as a path of this machine."""
    return bool(_SCHEME.match(text) or _HELPER.match(text) or _SHORT.fullmatch(text))


def origin_of(text: str) -> Origin:
    """Return the repository that an address names: https, http, ssh, git, file, or `user@host:path`.

    Raises:
        InvalidArgumentError: another transport, an option in disguise, no host, or no name.

    """
    if text.startswith("-") or _UNSAFE.search(text) or len(text) > _LONGEST:
        raise _refused(text, "an option, a blank or a control character is in it")
    if _HELPER.match(text):
        raise _refused(text, "its transport may run programs")
    if not _SCHEME.match(text):
        return _short(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _refused(text, "its host or port is malformed") from None
    if parts.scheme not in SCHEMES:
        raise _refused(text, f"transport {parts.scheme!r} is not allowed")
    _check_host(text, parts)
    host = (parts.hostname or "") + ("" if port is None else f":{port}")
    return Origin(text, _name(text, parts.path), f"{parts.scheme}://{host}{parts.path}")


def origin_at(directory: Path) -> Origin:
    """Return a bare repository of this machine."""
    whole = directory.resolve()
    return origin_of(whole.as_uri())


def is_bare(directory: Path) -> bool:
    """Whether a directory is a repository without its files beside it."""
    return (directory / "HEAD").is_file() and all(
        (directory / name).is_dir() for name in ("objects", "refs")
    )


def _short(text: str) -> Origin:
    """Read `user@host:path`, which is ssh."""
    found = _SHORT.fullmatch(text)
    if found is None or found[2].startswith("-"):
        raise _refused(text, "it is neither a directory that is there nor an address")
    return Origin(text, _name(text, found[2]), f"{found[1]}:{found[2]}")


def _check_host(text: str, parts: SplitResult) -> None:
    host, user = parts.hostname or "", parts.username or ""
    if parts.scheme == "file":
        if host not in ("", "localhost") or not parts.path.startswith("/"):
            raise _refused(text, "a file address has no host and an absolute path")
    elif not host or host.startswith("-") or user.startswith("-"):
        raise _refused(text, "its host is missing or looks like an option")


def _name(text: str, path: str) -> str:
    name = unquote(path).rstrip("/").rpartition("/")[2].removesuffix(".git")
    if name in ("", ".", ".."):
        raise _refused(text, "it names no repository")
    return name


def _refused(text: str, reason: str) -> InvalidArgumentError:
    shown = re.sub(r"//[^/@]*@", "//", text[:200])
    return InvalidArgumentError(
        f"repository {shown!r}: {reason}; expected a directory, or an address that begins with "
        f"{', '.join(f'{scheme}://' for scheme in SCHEMES)} or is spelled user@host:path",
        {"field": "repository", "value": shown},
    )
