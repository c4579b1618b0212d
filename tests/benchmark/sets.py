"""A judged set: documents, queries, and which document answers which query.

A folder with corpus.jsonl {uri, title, text}, queries.jsonl {id, query, target_uri?} and qrels.jsonl {id, uri, rel};
its addresses lie below viking://resources/SET, where SET is the folder's name.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """A corpus with judged queries; documents are (address, text)."""

    name: str
    documents: Sequence[tuple[str, str]]
    queries: Sequence[Mapping[str, str]]
    relevant: Mapping[str, Mapping[str, int]]

    @property
    def root(self) -> str:
        """Where its documents lie."""
        return f"viking://resources/{self.name}"

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that change with any document, query or judgement."""
        parts = [list(self.documents), list(map(dict, self.queries)), dict(self.relevant)]
        text = json.dumps(parts, sort_keys=True, default=dict)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def read_set(folder: Path) -> RetrievalSet:
    """Read the three files of a set; queries without a judgement are left out."""
    relevant: dict[str, dict[str, int]] = {}
    for row in read_lines(folder / "qrels.jsonl"):
        relevant.setdefault(row["id"], {})[row["uri"]] = row["rel"]
    return RetrievalSet(
        folder.resolve().name,
        [(row["uri"], row["text"]) for row in read_lines(folder / "corpus.jsonl")],
        [row for row in read_lines(folder / "queries.jsonl") if row["id"] in relevant],
        relevant,
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
