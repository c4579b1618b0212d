"""Engines -> the services that know what a skill is."""

from dataclasses import dataclass

from contextfind.ingestion.adding import Adding
from contextfind.ingestion.skills import SkillWriter
from contextfind.ingestion.writing import Desk, Writer
from contextfind.retrieval.browsing import Browser
from contextfind.retrieval.skills import SkillBrowser
from contextfind.wiring.engines import Engines
from contextfind.wiring.services import Workers


@dataclass(frozen=True, slots=True)
class Skills:
    """What shows skills, and what adds them."""

    browser: SkillBrowser
    writer: SkillWriter


def build_skills(engines: Engines, desk: Desk, workers: Workers, adding: Adding) -> Skills:
    """Return both; front matter is read off the event loop, where files are parsed."""
    browser = Browser(engines.store, engines.blobs, workers.uses.count)
    writer = SkillWriter(desk, Writer(desk), adding, engines.storage.uploads)
    return Skills(SkillBrowser(engines.store, engines.blobs, browser, writer.heads), writer)
