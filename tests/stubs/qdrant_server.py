"""A Qdrant server of one node: the wire of `qdrant-client` in front of Qdrant's own engine, which a package brings.

Only the calls that `adapters/qdrant` makes. What a search finds, which conditions hold, what is counted: all of that
is the engine's. Only the names of collections and the reading of JSON are made up here.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import qdrant_edge as edge
from qdrant_client import models

Json = dict[str, Any]

_DISTANCES = {"Dot": edge.Distance.Dot, "Cosine": edge.Distance.Cosine}


@dataclass
class QdrantServer(httpx.AsyncBaseTransport):
    """Takes the requests of one client. home: an empty directory of its own. asked: which calls were made."""

    home: Path
    shards: dict[str, edge.EdgeShard] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, Json] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    indexing_threshold: int | None = None  # KB of vectors from which `settle` draws a graph

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        body = json.loads(await request.aread() or b"null")
        parts = request.url.path.strip("/").split("/")
        self.asked.append("/".join([request.method, *parts[2:]]))
        if parts == [""]:
            return httpx.Response(200, json={"title": "qdrant", "version": "1.20.0"})
        try:
            result = self._result(request.method, parts, body)
        except KeyError as missing:
            return httpx.Response(404, json={"status": {"error": f"no collection {missing}"}})
        except FileExistsError as error:
            return httpx.Response(409, json={"status": {"error": str(error)}})
        return httpx.Response(200, json={"result": result, "status": "ok", "time": 0.0})

    async def aclose(self) -> None:
        """Close the collections; what they held stays in `home`."""
        for shard in self.shards.values():
            shard.close()

    def settle(self) -> None:
        """Merge segments and draw graphs, as a server does behind its searches."""
        for shard in self.shards.values():
            shard.optimize()

    def _result(self, method: str, parts: Sequence[str], body: Any) -> Any:  # noqa: PLR0911, C901 - one arm per call
        match method, *parts:
            case "GET", "aliases":
                return {"aliases": [_alias(a, c) for a, c in self.aliases.items()]}
            case "GET", "collections":
                return {"collections": [{"name": name} for name in self.shards]}
            case "POST", "collections", "aliases":
                self._turn(body["actions"])
                return True
            case "GET", "collections", name, "exists":
                return {"exists": name in self.shards}
            case "GET", "collections", name:
                return _told(self.shards[name], self.vectors[name])
            case "PUT", "collections", name:
                return self._create(name, body)
            case "DELETE", "collections", name:
                self.shards.pop(name).close()
                shutil.rmtree(self.home / name)
                return True
            case _, "collections", name, *call:
                shard = self.shards[self.aliases.get(name, name)]
                return _CALLS[method, *call](shard, body)
            case _:
                raise AssertionError(f"nobody answers {method} {parts}")

    def _turn(self, actions: Sequence[Json]) -> None:
        for action in actions:
            if gone := action.get("delete_alias"):
                del self.aliases[gone["alias_name"]]
            if made := action.get("create_alias"):
                self.aliases[made["alias_name"]] = made["collection_name"]

    def _create(self, name: str, body: Json) -> bool:
        if name in self.shards:
            raise FileExistsError(f"Collection `{name}` already exists!")
        (self.home / name).mkdir()
        self.vectors[name] = body["vectors"]
        config = edge.EdgeConfig(
            vectors={
                key: edge.EdgeVectorParams(v["size"], _DISTANCES[v["distance"]])
                for key, v in body["vectors"].items()
            },
            sparse_vectors={key: edge.EdgeSparseVectorParams() for key in body["sparse_vectors"]},
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=self.indexing_threshold),
            wal_enabled=False,  # nothing here has to survive the machine
        )
        self.shards[name] = edge.EdgeShard.create(str(self.home / name), config)
        return True


def _alias(name: str, collection: str) -> Json:
    return {"alias_name": name, "collection_name": collection}


def _told(shard: edge.EdgeShard, vectors: Json) -> Json:
    info = shard.info()
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": info.points_count,
        "segments_count": info.segments_count,
        "config": {
            "params": {"vectors": vectors},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
            "optimizer_config": {"default_segment_number": 0, "flush_interval_sec": 5},
        },
        "payload_schema": {},
    }


def _index(shard: edge.EdgeShard, body: Json) -> Json:
    schema = dict(body["field_schema"])
    kind = {"keyword": edge.KeywordIndexParams, "integer": edge.IntegerIndexParams}
    params = kind[schema.pop("type")](**schema)
    shard.update(edge.UpdateOperation.create_field_index(body["field_name"], params))
    return _done()


def _query(shard: edge.EdgeShard, body: Json) -> list[Json]:
    requests = [models.QueryRequest.model_validate(one) for one in body["searches"]]
    return [{"points": [_point(p) for p in shard.query(_request(one))]} for one in requests]


def _count(shard: edge.EdgeShard, body: Json) -> Json:
    asked = models.CountRequest.model_validate(body)
    return {"count": shard.count(edge.CountRequest(exact=True, filter=_filter(asked.filter)))}


def _facet(shard: edge.EdgeShard, body: Json) -> Json:
    asked = models.FacetRequest.model_validate(body)
    found = shard.facet(
        edge.FacetRequest(asked.key, asked.limit or 10, asked.exact or False, _filter(asked.filter))
    )
    return {"hits": [{"value": hit.value, "count": hit.count} for hit in found.hits]}


def _retrieve(shard: edge.EdgeShard, body: Json) -> list[Json]:
    return [_record(point) for point in shard.retrieve(body["ids"], True, False)]


def _scroll(shard: edge.EdgeShard, body: Json) -> Json:
    asked = models.ScrollRequest.model_validate(body)
    points, following = shard.scroll(
        edge.ScrollRequest(
            offset=asked.offset,
            limit=asked.limit,
            filter=_filter(asked.filter),
            with_payload=asked.with_payload,
        )
    )
    after = None if following is None else str(following)
    return {"points": [_record(point) for point in points], "next_page_offset": after}


def _update(shard: edge.EdgeShard, body: Json) -> list[Json]:
    steps = models.UpdateOperations.model_validate(body).operations
    for step in steps:
        match step:
            case models.UpsertOperation(upsert=models.PointsList() as written):
                points = [edge.Point(p.id, _vectors(p.vector), p.payload) for p in written.points]
                only = None if written.update_filter is None else _filter(written.update_filter)
                shard.update(edge.UpdateOperation.upsert_points(points, only))
            case models.DeleteOperation(delete=models.FilterSelector(filter=which)):
                shard.update(edge.UpdateOperation.delete_points_by_filter(_filter(which)))
            case _:
                raise AssertionError(f"nobody takes {step}")
    return [_done() for _ in steps]


_CALLS = {
    ("PUT", "index"): _index,
    ("POST", "points", "query", "batch"): _query,
    ("POST", "points", "count"): _count,
    ("POST", "facet"): _facet,
    ("POST", "points"): _retrieve,
    ("POST", "points", "scroll"): _scroll,
    ("POST", "points", "batch"): _update,
}


def _done() -> Json:
    return {"operation_id": 0, "status": "completed"}


def _point(point: edge.ScoredPoint) -> Json:
    return {"id": str(point.id), "version": 0, "score": point.score, "payload": point.payload}


def _record(point: edge.Record) -> Json:
    return {"id": str(point.id), "payload": point.payload}


def _vectors(vectors: Any) -> Any:
    return {
        name: edge.SparseVector(v.indices, v.values) if isinstance(v, models.SparseVector) else v
        for name, v in vectors.items()
    }


def _request(asked: models.QueryRequest) -> edge.QueryRequest:
    query, params = None, None
    if asked.query is not None:
        vector: Any = asked.query
        if isinstance(vector, models.NearestQuery):
            vector = vector.nearest
        if isinstance(vector, models.SparseVector):
            vector = edge.SparseVector(vector.indices, vector.values)
        query = edge.Query.Nearest(vector, asked.using)
    if asked.params is not None:
        params = edge.SearchParams(asked.params.hnsw_ef, asked.params.exact or False)
    return edge.QueryRequest(
        asked.limit or 10,
        query=query,
        with_payload=asked.with_payload,
        filter=_filter(asked.filter),
        params=params,
    )


def _filter(asked: models.Filter | None) -> edge.Filter:
    if asked is None:
        return edge.Filter()
    clauses = (asked.must, asked.should, asked.must_not)
    return edge.Filter(*(None if c is None else [_condition(one) for one in c] for c in clauses))


def _condition(asked: models.Condition) -> Any:
    match asked:
        case models.Filter():
            return _filter(asked)
        case models.HasIdCondition(has_id=ids):
            return edge.HasIdCondition(set(ids))
        case models.IsEmptyCondition(is_empty=empty):
            return edge.IsEmptyCondition(empty.key)
        case models.FieldCondition(key=key, range=models.Range() as within):
            bounds = edge.RangeFloat(within.gte, within.gt, within.lte, within.lt)
            return edge.FieldCondition(key, range=bounds)
        case models.FieldCondition(key=key):
            return edge.FieldCondition(key, match=_match(asked.match))
        case _:
            raise AssertionError(f"nobody knows {asked}")


def _match(asked: models.Match | None) -> Any:
    match asked:
        case models.MatchValue(value=value):
            return edge.MatchValue(value)
        case models.MatchAny(any=values):
            return edge.MatchAny(values)
        case models.MatchPrefix(prefix=prefix):
            return edge.MatchPrefix(prefix)
        case models.MatchSubstring(substring=substring):
            return edge.MatchSubstring(substring)
        case _:
            raise AssertionError(f"nobody knows {asked}")
