"""What monitoring is told of the house: how much is there, what waits, what was done since the start."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.domain.figures import Figure, counter, gauge
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.writing import Tally
from contextfind.ports import JobState
from contextfind.retrieval.recent import RecentVectors
from contextfind.wiring.engines import Engines
from contextfind.wiring.services import Workers

_DOWN = {"closed": 0.0, "half_open": 0.5, "open": 1.0}
_PLAN = "plan_"  # so begin the index's counts of how probes were answered


@dataclass(frozen=True, slots=True)
class Measured:
    """What the figures are read from."""

    engines: Engines
    workers: Workers
    jobs: Jobs
    tally: Tally
    recent: RecentVectors

    async def figures(self) -> Sequence[Figure]:
        """Return all figures; nothing is counted for it that grows with the data."""
        sizes = await self.engines.storage.upkeep.sizes()
        return [
            *self._of_index(),
            *await self._of_queues(),
            *self._of_work(),
            *self._of_models(),
            Figure("data_bytes", "Bytes on disk, without blobs.", "gauge", sizes, "part"),
        ]

    def _of_index(self) -> Sequence[Figure]:
        stats = self.engines.index.stats()
        plans = {
            name.removeprefix(_PLAN): count
            for name, count in stats.items()
            if name.startswith(_PLAN)
        }
        return [
            gauge("index_records", "Records that a find may return.", stats.get("records", 0)),
            gauge("index_rows", "Passages in the index, dead ones included.", stats.get("rows", 0)),
            gauge("index_segments", "Write-once parts of the index.", stats.get("segments", 0)),
            gauge("index_graph_rows", "Vectors in graphs.", stats.get("graph_rows", 0)),
            gauge("index_scanned_rows", "Vectors that are scanned.", stats.get("scanned_rows", 0)),
            gauge(
                "index_under_way", "Merges, graphs and writes to come.", stats.get("under_way", 0)
            ),
            Figure("index_probes", "Probes, by how they were answered.", "counter", plans, "plan"),
        ]

    async def _of_queues(self) -> Sequence[Figure]:
        backlog = await self.engines.store.backlog()
        position = await self.engines.index.position()
        under_way = self.jobs.under_way()
        waiting = {"texts": backlog.texts, "directories": backlog.directories}
        tasks = {
            state.value: under_way.get(state, 0) for state in (JobState.PENDING, JobState.RUNNING)
        }
        lag = max(backlog.position - position, 0)
        return [
            gauge("log_position", "Changes committed, ever.", backlog.position),
            gauge("index_position", "Changes that the index shows.", position),
            gauge("index_lag", "Changes committed that the index does not show yet.", lag),
            Figure("backlog", "Texts to embed, directories to summarise.", "gauge", waiting, "of"),
            Figure("tasks", "Tasks that are not ended.", "gauge", tasks, "state"),
        ]

    def _of_work(self) -> Sequence[Figure]:
        tally, recent = self.tally, self.recent
        asked = {"remembered": recent.remembered, "asked": recent.asked}
        return [
            counter("files_written", "Files committed.", tally.files),
            counter("passages_written", "Passages committed.", tally.passages),
            counter("records_removed", "Records removed.", tally.removed),
            counter("texts_embedded", "Texts given a vector.", self.workers.embedding.embedded),
            Figure(
                "question_vectors",
                "Questions whose vector was remembered, and those an embedder was asked about.",
                "counter",
                asked,
                "from",
            ),
        ]

    def _of_models(self) -> Sequence[Figure]:
        told = self.engines.board.standings()
        calls = {one.name: one.calls for one in told}
        failures = {one.name: one.failures for one in told}
        down = {one.name: _DOWN[one.state] for one in told}
        return [
            Figure("model_calls", "Requests to a model behind HTTP.", "counter", calls, "model"),
            Figure("model_failures", "Those of no use.", "counter", failures, "model"),
            Figure(
                "model_down",
                "1 while it is left alone, 0.5 when the next call is to find out, else 0.",
                "gauge",
                down,
                "model",
            ),
        ]
