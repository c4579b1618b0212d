"""Engines and the finder -> what answers questions."""

from contextfind.answering.answerer import Answerer
from contextfind.answering.contexts import Budget, ContextReader, Library
from contextfind.config.model import Settings
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.uses import Count
from contextfind.wiring.engines import Engines
from contextfind.wiring.models import open_chat


def build_answerer(settings: Settings, engines: Engines, finder: Finder, count: Count) -> Answerer:
    """Return what answers by `vlm.model`, or without one says so."""
    library = Library(
        store=engines.store,
        blobs=engines.blobs,
        index=engines.index,
        embedder=engines.embedder,
        tokenizer=engines.tokenizer,
        count=count,
    )
    model = open_chat(settings.vlm, engines.board, "answers")
    return Answerer(finder, ContextReader(library, Budget()), model)
