"""Snapshots on disk: a cache that may be thrown away, so nothing of it is believed unchecked.

A directory holds `manifest.json` and the files it names, each called by its own SHA-256. Files are
written under another name, synced and renamed; the manifest comes last, so a crash leaves the
state before it whole.
"""

import base64
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroaring import BitMap

from contextfind.adapters.embedded.arrays import ArrayFile
from contextfind.adapters.embedded.graph import Graph, load_graph, save_graph
from contextfind.adapters.embedded.packing import pack_segment, unpack_segment
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.snapshot import Snapshot, View

_log = logging.getLogger(__name__)
_FORMAT = 4
_MANIFEST = "manifest.json"
_UNFINISHED = "unfinished.tmp"
_SEGMENT, _GRAPH = ".segment", ".graph"
_BROKEN = (OSError, ValueError, KeyError, TypeError, IndexError, EOFError)


@dataclass(frozen=True, slots=True)
class Maker:
    """What segments are made with; those of another maker are of no use.

    fingerprint: of embedder and tokenizer, as the caller spells it. graphs: whether they can be read.
    """

    dimension: int
    fingerprint: str
    graphs: bool


class Shelf:
    """Keeps one snapshot in a directory. Its methods block; one thread at a time may use them."""

    def __init__(self, directory: Path, maker: Maker) -> None:
        self._directory = directory
        self._maker = maker
        self._written: dict[Segment | Graph, str] = {}
        self._unread: dict[Segment, str] = {}  # graphs that this maker reads none of, but keeps

    def load(self) -> Snapshot:
        """Return what was written last, or an empty snapshot when that is not to be trusted."""
        if not (self._directory / _MANIFEST).exists():
            return Snapshot()
        try:
            body = self._read_manifest()
            views = tuple(self._load_view(entry) for entry in body["views"])
            return Snapshot(views, int(body["position"]))
        except _BROKEN as error:
            _log.warning("the search index in %s is built anew: %s", self._directory, error)
            return Snapshot()

    def write(self, snapshot: Snapshot, *, with_graphs: bool) -> None:
        """Make a snapshot durable and remove the files that it does not need.

        with_graphs: also those not written yet; it holds the interpreter, see `save_graph`.

        Raises:
            OSError: the disk does not take it; what was there before still counts.

        """
        self._directory.mkdir(parents=True, exist_ok=True)
        entries = [self._write_view(view, with_graphs=with_graphs) for view in snapshot.views]
        body = self._heading() | {"position": snapshot.position, "views": entries}
        text = json.dumps(body)
        sealed = json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "body": text})
        self._put(lambda path: _write_text(path, sealed)).replace(self._directory / _MANIFEST)
        _sync(self._directory)
        needed = {name for entry in entries for name in (entry["segment"], entry["graph"])}
        self._sweep(needed)
        self._written = {part: name for part, name in self._written.items() if name in needed}

    def _heading(self) -> dict[str, Any]:
        maker = self._maker
        return {
            "format": _FORMAT,
            "dimension": maker.dimension,
            "fingerprint": maker.fingerprint,
        }

    def _read_manifest(self) -> dict[str, Any]:
        sealed = json.loads((self._directory / _MANIFEST).read_text("utf-8"))
        if hashlib.sha256(sealed["body"].encode()).hexdigest() != sealed["sha256"]:
            raise ValueError(f"{_MANIFEST} is not what was written")
        body: dict[str, Any] = json.loads(sealed["body"])
        for field, mine in self._heading().items():
            if body[field] != mine:
                raise ValueError(f"it has {field} {body[field]!r}, wanted is {mine!r}")
        return body

    def _load_view(self, entry: dict[str, Any]) -> View:
        path = self._verified(entry["segment"])
        segment = unpack_segment(path)
        self._written[segment] = path.name
        dead = BitMap.deserialize(base64.b64decode(entry["dead"]))
        graph = None
        if entry["graph"] is not None and not self._maker.graphs:
            self._unread[segment] = entry["graph"]
        elif entry["graph"] is not None:
            graph = load_graph(self._verified(entry["graph"]), segment.vectors)
            self._written[graph] = entry["graph"]
        return View(segment, dead, graph)

    def _write_view(self, view: View, *, with_graphs: bool) -> dict[str, Any]:
        segment, graph = view.segment, view.graph
        if segment not in self._written:
            named = self._put_named(lambda path: _write_segment(segment, path), _SEGMENT)
            self._written[segment] = named
        if graph is not None and graph not in self._written and with_graphs:
            self._written[graph] = self._put_named(lambda path: save_graph(graph, path), _GRAPH)
        return {
            "segment": self._written[segment],
            "dead": base64.b64encode(view.dead.serialize()).decode(),
            "graph": self._unread.get(segment) if graph is None else self._written.get(graph),
        }

    def _put_named(self, fill: Callable[[Path], None], suffix: str) -> str:
        """Write a file that is called by its digest, and return its name."""
        written = self._put(fill)
        name = _digest(written) + suffix
        written.replace(self._directory / name)
        return name

    def _put(self, fill: Callable[[Path], None]) -> Path:
        """Let `fill` write a file, make it durable, and return where it lies for now."""
        path = self._directory / _UNFINISHED
        fill(path)
        _sync(path)
        return path

    def _verified(self, name: str) -> Path:
        path = self._directory / name
        if _digest(path) != path.stem:
            raise ValueError(f"{name} is not what was written")
        return path

    def _sweep(self, needed: set[str | None]) -> None:
        for path in self._directory.iterdir():
            if path.suffix in (_SEGMENT, _GRAPH) and path.name not in needed:
                path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_segment(segment: Segment, path: Path) -> None:
    with ArrayFile(path) as file:
        pack_segment(segment, file)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
