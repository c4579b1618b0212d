"""Looking once, behind the requests, for what a crash or a disk has left in pieces, and putting it right."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import Level, RecordId
from contextfind.ports.housekeeping import BlobPresence, Chore, NamedText, Swept, TextNames

_log = logging.getLogger(__name__)

_RECORDS = 500  # whose texts are looked for at once: some milliseconds
_BREATH = 0.02  # seconds between two steps: whoever came meanwhile goes first

Sleep = Callable[[float], Awaitable[None]]


class Mender:
    """Does its chores once, in small steps, and says in one line each what was put right.

    give_way: returns when nobody is being answered, or soon.
    """

    def __init__(
        self,
        chores: Sequence[Chore],
        give_way: Callable[[], Awaitable[None]],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._chores = chores
        self._give_way = give_way
        self._sleep = sleep

    async def run(self) -> None:
        """Do all of it, then wait until cancelled; may be cancelled at any moment."""
        for chore in self._chores:
            await self._do(chore)
        await asyncio.Event().wait()

    async def _do(self, chore: Chore) -> None:
        swept = Swept()
        try:
            async with aclosing(chore.steps()) as steps:
                async for step in steps:
                    swept += step
                    await self._sleep(_BREATH)
                    await self._give_way()
        except UnavailableError as fault:
            _log.warning("the self-check broke off: %s: %s", chore.things, fault)
        if swept.things:
            _log.warning("repaired: %d %s", swept.things, chore.things)


class LostTexts:
    """The chore of finding texts whose blob is gone.

    The summaries of directories are written again; files are named in the log, account by account, since only
    their owners can bring their texts back.
    """

    def __init__(self, names: TextNames, blobs: BlobPresence) -> None:
        self._names = names
        self._blobs = blobs

    @property
    def chore(self) -> Chore:
        """What there is to do; its things are the summaries."""
        return Chore("directories whose overview was lost", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        after = RecordId(0)
        while page := await self._names.texts(after, _RECORDS):
            after = page[-1].id
            yield Swept(await self._look(page))

    async def _look(self, page: Sequence[NamedText]) -> int:
        absent = set(await self._blobs.absent([text.content for text in page]))
        if not absent:
            return 0
        lost = [text for text in page if text.content in absent]
        sources = await self._blobs.absent([text.source for text in lost if text.source])
        summaries = [text for text in lost if text.level is not Level.DETAIL]
        files = [text for text in lost if text.level is Level.DETAIL]
        if await self._names.give_up(files, sources):
            _tell(files)
        return await self._names.give_up(summaries, ())


def _tell(lost: Sequence[NamedText]) -> None:
    for account in sorted({text.account for text in lost}):
        texts = [text.uri for text in lost if text.account == account]
        _log.error(
            "account %s: the texts of %d files are lost, the first is %s; add or write them again, "
            "or put the data back from a backup",
            account,
            len(texts),
            texts[0],
        )
