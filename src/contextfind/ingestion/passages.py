"""A document cut into passages: what is embedded, found and shown."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from contextfind.domain.context_line import JOINT
from contextfind.domain.documents import Document, Section, make_passage
from contextfind.domain.records import Passage
from contextfind.domain.uri import Uri
from contextfind.ingestion.splitting import (
    ITEMS,
    PROSE,
    VERBATIM,
    head,
    is_list,
    pieces,
    table_pieces,
    weight,
)

_SUFFIX = re.compile(r"(?<=.)\.(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,10}$")
_WORDS = re.compile(r"\w+")
_SLACK = 1.25  # a paragraph up to here stays whole: its halves would both be too short
_FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class PassageRules:
    """Lengths in Latin characters; a CJK character counts as two.

    target: passages of about this length measured best (nDCG@10 .656 -> .730 on long English files).
    longest: what should stay whole (code, tables, lists) may grow to this; with the context it stays
        below the 500 tokens that the embedder reads.
    tiny: shorter neighbouring sections share a passage: alone they say too little to be found by.
    context: the line in front; longer ones would drown a short text.
    """

    target: int = 700
    longest: int = 1_200
    tiny: int = 200
    context: int = 200


@dataclass(frozen=True, slots=True)
class _Chunk:
    headings: tuple[str, ...]
    text: str
    tiny: bool
    bare: bool = False  # a heading with nothing of its own, or the head of a class


@lru_cache(maxsize=64)  # all passages of a file that moves ask for the same two
def place_of(uri: Uri) -> str:
    """Return the way to a file as a person would say it: `projects > atlas > release notes`.

    The segments below the scope (below the user in a user's tree), without the last suffix, `-` and
    `_` as spaces; empty for a scope itself.
    """
    top = uri.scope_root
    names = () if top is None else uri.segments[len(top.segments) :]
    said = [*names[:-1], *(_SUFFIX.sub("", name) for name in names[-1:])]
    return JOINT.join(" ".join(re.sub(r"[-_]", " ", name).split()) or name for name in said)


def cut(document: Document, place: str, rules: PassageRules) -> tuple[Passage, ...]:
    """Return the passages of a document in reading order, at least one.

    place: see `place_of`; with the title and the headings it makes the context line of each passage.
    A document that fits into one passage is one. Every character of the sections that is no blank is
    in some passage; the header row of a long table is in several.
    """
    chunks = _whole(document, rules) or _merged(
        (chunk for section in document.sections for chunk in _chunks(section, rules)), rules
    )
    if not chunks:
        chunks = [_Chunk((), "", tiny=True)]
    return tuple(
        make_passage(
            ordinal,
            JOINT.join(chunk.headings),
            chunk.text,
            context_line(place, document.title, chunk.headings, rules.context),
        )
        for ordinal, chunk in enumerate(chunks)
    )


def context_line(place: str, title: str, headings: Sequence[str], limit: int) -> str:
    """Return place, title and headings in one line of at most `limit`; the outermost go first.

    The title is left out where place or headings say the same already.
    """
    parts = [part for part in place.split(JOINT) if part]
    known = set(_words(JOINT.join([place, *headings[:1]])))
    if not known.issuperset(_words(title)):
        parts.append(" ".join(title.split()))
    parts.extend(headings)
    while len(parts) > 1 and weight(JOINT.join(parts)) > limit:
        del parts[0]
    line = JOINT.join(parts)
    return line if weight(line) <= limit else head(line, limit - 2).rstrip() + "…"


def moved_line(old: Uri, new: Uri, line: str, limit: int) -> str:
    """Return a context line of a passage at one address as it reads at another: title and headings stay.

    A line of which not even the file's own name is left stays whole.
    """
    names = place_of(old).split(JOINT)
    for gone in range(len(names)):  # of a long line, the outermost names were left out
        told = JOINT.join(names[gone:])
        if (line + JOINT).startswith(told + JOINT):
            rest = line[len(told) + len(JOINT) :]
            return context_line(place_of(new), "", rest.split(JOINT) if rest else (), limit)
    return line


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.casefold().replace("_", " "))


def _whole(document: Document, rules: PassageRules) -> list[_Chunk]:
    blocks = [block for section in document.sections for block in section.blocks]
    if sum(map(len, blocks)) > rules.target or not blocks:
        return []
    text = document.text.strip("\r\n").rstrip()
    if any(
        block not in text for block in blocks
    ):  # the sections show it better than it was written
        text = "\n\n".join(blocks)
    if weight(text) > rules.target:
        return []
    common = _common([section.headings for section in document.sections])
    return [_Chunk(common, text, tiny=True)]


def _chunks(section: Section, rules: PassageRules) -> Iterator[_Chunk]:
    """Pack the blocks of a section; a heading never ends a chunk if anything follows."""
    small = sum(map(weight, section.blocks)) < rules.tiny
    bare = len(section.blocks) == 1 and bool(section.headings) and small
    group: list[str] = []
    size = 0
    for piece in _pieces(section, rules):
        more = weight(piece)
        room = rules.longest if size < rules.tiny else rules.target
        if group and size + more > room:
            yield _Chunk(section.headings, "\n\n".join(group), tiny=False)
            group, size = [], 0
        group.append(piece)
        size += more + 2
    if group:
        yield _Chunk(section.headings, "\n\n".join(group), tiny=small, bare=bare)


def _pieces(section: Section, rules: PassageRules) -> Iterator[str]:
    for block in section.blocks:
        if weight(block) <= rules.longest and (section.verbatim or _stays_whole(block, rules)):
            yield block
            continue
        cuts = VERBATIM if section.verbatim or block.startswith(_FENCES) else PROSE
        parts = table_pieces(block, rules.target)
        if parts is None:
            parts = pieces(block, rules.target, ITEMS if is_list(block) else cuts)
        yield from (part.strip("\n").rstrip() for part in parts if part.strip())


def _stays_whole(block: str, rules: PassageRules) -> bool:
    if weight(block) <= _SLACK * rules.target or block.startswith(_FENCES) or is_list(block):
        return True
    return table_pieces(block, rules.target) is not None


def _merged(chunks: Iterable[_Chunk], rules: PassageRules) -> list[_Chunk]:
    """Let tiny neighbours of one parent share a passage, and a heading alone go with what follows."""
    found: list[_Chunk] = []
    for chunk in chunks:
        last = found[-1] if found else None
        if last is not None and _joins(last, chunk, rules):
            found[-1] = _join(last, chunk)
        else:
            found.append(chunk)
    return found


def _joins(last: _Chunk, chunk: _Chunk, rules: PassageRules) -> bool:
    together = weight(last.text) + weight(chunk.text)
    if last.bare and _is_below(chunk, last):
        return together <= rules.longest
    related = last.headings[:-1] == chunk.headings[:-1] or _is_below(chunk, last)
    return last.tiny and chunk.tiny and related and together <= rules.target


def _join(last: _Chunk, chunk: _Chunk) -> _Chunk:
    text = f"{last.text}\n\n{chunk.text}"
    if last.bare and _is_below(chunk, last):
        return _Chunk(chunk.headings, text, tiny=chunk.tiny, bare=chunk.bare)
    bare = chunk.bare and not last.headings
    return _Chunk(_common([last.headings, chunk.headings]), text, tiny=True, bare=bare)


def _is_below(chunk: _Chunk, last: _Chunk) -> bool:
    depth = len(last.headings)
    return len(chunk.headings) > depth and chunk.headings[:depth] == last.headings


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all paths begin with."""
    shared = min(paths, key=len, default=())
    while any(path[: len(shared)] != shared for path in paths):
        shared = shared[:-1]
    return shared
