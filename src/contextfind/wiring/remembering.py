"""Engines and the services of the tree -> what finds memories in conversations."""

from contextlib import AsyncExitStack

from contextfind.config.model import Settings
from contextfind.ingestion.writing import Writer
from contextfind.retrieval.finder import Finder
from contextfind.sessions.memories import MemoryExtractor
from contextfind.sessions.notebook import MemoryDesk
from contextfind.wiring.engines import Engines
from contextfind.wiring.models import open_chat


def build_memories(
    settings: Settings, engines: Engines, finder: Finder, writer: Writer, stack: AsyncExitStack
) -> MemoryExtractor | None:
    """Return what finds memories by `vlm.model`, None without one; `stack` closes its connections."""
    model = open_chat(settings.vlm, stack)
    if model is None:
        return None
    return MemoryExtractor(model, MemoryDesk(finder, writer, engines.store, engines.blobs))
