"""Memories from conversations: what an archive says that is worth knowing later, found by a model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from contextfind.domain.conversation import Archive, SessionMessage
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ports import ChatModel
from contextfind.sessions.extraction import Extraction
from contextfind.sessions.memory_answers import SCHEMA, Item, items_in
from contextfind.sessions.memory_files import Memory
from contextfind.sessions.memory_prompts import MemoryPrompts, Window, WindowRules, windows
from contextfind.sessions.notebook import MemoryDesk, Notebook, Source
from contextfind.sessions.summary import helps_later


@dataclass(frozen=True, slots=True)
class ExtractionRules:
    """What may be asked of the model; max_tokens: of one answer, its thinking included."""

    window: WindowRules = field(default_factory=WindowRules)
    max_tokens: int = 4_000


class MemoryExtractor:
    """Asks the model once per window of an archive; what it says is data and nothing else.

    One archive of a user is read at a time, so the second of two that say the same finds the memory
    of the first.
    """

    def __init__(
        self, model: ChatModel, desk: MemoryDesk, rules: ExtractionRules | None = None
    ) -> None:
        self._model = model
        self._desk = desk
        self._rules = rules or ExtractionRules()
        self._prompts = MemoryPrompts()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def extract(
        self,
        identity: Identity,
        session_id: str,
        archive: Archive,
        messages: Sequence[SessionMessage],
    ) -> Extraction:
        """Write the memories that the archived messages give; once more changes nothing.

        messages: all of the archive, oldest first. Of windows whose answer cannot be used a line in
        `invalid` tells, as of messages there was no room for.

        Raises:
            UnavailableError: the model does not answer, or none of its answers can be used; or the
                store. What was found until then is written; the same call later finds the rest.

        """
        reading, left_out = windows(messages, self._rules.window)
        turn = self._turns.setdefault((identity.account, identity.user), asyncio.Lock())
        tree = Uri(f"viking://user/{identity.user}/memories")
        async with turn, self._desk.company.holding("remembering", identity.account, tree):
            notebook = Notebook(self._desk, identity, Source(session_id, archive.id))
            complaints, failure = await self._read(notebook, reading)
            done = await notebook.write()
        if failure is not None:
            raise failure
        if left_out:
            complaints.append(f"the first {len(left_out)} messages were not read: too many at once")
        return replace(done, invalid=[*complaints, *done.invalid])

    async def _ask(
        self, window: Window, known: Sequence[tuple[Uri, Memory]]
    ) -> tuple[Sequence[Item], Sequence[str]]:
        question = self._prompts.question(window, known)
        return items_in(await self._model.complete(question, self._rules.max_tokens, SCHEMA))

    async def _read(
        self, notebook: Notebook, reading: Sequence[Window]
    ) -> tuple[list[str], UnavailableError | None]:
        """Note what each window gives; return complaints, and the failure that left nothing to go on."""
        complaints: list[str] = []
        failures: list[UnavailableError] = []
        for window in reading:
            known = await notebook.known(window.of_the_user)
            try:
                items, wrong = await self._ask(window, known)
            except UnavailableError as fault:
                if helps_later(fault):
                    return complaints, fault  # the next window would only wait for it again
                failures.append(fault)
                complaints.append(f"{window.place}: {fault}")
                continue
            complaints += [f"{window.place}: {one}" for one in wrong]
            await notebook.note(items, window.day)
        every = failures and len(failures) == len(reading)
        return complaints, failures[-1] if every else None
