"""What a pipeline is to take in: paths and repositories, checked before anything is opened."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.git.origins import Origin, is_bare, looks_remote, origin_at, origin_of
from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.domain.uri import Uri

Named = str | os.PathLike[str]
_SPECIAL = "\\*?[]!# "


@dataclass(frozen=True, slots=True)
class Source:
    """A file, a directory or a repository, and the address it gets.

    path: None for a repository that is still to be cloned from `origin`. exclude: of a directory that
    holds the pipeline's own data, the pattern that leaves it out.
    """

    uri: Uri
    path: Path | None = None
    origin: Origin | None = None
    exclude: tuple[str, ...] = ()


def documents(given: Named | Iterable[Named], parent: Uri, data: Path) -> list[Source]:
    """Return files and directories with their addresses below `parent`.

    data: where the pipeline keeps its own data.

    Raises:
        NotFoundError: one is not there.
        InvalidArgumentError: one has no usable name, the address of another, or is the data itself.

    """
    return _distinct([_document(Path(one), parent, data) for one in _listed(given)])


def repositories(given: Named | Iterable[Named], parent: Uri, data: Path) -> list[Source]:
    """Return repositories with their addresses below `parent`.

    A directory with files is taken as it lies there, an address and a bare repository are cloned.

    Raises:
        NotFoundError, InvalidArgumentError: as for `documents`; or an address that git is never given.

    """
    return _distinct([_repository(os.fspath(one), parent, data) for one in _listed(given)])


def _listed(given: Named | Iterable[Named]) -> Sequence[Named]:
    return [given] if isinstance(given, str | os.PathLike) else list(given)


def _document(path: Path, parent: Uri, data: Path) -> Source:
    whole = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - keeps the name of a link
    if not whole.exists():
        raise NotFoundError(f"there is no file or directory {str(path)!r}", {"path": str(path)})
    if not whole.name:
        raise InvalidArgumentError(
            f"{str(path)!r} has no name to be found under; give what is in it", {"path": str(path)}
        )
    return Source(parent.child(whole.name), whole, exclude=_without(whole, data))


def _repository(given: str, parent: Uri, data: Path) -> Source:
    path = Path(given).expanduser()
    if given.startswith("-") or not path.exists():
        if not given.startswith("-") and not looks_remote(given):
            raise NotFoundError(f"there is no directory {given!r}", {"path": given})
        origin = origin_of(given)
        return Source(parent.child(origin.name), origin=origin)
    if is_bare(path):
        origin = origin_at(path)
        return Source(parent.child(origin.name), origin=origin)
    return _document(path, parent, data)


def _without(path: Path, data: Path) -> tuple[str, ...]:
    """Return the pattern that leaves the data out of a directory that holds it."""
    real, own = path.resolve(), data.resolve()
    if real.is_relative_to(own):
        raise InvalidArgumentError(
            f"{str(path)!r} lies in {str(data)!r}, where the pipeline keeps its own data",
            {"path": str(path)},
        )
    if not own.is_relative_to(real):
        return ()
    inside = own.relative_to(real).as_posix()
    escaped = "".join(f"\\{one}" if one in _SPECIAL else one for one in inside)
    return (f"/{escaped}",)


def _distinct(sources: Sequence[Source]) -> list[Source]:
    """Return each source once; two of one address would replace each other."""
    by_uri: dict[Uri, Source] = {}
    for source in sources:
        other = by_uri.setdefault(source.uri, source)
        if other != source:
            raise InvalidArgumentError(
                f"{_shown(other)} and {_shown(source)} would both be {source.uri}; add one of them "
                "in a call of its own with another parent",
                {"uri": source.uri.text},
            )
    return list(by_uri.values())


def _shown(source: Source) -> str:
    return str(source.path) if source.origin is None else source.origin.shown
