"""Skills by name: which there are, what one says, and which of them a find has hit."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from contextfind.domain.errors import NotFoundError, UnavailableError
from contextfind.domain.filters import OneOf, all_of
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, Record
from contextfind.domain.results import MatchedContext
from contextfind.domain.scope import visible_to
from contextfind.domain.skills import SPELLINGS, SkillHead, skill_of, skill_roots
from contextfind.domain.uri import Uri
from contextfind.ports import BlobStore, RecordStore, body_of
from contextfind.retrieval.browsing import Browser, Entry

_AT_ONCE = 8  # files read side by side, as for the bodies of a find
_MOST = 10_000  # skills looked at for a listing; nobody keeps more, and all are sorted by name
_DEPTH = 64  # of a skill's tree: all of it
SKILL_FILTER = all_of(
    OneOf("level", frozenset({str(Level.DETAIL.value)})), OneOf("name", SPELLINGS)
)
"""What the file of a skill, and hardly anything else below the skills, satisfies."""

ReadHeads = Callable[[Sequence[str]], Awaitable[Sequence[SkillHead]]]


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill: its directory, its SKILL.md, and what that says.

    description: on one line; of a file without one what the tree says about it. digest: of the text
    of its SKILL.md.
    """

    uri: Uri
    file: Uri
    description: str
    tags: Sequence[str]
    allowed_tools: Sequence[str]
    abstract: str
    digest: str

    @property
    def name(self) -> str:
        """The name of its directory, by which it is asked for."""
        return self.uri.name

    @property
    def root(self) -> Uri:
        """The directory of skills that it lies in."""
        return self.uri.parent or self.uri


@dataclass(frozen=True, slots=True)
class SkillList:
    """Skills by name, then by address; `total` is how many there are, shown or not."""

    skills: Sequence[Skill]
    total: int


@dataclass(frozen=True, slots=True)
class SkillPage:
    """All of one skill: the text of its SKILL.md, its files by address, the overview (level 1)."""

    skill: Skill
    content: str
    overview: str
    files: Sequence[Entry]


class SkillBrowser:
    """Shows an identity the skills of its account and its own.

    Every method takes the directories to look in (None: own skills, then the shared ones) and raises
    PermissionDeniedError for somebody else's.

    heads: reads what SKILL.md files say of themselves, off the event loop.
    """

    def __init__(
        self, store: RecordStore, blobs: BlobStore, browser: Browser, heads: ReadHeads
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._browser = browser
        self._heads = heads

    async def list(
        self, identity: Identity, limit: int, roots: Sequence[Uri] | None = None
    ) -> SkillList:
        """Return the first `limit` skills by name."""
        scope = visible_to(identity, _roots(identity, roots))
        found = await self._store.select(scope, SKILL_FILTER, _MOST)
        files = {skill_of(one.uri): one for one in sorted(found, key=lambda r: r.uri, reverse=True)}
        files.pop(None, None)
        ordered = sorted(files.values(), key=_by_name)
        return SkillList(await self._told(ordered[:limit]), len(ordered))

    async def find(
        self, identity: Identity, name: str, roots: Sequence[Uri] | None = None
    ) -> Skill | None:
        """Return the skill of this name, None when there is none."""
        record = await self._record(identity, name, roots)
        return None if record is None else (await self._told([record]))[0]

    async def named(
        self, identity: Identity, name: str, roots: Sequence[Uri] | None = None
    ) -> Skill:
        """Return the skill of this name.

        Raises:
            NotFoundError: there is none.

        """
        skill = await self.find(identity, name, roots)
        if skill is None:
            places = " or ".join(root.text for root in _roots(identity, roots))
            raise NotFoundError(
                f"there is no skill {name!r} in {places}", {"resource": name, "type": "skill"}
            )
        return skill

    async def read(
        self, identity: Identity, name: str, roots: Sequence[Uri] | None = None
    ) -> SkillPage:
        """Return all of a skill.

        Raises:
            NotFoundError: there is none of this name.

        """
        skill = await self.named(identity, name, roots)
        content = await self._browser.read(identity, skill.file)
        overview = await self._browser.overview(identity, skill.uri)
        tree = await self._browser.tree(identity, skill.uri, _DEPTH, _MOST)
        return SkillPage(skill, content, overview, tree.entries)

    async def of_hits(
        self, identity: Identity, hits: Sequence[MatchedContext]
    ) -> Sequence[tuple[MatchedContext, Skill]]:
        """Return hits on the files of skills with their skills, in order, without any other hit."""
        scope = visible_to(identity)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def record_of(hit: MatchedContext) -> Record | None:
            if skill_of(hit.uri) is None:
                return None
            async with gate:
                records = await self._store.at(scope, hit.uri)
            return next((record for record in records if record.is_leaf), None)

        records = await asyncio.gather(*(record_of(hit) for hit in hits))
        there = [(hit, one) for hit, one in zip(hits, records, strict=True) if one is not None]
        skills = await self._told([record for _, record in there])
        return [(hit, skill) for (hit, _), skill in zip(there, skills, strict=True)]

    async def _record(
        self, identity: Identity, name: str, roots: Sequence[Uri] | None
    ) -> Record | None:
        """Return the record of a skill's file."""
        for root in _roots(identity, roots):
            scope = visible_to(identity, [root])
            children = await self._store.children(scope, root.child(name))
            files = [one for one in children if one.is_leaf and skill_of(one.uri) is not None]
            if files:
                return min(files, key=lambda one: one.uri)
        return None

    async def _told(self, records: Sequence[Record]) -> Sequence[Skill]:
        """Return the skills whose files these are, in order."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def text(record: Record) -> str:
            async with gate:
                try:
                    return await body_of(record, self._blobs)
                except UnavailableError:
                    return ""  # the record itself still says what it is about

        texts = await asyncio.gather(*(text(record) for record in records))
        heads = await self._heads(texts)
        return [_skill(record, head) for record, head in zip(records, heads, strict=True)]


def _skill(record: Record, head: SkillHead) -> Skill:
    return Skill(
        uri=record.uri.parent or record.uri,
        file=record.uri,
        description=head.description or record.abstract,
        tags=record.tags,
        allowed_tools=head.allowed_tools,
        abstract=record.abstract,
        digest=record.content,
    )


def _roots(identity: Identity, roots: Sequence[Uri] | None) -> Sequence[Uri]:
    return skill_roots(identity.user) if roots is None else roots


def _by_name(record: Record) -> tuple[str, Uri]:
    return ("" if record.parent is None else record.parent.name, record.uri)
