"""From text to the records and blobs that stand for it; pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.domain.documents import make_passage
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.plain_text import plain_text
from contextfind.domain.records import (
    OVERVIEW_NAME,
    Level,
    context_type_of,
)
from contextfind.domain.tags import parse_tags
from contextfind.domain.uri import Uri
from contextfind.ingestion.parsing.markdown import read_markdown
from contextfind.ingestion.parsing.reader import read_document
from contextfind.ingestion.passages import PassageRules, cut, place_of
from contextfind.ingestion.summarising import (
    ChildNote,
    directory_abstract,
    directory_overview,
    file_abstract,
)
from contextfind.ports import RecordDraft


@dataclass(frozen=True, slots=True)
class Drafted:
    """Records to commit, and the blobs that must be stored before."""

    drafts: tuple[RecordDraft, ...]
    blobs: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """Both summaries of a directory; `digest` of what an author was told, empty without one."""

    abstract: str
    overview: str
    digest: str = ""


def digest_of(data: bytes) -> str:
    """Return the address of a blob: SHA-256, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def draft_file(
    uri: Uri,
    data: bytes,
    tags: tuple[str, ...] | None,
    rules: PassageRules,
    origin: str = "",
) -> Drafted:
    """Return the level-2 record of a file; tags of its own front matter come under the given ones.

    origin: which ingest of a tree brings it.

    Raises:
        InvalidArgumentError: not a text that can be read; `details["reason"]` is "binary" for binaries.

    """
    document = read_document(uri.name, data)
    body = document.text.encode("utf-8", "replace")
    own = parse_tags([*document.tags, *(tags or ())])
    draft = RecordDraft(
        uri=uri,
        level=Level.DETAIL,
        context_type=context_type_of(uri),
        abstract=plain_text(file_abstract(document, uri.name)),
        passages=cut(document, place_of(uri), rules),
        tags=None if tags is None and not own else own,
        content=digest_of(body),
        source=digest_of(data),
        size=len(body),
        origin=origin,
    )
    return Drafted((draft,), (body, data) if document.converted else (body,))


def draft_files(
    files: Sequence[tuple[Uri, bytes]],
    tags: tuple[str, ...] | None,
    rules: PassageRules,
    origin: str,
) -> list[Drafted | InvalidArgumentError]:
    """Return the draft of each file, in order; what cannot be read gives its error instead."""
    return [_draft_or_error(uri, data, tags, rules, origin) for uri, data in files]


def draft_directory(
    uri: Uri, children: Sequence[ChildNote], rules: PassageRules, written: Written | None = None
) -> Drafted:
    """Return the level-0 and level-1 records of a directory.

    written: what an author wrote about it; without it they are quoted from what it lists.
    """
    if written is None:
        abstract = directory_abstract(uri.name, children)
        written = Written(abstract, directory_overview(uri.name, children))
    # Abstracts of older versions have control characters in them, too many together for a text.
    abstract, overview = plain_text(written.abstract), plain_text(written.overview)
    body = overview.encode()
    place = place_of(uri)
    short = RecordDraft(
        uri=uri,
        level=Level.ABSTRACT,
        context_type=context_type_of(uri),
        abstract=abstract,
        passages=(make_passage(0, "", abstract, place),),
        size=len(abstract.encode()),
    )
    long = RecordDraft(
        uri=uri,
        level=Level.OVERVIEW,
        context_type=context_type_of(uri),
        abstract=abstract,
        passages=cut(read_markdown(OVERVIEW_NAME, overview), place, rules),
        content=digest_of(body),
        source=written.digest,
        size=len(body),
    )
    return Drafted((short, long), (body,))


def placeholders(uri: Uri, description: str = "") -> tuple[RecordDraft, ...]:
    """Return a directory's records before anything is known of its contents: named, not findable.

    With a description they are findable by it until the contents say more.
    """
    text = description or uri.name
    passages = (make_passage(0, "", description, place_of(uri)),) if description else ()
    return tuple(
        RecordDraft(uri, level, context_type_of(uri), text, passages)
        for level in (Level.ABSTRACT, Level.OVERVIEW)
    )


def _draft_or_error(
    uri: Uri, data: bytes, tags: tuple[str, ...] | None, rules: PassageRules, origin: str
) -> Drafted | InvalidArgumentError:
    try:
        return draft_file(uri, data, tags, rules, origin)
    except InvalidArgumentError as error:
        return error
