"""The pipeline for programs with an event loop."""

import asyncio
import logging
import os
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from contextfind.answering.answer import Answer, Outcome, Result
from contextfind.answering.answerer import DEFAULT_TOP_K, Asked
from contextfind.config.load import NO_FILE, load_settings
from contextfind.config.model import Settings
from contextfind.domain.errors import FailedPreconditionError, UnavailableError
from contextfind.domain.identity import RequestContext
from contextfind.domain.uri import Uri
from contextfind.pipeline.intake import OWNER, Intake
from contextfind.pipeline.sources import Named, Source, documents, repositories
from contextfind.wiring import House

_log = logging.getLogger(__name__)

RESOURCES = "viking://resources"
TIMEOUT = 300.0  # seconds; some thousand passages with the built-in model on two cores
_BLANK = "The question is blank; expected a text."


class AsyncRAGQueryPipeline:
    """Takes documents in and answers questions about them, in one event loop.

    Nothing is opened before the first call. Then it holds the data directory: a second pipeline or a
    server on the same one is refused. Use it as a context manager, or call `close`.

    config_path: an ov.conf; where there is none, defaults and the environment count. data_path: the
    data directory, made when it is not there; it has the last word on `storage.path`.

    Every method raises ContextFindError for wrong arguments, a wrong configuration and a directory
    in use. What a model or an engine fails at while a question is answered raises nothing: see `query`.
    """

    def __init__(self, config_path: Named = "./ov.conf", data_path: Named = "./data") -> None:
        self._config = Path(config_path)
        self._data = Path(data_path)
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._house: House | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def add_documents(
        self,
        docs_dirs: Named | Iterable[Named],
        wait: bool = True,  # noqa: FBT001, FBT002 - the documented call
        timeout: float | None = TIMEOUT,  # noqa: ASYNC109 - ends with our own error, which says what goes on
        *,
        parent: str = RESOURCES,
    ) -> list[str]:
        """Add files and directories, and return the address of each: `parent` and its name.

        wait: return when all of it can be found, by words and by meaning; else at once, and the work
        goes on. timeout: seconds for all of it. Adding again brings only what changed.

        Raises:
            NotFoundError: one is not there. InvalidArgumentError: two of one name; `parent` is no address.
            DeadlineExceededError: not finished in time; the work goes on.
            FailedPreconditionError: one cannot be read as a whole.

        """
        above = Uri.parse(parent)
        found = await asyncio.to_thread(documents, docs_dirs, above, self._data)
        return await self._add(found, timeout, wait=wait)

    async def add_code_repos(
        self,
        repos: Named | Iterable[Named],
        wait: bool = True,  # noqa: FBT001, FBT002 - the documented call
        timeout: float | None = TIMEOUT,  # noqa: ASYNC109 - as above
        *,
        parent: str = RESOURCES,
    ) -> list[str]:
        """Add repositories, and return the address of each: `parent` and its name.

        A directory is taken as it lies there, without what its .gitignore names. An address (https,
        http, ssh, git, file, user@host:path) and a bare repository are cloned by git, the newest files
        only, and the clone is removed again; that is waited for in any case.

        Raises:
            InvalidArgumentError: an address that git is not given, or as for `add_documents`.
            UnavailableError: git could not clone one; those before it stay.
            NotFoundError, DeadlineExceededError, FailedPreconditionError: as for `add_documents`, or
                git is not installed.

        """
        above = Uri.parse(parent)
        found = await asyncio.to_thread(repositories, repos, above, self._data)
        return await self._add(found, timeout, wait=wait)

    async def query(
        self,
        question: str,
        top_k: int = DEFAULT_TOP_K,
        generate_answer: bool = True,  # noqa: FBT001, FBT002 - the documented call
    ) -> Result:
        """Return always the same four keys: question, contexts, answer, retrieved_uris.

        contexts: the text behind each of `retrieved_uris`, best first, at most `top_k`: small files
        whole, of long ones what fits the question. answer: by the chat model of `vlm`, from the contexts
        alone; `[1]` stands for the first address, and the addresses behind the numbers follow. Without a
        chat model, for a blank question, and where a model or an engine fails, it says so. Empty with `generate_answer=False`.

        Raises:
            InvalidArgumentError: `top_k` outside of 1 to 100.

        """
        if not question.strip():  # one of hundreds must not end the loop that asks them
            return Answer(question, Outcome.FAILED, text=_BLANK).as_result()
        asked = Asked(question, top_k, generate=generate_answer)
        try:
            house = await self._opened()
        except UnavailableError as fault:
            said = f"The data cannot be opened: {fault}"
            return Answer(question, Outcome.FAILED, text=said).as_result()
        answer = await house.answerer.answer(RequestContext(OWNER, house.new_id()), asked)
        return answer.as_result()

    async def close(self) -> None:
        """Let go of the data directory; work that is not finished goes on when it is opened again.

        Closing twice is fine. No other call may be under way.
        """
        self._closed = True
        async with self._opening:
            self._house = None
            await self._stack.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _add(self, sources: list[Source], seconds: float | None, *, wait: bool) -> list[str]:
        intake = Intake(await self._opened(), seconds)
        jobs = await intake.start(sources)
        if wait:
            await intake.finished(jobs)
        return [source.uri.text for source in sources]

    async def _opened(self) -> House:
        loop = asyncio.get_running_loop()
        if self._closed:
            raise FailedPreconditionError("the pipeline is closed; make a new one")
        if self._loop not in (None, loop):
            raise FailedPreconditionError(
                "the pipeline was opened in another event loop; use it in that one, or use "
                "RAGQueryPipeline, which has a loop of its own"
            )
        async with self._opening:
            if self._house is None:
                self._loop = loop
                settings = await asyncio.to_thread(self._settings)
                # Whoever runs the pipeline may read what this process may read: nothing is asked from afar.
                opening = House.open(settings, served=[Path(self._data.absolute().anchor)])
                self._house = await self._stack.enter_async_context(opening)
            return self._house

    def _settings(self) -> Settings:
        data = {"storage.path": str(self._data)}
        loaded = load_settings(str(self._config), os.environ, data, optional=True)
        if loaded.source == NO_FILE:
            _log.info("there is no configuration file %s; defaults are used", self._config)
        if loaded.ignored_sections:
            _log.warning("%s: ignored: %s", loaded.source, ", ".join(loaded.ignored_sections))
        return loaded.settings
