"""The house as the server sees it: `wiring.House` fits, and so does a house of fakes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from contextfind.answering.assembly.assembler import Assembler
from contextfind.domain.figures import Figure
from contextfind.ingestion.adding import Adding
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.reindexing import Reindexing
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.skills import SkillWriter
from contextfind.ingestion.writing import Writer
from contextfind.ports import IdentityStore, UploadShelf
from contextfind.retrieval.browsing import Browser
from contextfind.retrieval.census import Census
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.matching import Matcher
from contextfind.retrieval.searcher import Searcher
from contextfind.retrieval.skills import SkillBrowser
from contextfind.sessions.commit import Committer
from contextfind.sessions.conversations import Conversations


class Skills(Protocol):
    """What shows skills, and what adds them."""

    @property
    def browser(self) -> SkillBrowser: ...  # noqa: D102
    @property
    def writer(self) -> SkillWriter: ...  # noqa: D102


class House(Protocol):
    """The services behind the routes.

    readiness: component -> `ok`, or one line of what is wrong. models: the same of models, without which
        finds are answered too.
    figures: what monitoring is told, of all accounts together.
    status: figures of an account as a user may know it, or of all of them together.
    """

    @property
    def finder(self) -> Finder: ...  # noqa: D102 - described above
    @property
    def searcher(self) -> Searcher: ...  # noqa: D102
    @property
    def assembler(self) -> Assembler: ...  # noqa: D102
    @property
    def browser(self) -> Browser: ...  # noqa: D102
    @property
    def census(self) -> Census: ...  # noqa: D102
    @property
    def matcher(self) -> Matcher: ...  # noqa: D102
    @property
    def writer(self) -> Writer: ...  # noqa: D102
    @property
    def adding(self) -> Adding: ...  # noqa: D102
    @property
    def committer(self) -> Committer: ...  # noqa: D102
    @property
    def skills(self) -> Skills: ...  # noqa: D102
    @property
    def jobs(self) -> Jobs: ...  # noqa: D102
    @property
    def reindexing(self) -> Reindexing: ...  # noqa: D102
    @property
    def settling(self) -> Settling: ...  # noqa: D102
    @property
    def uploads(self) -> UploadShelf: ...  # noqa: D102
    @property
    def conversations(self) -> Conversations: ...  # noqa: D102
    @property
    def identities(self) -> IdentityStore: ...  # noqa: D102

    def clock(self) -> datetime: ...  # noqa: D102
    def new_id(self) -> str: ...  # noqa: D102
    async def readiness(self) -> Mapping[str, str]: ...  # noqa: D102
    def models(self) -> Mapping[str, str]: ...  # noqa: D102
    async def figures(self) -> Sequence[Figure]: ...  # noqa: D102
    async def status(  # noqa: D102
        self, account: str | None = None, user: str | None = None
    ) -> dict[str, object]: ...
