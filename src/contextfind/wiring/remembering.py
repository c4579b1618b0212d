"""Engines and the services of the tree -> what finds memories in conversations."""

from contextfind.ingestion.writing import Writer
from contextfind.retrieval.finder import Finder
from contextfind.sessions.memories import MemoryExtractor
from contextfind.sessions.notebook import MemoryDesk
from contextfind.wiring.engines import Engines


def build_memories(engines: Engines, finder: Finder, writer: Writer) -> MemoryExtractor | None:
    """Return what finds memories by the language model, None without one."""
    if engines.chat is None:
        return None
    company = engines.storage.company
    desk = MemoryDesk(finder, writer, engines.store, engines.blobs, company)
    return MemoryExtractor(engines.chat, desk)
