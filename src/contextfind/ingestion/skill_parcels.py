"""The skills in an upload, and each of them packed on its own."""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from contextfind.domain.errors import ContextFindError, InvalidArgumentError
from contextfind.domain.skills import SKILL_FILE, SPELLINGS, SkillHead
from contextfind.ingestion.parsing.decoding import decode
from contextfind.ingestion.selection import PRUNED
from contextfind.ingestion.skill_text import LONGEST, head_of, text_of
from contextfind.ingestion.writing import Desk
from contextfind.ports import FileSource, SourceEntry

T = TypeVar("T")

_MOST_SKILLS = 500  # of one upload; each becomes a task, and collections have dozens
_MOST_BYTES = (
    64_000_000  # of one skill: texts and scripts; all of it is in memory while it is packed
)
_READ_TOGETHER = 32  # files: some MB at most of what skills hold
_LEFT_OUT = frozenset(PRUNED.split())


@dataclass(frozen=True, slots=True)
class Refused:
    """Something in an upload that is not added: its path there, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parcel:
    """A skill in an upload.

    folder: its directory there, "" for the top. file: the path of its SKILL.md. text: of that file,
    empty when it cannot be read; then `head.errors` says why. others: its other files, by path.
    """

    folder: str
    file: str
    text: str
    head: SkillHead
    others: Sequence[SourceEntry] = ()


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The skills in an upload, by path, and the paths of the files that belong to none."""

    parcels: Sequence[Parcel]
    outside: Sequence[str] = ()


async def unpacked(desk: Desk, source: FileSource) -> Unpacked:
    """Return what is in an upload; a single file is a skill, whatever it is called.

    A skill is the outermost directory with a SKILL.md; another one below it is part of it.

    Raises:
        InvalidArgumentError: no readable upload, no SKILL.md in it, or too many of them.

    """
    entries = await source.entries(_is_left_out)
    skills: Mapping[SourceEntry, Sequence[SourceEntry]] = dict.fromkeys(entries, ())
    if not source.single:
        skills = await desk.off_loop(lambda: _outermost(entries))
    if not skills:
        raise InvalidArgumentError(
            f"there is no SKILL.md in {source.name!r}; expected one, or a zip of directories with one",
            {"field": "temp_file_id"},
        )
    if len(skills) > _MOST_SKILLS:
        raise InvalidArgumentError(
            f"{source.name!r} holds {len(skills)} skills; expected at most {_MOST_SKILLS}",
            {"field": "temp_file_id"},
        )
    found: list[Parcel] = []
    for some in _batches(list(skills)):
        for file, body in zip(some, await _bodies(source, some), strict=True):
            found.append(await _parcel(desk, file, body, skills[file]))
    inside = {entry.path for file, others in skills.items() for entry in (file, *others)}
    return Unpacked(found, [entry.path for entry in entries if entry.path not in inside])


async def packed(desk: Desk, source: FileSource, parcel: Parcel) -> tuple[bytes, Sequence[Refused]]:
    """Return a zip with the skill at its top, and which of its files could not be read.

    Raises:
        InvalidArgumentError: the skill is too large.

    """
    size = sum(entry.size for entry in parcel.others)
    if size > _MOST_BYTES:
        raise InvalidArgumentError(f"its files have {size} bytes; expected at most {_MOST_BYTES}")
    above = f"{parcel.folder}/" if parcel.folder else ""
    files: dict[str, bytes] = {SKILL_FILE: parcel.text.encode("utf-8", "replace")}
    refused: list[Refused] = []
    for some in _batches(parcel.others):
        bodies = await source.read([entry.path for entry in some])
        for entry, body in zip(some, bodies, strict=True):
            if isinstance(body, bytes):
                files[entry.path.removeprefix(above)] = body
            else:
                refused.append(Refused(entry.path, str(body)))
    return await desk.off_loop(lambda: _zipped(files)), refused


def _zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED, compresslevel=1)
    return buffer.getvalue()


def _is_left_out(directory: str) -> bool:
    return directory.rpartition("/")[2] in _LEFT_OUT


def _outermost(entries: Sequence[SourceEntry]) -> dict[SourceEntry, Sequence[SourceEntry]]:
    """Return the SKILL.md files that lie below no other skill, by path, with what belongs to each."""
    by_folder: dict[str, SourceEntry] = {}
    for entry in sorted(entries, key=lambda one: one.path):
        folder, _, name = entry.path.rpartition("/")
        if name in SPELLINGS:
            by_folder.setdefault(folder, entry)
    files = {
        folder: entry
        for folder, entry in by_folder.items()
        if not any(above in by_folder for above in _above(folder))
    }
    skills: dict[SourceEntry, list[SourceEntry]] = {entry: [] for entry in files.values()}
    for entry in entries:
        file = next((files[folder] for folder in _above(entry.path) if folder in files), entry)
        if file is not entry:
            skills[file].append(entry)
    return dict(skills)


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a path, up to the top."""
    while path:
        path = path.rpartition("/")[0]
        yield path


async def _bodies(
    source: FileSource, files: Sequence[SourceEntry]
) -> Sequence[bytes | ContextFindError]:
    """Return what stands in SKILL.md files; one that is too long gives an error."""
    short = [file.path for file in files if file.size <= LONGEST]
    read = dict(zip(short, await source.read(short), strict=True))
    return [
        read[file.path]
        if file.path in read
        else InvalidArgumentError(f"it has {file.size} bytes; expected at most {LONGEST}")
        for file in files
    ]


async def _parcel(
    desk: Desk,
    file: SourceEntry,
    body: bytes | ContextFindError,
    others: Sequence[SourceEntry],
) -> Parcel:
    folder = file.path.rpartition("/")[0]
    if isinstance(body, ContextFindError):
        return Parcel(folder, file.path, "", SkillHead(errors=(str(body),)))
    try:
        text, head = await desk.off_loop(lambda: _read(file.path, body))
    except InvalidArgumentError as fault:
        return Parcel(folder, file.path, "", SkillHead(errors=(str(fault),)))
    return Parcel(folder, file.path, text, head, others)


def _read(path: str, body: bytes) -> tuple[str, SkillHead]:
    text = text_of(decode(path, body))
    return text, head_of(text)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _READ_TOGETHER):
        yield items[start : start + _READ_TOGETHER]
