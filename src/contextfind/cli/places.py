"""Where judged sets are asked: in a house of this process, or on a running server."""

import asyncio
import io
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from contextfind.answering.answer import Answer
from contextfind.answering.answerer import Asked
from contextfind.answering.contexts import FILES
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.intake import LOOK_SECONDS, OWNER
from contextfind.cli.judged import JudgedSet, Question
from contextfind.cli.meter import Countdown, Meter
from contextfind.client import AsyncClient
from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion, RetrieverMode
from contextfind.domain.uri import Uri
from contextfind.ingestion.adding import AddRequest
from contextfind.ports import Job, JobState
from contextfind.wiring import House

_PATIENCE = 86_400.0  # seconds until all of a set can be found: as long as it takes


class Place(Protocol):
    """Somewhere a set can be added and asked about."""

    async def add(self, judged: JudgedSet, shown: Meter) -> None:
        """Return when all texts of the set can be found.

        Raises:
            Complaint, ClientError: they cannot be added.

        """
        ...

    async def find(self, question: Question, root: Uri, limit: int) -> Sequence[Uri]:
        """Return the files that are found, best first.

        Raises:
            ContextFindError, ClientError: the search failed.

        """
        ...


class OwnHouse:
    """A house of this process. thinking: searches as `search` does, with the reranker."""

    def __init__(self, house: House, *, thinking: bool) -> None:
        self._house = house
        self._mode = RetrieverMode.THINKING if thinking else RetrieverMode.QUICK

    async def add(self, judged: JudgedSet, shown: Meter) -> None:
        """See `Place.add`."""
        name = f"{judged.name}.zip"
        packed = await asyncio.to_thread(archive_of, judged)
        upload = await self._house.uploads.put(OWNER, name, packed)
        request = AddRequest(upload=upload, source_name=judged.name, to=judged.root)
        job = await self._followed(
            await self._house.adding.add_resource(OWNER, request), judged, shown
        )
        if job.state is not JobState.COMPLETED:
            raise Complaint(f"{judged.name}: {job.error or job.state.value}", ExitCode.FAILED)

    async def find(self, question: Question, root: Uri, limit: int) -> Sequence[Uri]:
        """See `Place.find`."""
        asked = FindQuestion(
            question.text,
            targets=[question.target or root],
            limit=limit,
            where=FILES,
            mode=self._mode,
        )
        found = await self._house.finder.find(self._context(), asked)
        hits = [*found.memories, *found.resources, *found.skills]
        return [hit.uri for hit in sorted(hits, key=lambda hit: (-hit.score, hit.uri))]

    async def answer(self, question: Question, root: Uri, top_k: int) -> Answer:
        """Return what the house answers; it says itself where something failed."""
        asked = Asked(question.text, top_k, target=question.target or root)
        return await self._house.answerer.answer(self._context(), asked)

    def _context(self) -> RequestContext:
        return RequestContext(OWNER, self._house.new_id())

    async def _followed(self, job: Job, judged: JudgedSet, shown: Meter) -> Job:
        countdown = Countdown()
        while not job.state.ended:
            if job.stage == "embedding":
                left = await self._house.settling.settle(OWNER.account, judged.root, 0)
                done, total = countdown.at(left.texts)
                shown.show(f"{judged.name}: embedded", done, total, "texts")
            else:
                shown.show(f"{judged.name}: indexed", job.done, job.total, "files")
            await asyncio.sleep(LOOK_SECONDS)
            job = await self._house.jobs.get(OWNER, job.id)
        return job


class Server:
    """A running server; what is added stays there. thinking: asks `search`, not `find`."""

    def __init__(self, client: AsyncClient, *, thinking: bool) -> None:
        self._client = client
        self._thinking = thinking

    async def add(self, judged: JudgedSet, shown: Meter) -> None:
        """See `Place.add`."""
        with tempfile.TemporaryDirectory(prefix="contextfind-eval-") as work:
            file = Path(work) / f"{judged.name}.zip"
            await asyncio.to_thread(lambda: file.write_bytes(archive_of(judged)))
            await self._client.add_resource(
                file,
                to=judged.root.text,
                source_name=judged.name,
                wait=True,
                timeout=_PATIENCE,
                progress=lambda stage, done, total: shown.show(
                    f"{judged.name}: {stage}", done, total, ""
                ),
            )

    async def find(self, question: Question, root: Uri, limit: int) -> Sequence[Uri]:
        """See `Place.find`."""
        ask = self._client.search if self._thinking else self._client.find
        target = (question.target or root).text
        found = await ask(question.text, target_uri=target, level=2, limit=limit)
        return [Uri.parse(hit.uri) for hit in found.hits]


def archive_of(judged: JudgedSet) -> bytes:
    """Return the texts of a set as a zip of files.

    Raises:
        Complaint: a text lies outside of the set's own directory.

    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for uri, text in judged.texts.items():
            if uri == judged.root or not uri.is_under(judged.root):
                raise Complaint(
                    f"{judged.name}: {uri} lies outside of {judged.root}; the addresses of a set lie "
                    "below viking://resources/SET, where SET is the name of its folder",
                    ExitCode.USAGE,
                )
            path = uri.text.removeprefix(judged.root.folder)
            data = text.encode("utf-8", "replace")
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED, 1)
    return packed.getvalue()
