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
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyroaring import BitMap

from contextfind.adapters.embedded.arrays import ArrayFile, Room, map_arrays
from contextfind.adapters.embedded.graph import Graph, Net, load_net
from contextfind.adapters.embedded.packing import pack_segment, unpack_segment
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.snapshot import Snapshot, View
from contextfind.domain.errors import DamagedError
from contextfind.ports.fault_points import FaultPoint, reached

_log = logging.getLogger(__name__)
_FORMAT = 5
_MANIFEST = "manifest.json"
ASIDE = ".old"  # behind the name of a directory whose place was taken
_UNFINISHED = ".tmp"
_SEGMENT, _GRAPH, _NODES = ".segment", ".graph", ".nodes"
_BROKEN = (OSError, ValueError, KeyError, TypeError, IndexError, EOFError)

Saver = Callable[[Net, Path], None]
_Files = Sequence[Mapping[str, Any]]  # of each net: `first`, and the files `links` and `nodes`


@dataclass(frozen=True, slots=True)
class Maker:
    """What segments are made with; those of another maker are of no use.

    fingerprint: of embedder and tokenizer, as the caller spells it. graphs: whether they can be read.
    """

    dimension: int
    fingerprint: str
    graphs: bool


class Shelf:
    """Keeps one snapshot in a directory. Its methods block, and wait for one another.

    What it wrote is kept for as long as somebody uses it, named in the manifest or not.
    """

    def __init__(self, directory: Path, maker: Maker) -> None:
        self._directory = directory
        self._using = threading.Lock()
        self._maker = maker
        self._segments: WeakKeyDictionary[Segment, str] = WeakKeyDictionary()
        self._graphs: WeakKeyDictionary[Graph, _Files] = WeakKeyDictionary()
        # graphs on disk that this maker does not read, but keeps
        self._unread: WeakKeyDictionary[Segment, _Files] = WeakKeyDictionary()

    @classmethod
    def maker_of(cls, directory: Path, *, graphs: bool) -> Maker | None:
        """Return who made the snapshot in a directory, None where there is none.

        Raises:
            DamagedError: that cannot be read.

        """
        shelf = cls(directory, Maker(0, "", graphs=graphs))
        if not (directory / _MANIFEST).exists() and not shelf._orphans():
            return None
        try:
            body = shelf._manifest()
            return Maker(int(body["dimension"]), str(body["fingerprint"]), graphs=graphs)
        except _BROKEN as error:
            raise DamagedError(f"the search index is damaged: {error}") from error

    def load(self) -> Snapshot:
        """Return what was written last, or an empty snapshot when that is not to be trusted.

        Segments are mapped, graphs read: that holds the interpreter, see `load_net`.
        """
        if not (self._directory / _MANIFEST).exists() and not self._orphans():
            return Snapshot()
        try:
            body = self._read_manifest()
            views = tuple(self._view(entry, self._graph_if_good) for entry in body["views"])
            self._sweep()
            return Snapshot(views, int(body["position"]))
        except _BROKEN as error:
            _log.warning("the search index in %s is built anew: %s", self._directory, error)
            return Snapshot()

    def examine(self) -> Snapshot:
        """Return what was written last, graphs too, and change nothing.

        Raises:
            DamagedError: a file is not what was written, or of another maker.

        """
        try:
            body = self._read_manifest()
            views = tuple(self._view(entry, self._graph) for entry in body["views"])
            return Snapshot(views, int(body["position"]))
        except _BROKEN as error:
            raise DamagedError(f"the search index is damaged: {error}") from error

    def _orphans(self) -> Sequence[Path]:
        """Return the segments that lie there; none where there is no directory."""
        return list(self._directory.glob(f"*{_SEGMENT}"))

    def keep(self, make: Callable[[Room], Segment]) -> Segment:
        """Have a segment made right into a file of its own, and return it as it is mapped from there.

        Raises:
            OSError: the disk does not take it.

        """
        made: list[Segment] = []

        def fill(path: Path) -> None:
            with ArrayFile(path) as file:
                made.append(make(file))
                pack_segment(made[0], file)

        with self._using:
            self._directory.mkdir(parents=True, exist_ok=True)
            name = self._put_named(fill, _SEGMENT)
            segment = unpack_segment(self._directory / name, made[0])
            self._segments[segment] = name
        return segment

    def write(self, snapshot: Snapshot, save: Saver | None) -> None:
        """Make a snapshot durable and remove the files that nobody needs.

        save: writes the graphs that were not written yet; None leaves them for another time.

        Raises:
            OSError: the disk does not take it; what was there before still counts.

        """
        with self._using:
            self._write(snapshot, save)

    def move(self, directory: Path) -> None:
        """Go on in another directory, in the place of what lies there.

        Raises:
            OSError: the disk refuses; it goes on where it was, and what lay there lies there.

        """
        with self._using:
            aside = directory.with_name(directory.name + ASIDE)
            shutil.rmtree(aside, ignore_errors=True)
            if directory.exists():
                directory.rename(aside)
            reached(FaultPoint.MID_SWAP)
            try:
                if self._directory.exists():  # nothing was written yet, else
                    self._directory.rename(directory)
            except OSError:
                if aside.exists():
                    aside.rename(directory)
                raise
            self._directory = directory
        shutil.rmtree(aside, ignore_errors=True)

    def _write(self, snapshot: Snapshot, save: Saver | None) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        entries = [self._write_view(view, save) for view in snapshot.views]
        body = self._heading() | {"position": snapshot.position, "views": entries}
        text = json.dumps(body)
        sealed = json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "body": text})
        manifest = self._put(lambda path: _write_text(path, sealed))
        reached(FaultPoint.BEFORE_MANIFEST)
        manifest.replace(self._directory / _MANIFEST)
        _sync(self._directory)
        reached(FaultPoint.AFTER_MANIFEST)
        self._sweep()

    def _heading(self) -> dict[str, Any]:
        maker = self._maker
        return {
            "format": _FORMAT,
            "dimension": maker.dimension,
            "fingerprint": maker.fingerprint,
        }

    def _manifest(self) -> dict[str, Any]:
        sealed = json.loads((self._directory / _MANIFEST).read_text("utf-8"))
        if hashlib.sha256(sealed["body"].encode()).hexdigest() != sealed["sha256"]:
            raise ValueError(f"{_MANIFEST} is not what was written")
        body: dict[str, Any] = json.loads(sealed["body"])
        return body

    def _read_manifest(self) -> dict[str, Any]:
        body = self._manifest()
        for field, mine in self._heading().items():
            if body[field] != mine:
                raise ValueError(f"it has {field} {body[field]!r}, wanted is {mine!r}")
        return body

    def _view(
        self, entry: dict[str, Any], graph_of: Callable[[_Files, Segment], Graph | None]
    ) -> View:
        path = self._verified(entry["segment"])
        segment = unpack_segment(path)
        self._segments[segment] = path.name
        dead = BitMap.deserialize(base64.b64decode(entry["dead"]))
        files = entry["graph"]
        graph = None
        if files is not None and not self._maker.graphs:
            self._unread[segment] = files
        elif files is not None:
            graph = graph_of(files, segment)
        return View(segment, dead, graph)

    def _graph_if_good(self, files: _Files, segment: Segment) -> Graph | None:
        """Return the graph of a segment; None where that is not to be trusted, and it will be drawn again."""
        try:
            return self._graph(files, segment)
        except _BROKEN as error:
            _log.warning("a graph of the search index is drawn anew: %s", error)
            return None

    def _graph(self, files: _Files, segment: Segment) -> Graph:
        graph = Graph(tuple(self._load_net(one) for one in files))
        if any(net.first + len(net.members) > len(segment.vectors) for net in graph.nets):
            raise ValueError("a graph is of another segment")
        self._graphs[graph] = files
        return graph

    def _load_net(self, files: Mapping[str, Any]) -> Net:
        node_of = map_arrays(self._verified(files["nodes"]))["node_of"]
        links = self._verified(files["links"])
        return load_net(links, int(files["first"]), node_of, self._maker.dimension)

    def _write_view(self, view: View, save: Saver | None) -> dict[str, Any]:
        segment, graph = view.segment, view.graph
        if segment not in self._segments:
            named = self._put_named(lambda path: _write_segment(segment, path), _SEGMENT)
            self._segments[segment] = named
        if graph is not None and graph not in self._graphs and save is not None:
            self._write_graph(graph, save)
        return {
            "segment": self._segments[segment],
            "dead": base64.b64encode(view.dead.serialize()).decode(),
            "graph": self._unread.get(segment) if graph is None else self._graphs.get(graph),
        }

    def _write_graph(self, graph: Graph, save: Saver) -> None:
        try:
            self._graphs[graph] = [self._write_net(net, save) for net in graph.nets]
        except OSError as error:  # the rest of the snapshot is worth having without it
            _log.warning("a graph of %d vectors was not written: %s", graph.vectors, error)

    def _write_net(self, net: Net, save: Saver) -> Mapping[str, Any]:
        def fill_nodes(path: Path) -> None:
            with ArrayFile(path) as file:
                file.put("node_of", net.node_of)
                file.seal()

        links = self._put_named(lambda path: save(net, path), _GRAPH)
        nodes = self._put_named(fill_nodes, _NODES)
        return {"first": net.first, "links": links, "nodes": nodes}

    def _put_named(self, fill: Callable[[Path], None], suffix: str) -> str:
        """Write a file that is called by its digest, and return its name."""
        written = self._put(fill)
        name = _digest(written) + suffix
        reached(FaultPoint.MID_SNAPSHOT)
        written.replace(self._directory / name)
        return name

    def _put(self, fill: Callable[[Path], None]) -> Path:
        """Let `fill` write a file, make it durable, and return where it lies for now.

        Its name is nobody else's: a copy of a process that was killed (see `aside`) may still be writing.
        """
        handle, name = tempfile.mkstemp(_UNFINISHED, dir=self._directory)
        os.close(handle)
        path = Path(name)
        try:
            fill(path)
            _sync(path)
        except BaseException:
            path.unlink(missing_ok=True)  # may be of the size of the whole index
            raise
        return path

    def _verified(self, name: str) -> Path:
        path = self._directory / name
        if _digest(path) != path.stem:
            raise ValueError(f"{name} is not what was written")
        return path

    def _sweep(self) -> None:
        nets = chain(*self._graphs.values(), *self._unread.values())
        needed = {
            *self._segments.values(),
            *(net[kind] for net in nets for kind in ("links", "nodes")),
        }
        kinds = (_SEGMENT, _GRAPH, _NODES, _UNFINISHED)
        for path in self._directory.iterdir():
            if path.suffix in kinds and path.name not in needed:
                with suppress(OSError):  # where mapped files cannot go, they go another time
                    path.unlink()


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
