"""Adding skills: from a text, or from an upload that holds one or several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.domain.errors import ConflictError, InvalidArgumentError, ResourceExhaustedError
from contextfind.domain.identity import Identity
from contextfind.domain.skills import SKILL_FILE, SkillHead, skill_root
from contextfind.domain.uri import Uri
from contextfind.ingestion.adding import Adding, AddRequest
from contextfind.ingestion.skill_parcels import Parcel, Refused, packed, unpacked
from contextfind.ingestion.skill_text import head_of, heads_of, text_of
from contextfind.ingestion.writing import Desk, Writer
from contextfind.ports import FileSource, Job, UploadShelf

_OF_ONE_SKILL = (InvalidArgumentError, ConflictError, ResourceExhaustedError)  # no fault of others
_TOLD = 5  # refused skills named in a message; the details name all


@dataclass(frozen=True, slots=True)
class AddedSkill:
    """A skill that was written, or that a job is adding.

    others: how many files came with its SKILL.md. job: None when it is written already.
    refused: files of it that could not be read.
    """

    uri: Uri
    head: SkillHead
    others: int = 0
    job: Job | None = None
    refused: Sequence[Refused] = ()


@dataclass(frozen=True, slots=True)
class SkillBatch:
    """What became of the skills of one request; `added` is never empty.

    outside: paths of files in the upload that belong to no skill.
    """

    added: Sequence[AddedSkill]
    refused: Sequence[Refused] = ()
    outside: Sequence[str] = ()


class SkillWriter:
    """Adds skills to a directory of skills; one of the same name is replaced.

    A text replaces the SKILL.md and leaves the files beside it. A zip replaces the SKILL.md and all
    files that a zip brought before.
    """

    def __init__(self, desk: Desk, writer: Writer, adding: Adding, uploads: UploadShelf) -> None:
        self._desk = desk
        self._writer = writer
        self._adding = adding
        self._uploads = uploads

    async def heads(self, texts: Sequence[str]) -> Sequence[SkillHead]:
        """Return what SKILL.md files say of themselves, in order."""
        return await self._desk.off_loop(lambda: heads_of(texts))

    async def write(
        self, identity: Identity, root: Uri, data: str | Mapping[str, object], name: str = ""
    ) -> SkillBatch:
        """Write a skill that is a SKILL.md alone; committed when this returns.

        name: what its directory must be called; any name when empty. Parts without a name get it.

        Raises:
            InvalidArgumentError: it says not what a skill must say, or `root` holds no skills.
            PermissionDeniedError: another user's tree.

        """
        skill_root(identity, root)
        if name and isinstance(data, Mapping):
            data = {"name": name, **data}
        text, head = await self._desk.off_loop(lambda: _read(data))
        if head.errors:
            raise InvalidArgumentError(
                f"data is no skill: {'; '.join(head.errors)}",
                {"field": "data", "errors": list(head.errors)},
            )
        if name and root.child(head.name).name != name:
            raise InvalidArgumentError(
                f"data is the skill {head.name!r}; expected {name!r}", {"field": "data"}
            )
        return SkillBatch([await self._put(identity, root, text, head)])

    async def add_upload(
        self, identity: Identity, root: Uri, upload: str, name: str = ""
    ) -> SkillBatch:
        """Add every skill of an upload, each with a job of its own; of a single file at once.

        One that is no good stops no other. The upload is used up, unless none was any good.
        name: the only one that is added; all when empty.

        Raises:
            InvalidArgumentError: there is no good skill in it, or `root` holds no skills.
            NotFoundError: no such upload. PermissionDeniedError: another user's tree.

        """
        skill_root(identity, root)
        source = await self._uploads.source(identity, upload, None)
        added: dict[str, AddedSkill] = {}
        refused: list[Refused] = []
        inside = await unpacked(self._desk, source)
        for parcel in inside.parcels:
            try:
                _check(parcel, added, root, name)
                added[parcel.head.name] = await self._start(identity, root, source, parcel)
            except _OF_ONE_SKILL as fault:
                refused.append(Refused(parcel.file, str(fault)))
        if not added:
            raise _nothing_added(refused)
        await self._uploads.drop(upload)
        return SkillBatch(list(added.values()), refused, inside.outside)

    async def inspect(self, identity: Identity, upload: str) -> Sequence[Parcel]:
        """Return the skills of an upload by path, good or not; the upload stays.

        Raises:
            InvalidArgumentError: no readable upload, or no SKILL.md in it. NotFoundError: no such upload.

        """
        source = await self._uploads.source(identity, upload, None)
        return (await unpacked(self._desk, source)).parcels

    async def judge(self, data: str | Mapping[str, object]) -> SkillHead:
        """Return what a skill says of itself, good or not.

        Raises:
            InvalidArgumentError: parts of which no SKILL.md can be made.

        """
        return (await self._desk.off_loop(lambda: _read(data)))[1]

    async def _start(
        self, identity: Identity, root: Uri, source: FileSource, parcel: Parcel
    ) -> AddedSkill:
        head = parcel.head
        if source.single:
            return await self._put(identity, root, parcel.text, head)
        data, refused = await packed(self._desk, source, parcel)
        name = f"skill {head.name}"  # always the same: a later zip replaces the files of this one
        upload = await self._uploads.put(identity, f"{name}.zip", data)
        uri = root.child(head.name)
        job = await self._adding.add_resource(
            identity, AddRequest(upload=upload, source_name=name, to=uri)
        )
        return AddedSkill(uri, head, len(parcel.others) - len(refused), job, refused)

    async def _put(self, identity: Identity, root: Uri, text: str, head: SkillHead) -> AddedSkill:
        uri = root.child(head.name)
        await self._writer.write(identity, uri.child(SKILL_FILE), text, "replace")
        return AddedSkill(uri, head)


def _read(data: str | Mapping[str, object]) -> tuple[str, SkillHead]:
    text = text_of(data)
    return text, head_of(text)


def _check(parcel: Parcel, added: Mapping[str, AddedSkill], root: Uri, name: str) -> None:
    """Refuse what is no skill, what has another name than the one, and a second one of the same name.

    Raises:
        InvalidArgumentError: it is one of these.

    """
    if parcel.head.errors:
        raise InvalidArgumentError("; ".join(parcel.head.errors))
    if name and root.child(parcel.head.name).name != name:
        raise InvalidArgumentError(f"it is the skill {parcel.head.name!r}; expected {name!r}")
    if parcel.head.name in added:
        raise InvalidArgumentError(
            f"another skill of the upload is named {parcel.head.name!r}, too"
        )


def _nothing_added(refused: Sequence[Refused]) -> InvalidArgumentError:
    told = "; ".join(f"{one.path}: {one.reason}" for one in refused[:_TOLD])
    more = f"; and {len(refused) - _TOLD} more" if len(refused) > _TOLD else ""
    failed = [{"path": one.path, "reason": one.reason} for one in refused]
    return InvalidArgumentError(
        f"temp_file_id holds no skill that can be added: {told}{more}",
        {"field": "temp_file_id", "failed": failed},
    )
