"""Engines and the finder -> what answers questions, and what assembles contexts."""

from dataclasses import dataclass

from contextfind.answering.answerer import Answerer
from contextfind.answering.assembly.assembler import Assembler, Workshop
from contextfind.answering.assembly.ledger import Ledger
from contextfind.answering.assembly.reading import OfferReader
from contextfind.answering.assembly.rewriting import Rewriter
from contextfind.answering.contexts import Budget, ContextReader, Library
from contextfind.config.model import Settings
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.searcher import Recollect, Searcher
from contextfind.retrieval.uses import Count
from contextfind.wiring.background import Ground
from contextfind.wiring.engines import Engines
from contextfind.wiring.models import open_chat, planner_settings


@dataclass(frozen=True, slots=True)
class Asking:
    """What makes something of questions: a plan, an answer, a context for a prompt."""

    searcher: Searcher
    answerer: Answerer
    assembler: Assembler


def build_asking(ground: Ground, recollect: Recollect, count: Count) -> Asking:
    """Return all of them; without a language model each says so.

    recollect: what is left of a session.
    """
    settings, engines, finder = ground.settings, ground.engines, ground.finder
    searcher = Searcher(finder, ground.around.timer, recollect, engines.analyzer)
    return Asking(
        searcher,
        build_answerer(settings, engines, finder, count),
        build_assembler(settings, engines, finder, searcher, count),
    )


def build_answerer(settings: Settings, engines: Engines, finder: Finder, count: Count) -> Answerer:
    """Return what answers by `vlm.model`, or without one says so."""
    model = open_chat(settings.vlm, engines.board, "answers")
    return Answerer(finder, _reader(engines, count), model)


def build_assembler(
    settings: Settings, engines: Engines, finder: Finder, searcher: Searcher, count: Count
) -> Assembler:
    """Return what assembles contexts; digests are made by the model that plans searches, if there is one."""
    model = open_chat(planner_settings(settings), engines.board, "digests")
    workshop = Workshop(
        finder=finder,
        searcher=searcher,
        store=engines.store,
        reader=OfferReader(engines.store, engines.blobs, _reader(engines, count)),
        ledger=Ledger(),
        rewriter=None if model is None else Rewriter(model),
        count=count,
    )
    return Assembler(workshop)


def _reader(engines: Engines, count: Count) -> ContextReader:
    library = Library(
        store=engines.store,
        blobs=engines.blobs,
        index=engines.index,
        embedder=engines.embedder,
        tokenizer=engines.tokenizer,
        count=count,
    )
    return ContextReader(library, Budget())
