"""Small inputs that broke systems of this kind: what a find answers to them.

The number in a name is that of the case in docs/compatibility.md.
"""
# ruff: noqa: N802 - the numbers are written as there

import json
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from itertools import count

import numpy as np
import pytest
import pytest_asyncio

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.config.model import EmbeddingSettings
from contextfind.domain.errors import FailedPreconditionError
from contextfind.domain.filters import Everything
from contextfind.domain.identity import Identity
from contextfind.domain.scope import visible_to
from contextfind.ports.index import Probe
from tests.api.caller import error_of, result_of
from tests.api.living import SHELVES, WRITE, Tenant, Town, living, packed, town
from tests.builders import DIMENSION, make_change, make_record, units
from tests.fakes import SimpleTokenizer
from tests.stubs.embedder import Fault, StubEmbedder, stub_embedder

pytestmark = pytest.mark.asyncio(loop_scope="module")

FX_TREE = {
    "viking://resources/projects/atlas/release.md": "# Release\n\nFreeze, canary 5 %, full.\n\n## Rollback\n\nRevert.\n",
    "viking://resources/projects/atlas/oncall.md": "# On call\n\nWho has the pager.\n",
    "viking://resources/projects/atlas2/release.md": "# Release\n\nFreeze, canary 6 %, full.\n",
    "viking://resources/runbooks/rollback.md": "# Rollback\n\nRevert the release.\n",
    "viking://resources/中文资料/发布流程.md": "# 发布流程\n\n先灰度发布, 再全量发布。\n",
}
PROJECTS = "viking://resources/projects"
ATLAS = f"{PROJECTS}/atlas"
numbers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("cases")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def ann(place) -> Tenant:
    """The only user of an account of its own: an empty tree."""
    return await place.tenant(f"case{next(numbers)}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tree(place) -> Tenant:
    """A user with FX-TREE; tests only read it."""
    tenant = await place.tenant("tree")
    await tenant.fill(FX_TREE)
    return tenant


async def refused(tenant: Tenant, **body: object) -> str:
    return error_of(await tenant.find(**body), 400, "INVALID_ARGUMENT")["message"]


def remote(stub: StubEmbedder, model: str = "m", **more: object) -> EmbeddingSettings:
    """Return settings of an embedder behind HTTP whose cosines count as they are."""
    calibration = {"calibration_floor": 0, "calibration_span": 1}
    return EmbeddingSettings(
        provider="openai", model=model, api_base=stub.base_url, **{**calibration, **more}
    )


class Compass(StubEmbedder):
    """Texts that hold a word of the table get its vector, all others the last one."""

    def vector(self, text: str, dimension: int | None = None) -> list[float]:
        assert dimension is None
        table = {"opposite": [-1.0, 0.0], "near": [0.6, 0.8], "north": [1.0, 0.0]}
        known = [row for word, row in table.items() if word in text]
        return known[0] if known else [0.1, -0.995]


# what is found


async def test_R001_an_omitted_level_means_all_levels(ann):
    texts = [f"line one\n{'canary rollout' if n < 5 else 'tea'} {n}\nend\n" for n in range(20)]
    await ann.fill({f"viking://resources/notes/n{n}.md": text for n, text in enumerate(texts)})
    asked = {"query": "canary rollout", "target_uri": "viking://resources/notes", "limit": 10}
    hits = await ann.hits(**asked)
    assert [hit["uri"] for hit in hits] == await ann.uris(**asked, level=[0, 1, 2])
    assert len([hit for hit in hits if hit["level"] == 2]) >= 5


async def test_R011_an_answer_is_never_padded(tmp_path):
    with closing(Compass(2)) as stub:
        async with living(tmp_path, embedding=remote(stub)) as http:
            me = Tenant(http)
            files = {f"viking://resources/d{n}/a.md": f"zzz{n}" for n in range(8)}
            files |= {f"viking://resources/e{n}/a.md": f"near{n}" for n in range(2)}
            await me.fill(files)
            body = {"query": "north", "score_threshold": 0.25, "limit": 6, "level": 2}
            hits = await me.hits(**body)
            assert [hit["uri"] for hit in hits] == [
                "viking://resources/e0/a.md",
                "viking://resources/e1/a.md",
            ]
            without = await me.hits(query="north", limit=100, level=2)
            assert len(without) == 10


async def test_R014_the_same_question_gives_the_same_bytes_also_after_a_restart(tmp_path):
    asked = {"query": "topic3 paragraph about rollouts", "limit": 20}
    answers = set()
    for start in range(2):
        async with living(tmp_path) as http:
            me = Tenant(http)
            if start == 0:
                text = "A paragraph about topic{} and rollouts."
                files = {
                    f"viking://resources/t{n % 12}/f{n // 12}.md": text.format(n % 12)
                    for n in range(60)
                }
                await me.fill(files)
            answers |= {(await me.find(**asked)).content for _ in range(6)}
    assert len(answers) == 1


async def test_R020_a_trailing_slash_changes_nothing(tree):
    plain = await tree.find(query="release", target_uri=ATLAS)
    slashed = await tree.find(query="release", target_uri=f"{ATLAS}/")
    assert plain.content == slashed.content
    uris = [hit["uri"] for hit in result_of(plain)["resources"]]
    assert uris
    assert all(uri.startswith(f"{ATLAS}/") for uri in uris)


async def test_R022_the_root_is_everything_the_caller_may_see(tree):
    whole = await tree.find(query="release")
    assert result_of(whole)["total"] == 10
    for target in ("viking://", ""):
        assert (await tree.find(query="release", target_uri=target)).content == whole.content


async def test_R024_targets_are_a_union_and_a_missing_one_empties_nothing(tree):
    nested = await tree.uris(query="release", target_uri=[PROJECTS, ATLAS], limit=20)
    assert nested == await tree.uris(query="release", target_uri=PROJECTS, limit=20)
    assert len(nested) == len(set(nested))
    with_gap = await tree.uris(query="release", target_uri=[PROJECTS, f"{PROJECTS}/no"], limit=20)
    assert with_gap == nested
    none = await tree.find(query="release", target_uri=[])
    assert none.content == (await tree.find(query="release")).content


async def test_R027_the_effective_limit_lies_between_1_and_100(tree):
    for body, field in (
        ({"limit": 5, "node_limit": 1_000_000}, "node_limit"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
    ):
        assert (await refused(tree, query="x", **body)).startswith(f"{field} is ")
    assert len(await tree.hits(query="release", limit="10")) == 10


async def test_R034_a_vector_that_is_no_number_never_reaches_an_answer(tmp_path):
    def spoiled(value):
        return lambda data: [{**item, "embedding": [value] * 8} for item in data]

    with stub_embedder() as stub:
        async with living(tmp_path, embedding=remote(stub)) as http:
            me = Tenant(http)
            await me.write("viking://resources/good.md", "good words")
            await me.settled()  # the stub spoils whatever comes next
            for value in (0.0, float("nan"), float("inf")):
                stub.faults.append(Fault(spoil=spoiled(value)))
                answer = await me.find(query=f"good {value}", level=2)
                shown = json.loads(answer.content, parse_constant=pytest.fail)["result"]
                assert [hit["uri"] for hit in shown["resources"]] == ["viking://resources/good.md"]
                assert answer.headers["x-notes"].startswith("searched%20by%20words%20only")
            stub.faults.append(Fault(spoil=spoiled(0.0)))
            await me.write("viking://resources/zero.md", "zero words", wait=False)
            answer = await me.find(query="words", limit=100)
            assert all(0 <= hit["score"] <= 1 for hit in result_of(answer)["resources"])


async def test_R037_a_tag_finds_the_one_far_file_among_many_near_ones(ann):
    near = {f"n{n}.md": f"production stage runbook {n}" for n in range(200)}
    await ann.upload("near.zip", packed(near), to="viking://resources/near")
    await ann.write("viking://resources/far.md", "tea", tags=["stage=production"])
    found = await ann.uris(query="production stage runbook", tags=["Stage=production "], limit=5)
    assert found == ["viking://resources/far.md"]


async def test_R038_bad_tags_are_neither_stored_nor_searched(ann):
    uri = "viking://resources/a.md"
    for bad in ("default", "bad="):
        body = {"uri": uri, "content": "text", "tags": [bad, "team=search"]}
        error_of(await ann.post(WRITE, body), 400, "INVALID_ARGUMENT")
    error_of(await ann.get("content/read", uri=uri), 404, "NOT_FOUND")
    await ann.write(uri, "text", tags=["team=search"])
    (hit,) = await ann.hits(query="text", level=2)
    assert hit["tags"] == ["team=search"]
    for bad in ("bad=", "a=b=c", "=x"):
        assert (await refused(ann, query="x", tags=[bad])).startswith(f"tags[0] is {bad!r}; ")


async def test_R041_created_and_updated_are_two_times(place, ann):
    start, uri = place.watch.now, "viking://resources/a.md"
    try:
        await ann.write(uri, "one")
        place.watch.now = start + timedelta(hours=1)
        await ann.write(uri, "two")
        later = place.watch.now.isoformat()
        soon = (start + timedelta(seconds=1)).isoformat()
        created = {"time_field": "created_at", "until": soon, "level": 2}
        assert await ann.uris(query="two", **created) == [uri]
        assert await ann.uris(query="two", since=later, level=2) == [uri]
        assert await ann.uris(query="two", since="2h", level=2) == [uri]
        assert await ann.uris(query="two", until=soon, level=2) == []
    finally:
        place.watch.now = start
    assert (await refused(ann, query="x", since="2h", until="3h")).startswith("since is '2h' and")
    assert (await refused(ann, query="x", since="2026-13-40")).startswith("since is '2026-13-40'")


async def test_R042_all_bounds_of_a_filter_hold_and_none_is_dropped(place, ann):
    start = place.watch.now
    try:
        for hour in range(4):
            place.watch.now = start + timedelta(hours=hour)
            await ann.write(f"viking://resources/h{hour}.md", f"hour {hour}")
        await ann.settled()
    finally:
        place.watch.now = start
    low, high = (start + timedelta(hours=hour) for hour in (1, 3))
    bounds = [
        {"op": "range", "field": "created_at", "gte": low.isoformat()},
        {"op": "range", "field": "created_at", "lt": high.isoformat()},
        {"op": "must", "field": "level", "conds": [2]},
    ]
    found = await ann.uris(query="", filter={"op": "and", "conds": bounds})
    assert found == ["viking://resources/h1.md", "viking://resources/h2.md"]
    others = [
        {"op": "must_not", "field": "name", "conds": ["h1.md", "h2.md"]},
        {"op": "must", "field": "level", "conds": [2]},
    ]
    found = await ann.uris(filter={"op": "and", "conds": others})
    assert found == ["viking://resources/h0.md", "viking://resources/h3.md"]
    for bad in ({**bounds[0], "op": "between"}, {**bounds[0], "field": "owner"}):
        message = await refused(ann, query="x", filter={"op": "and", "conds": [bounds[0], bad]})
        assert message.startswith("filter.conds[1].")


async def test_R043_conditions_that_say_nothing_are_no_conditions(tree):
    plain = (await tree.find(query="release")).content
    for empty in (
        {"filter": {}},
        {"filter": {"op": "and", "conds": []}},
        {"tags": []},
        {"context_type": []},
    ):
        assert (await tree.find(query="release", **empty)).content == plain
        assert (await refused(tree, **empty)).startswith("query is ''; ")


async def test_R045_a_hit_of_several_branches_is_one_hit(tree):
    def either(*names):
        return {
            "op": "or",
            "conds": [
                {"op": "must", "field": "name", "conds": [names[0]]},
                {"op": "contains", "field": "name", "substring": names[1]},
            ],
        }

    where = {"op": "and", "conds": [either("release.md", "rele"), either("release.md", ".md")]}
    hits = await tree.hits(query="release", filter=where, limit=7)
    assert len(hits) == 2
    assert len({(hit["uri"], hit["level"]) for hit in hits}) == 2


async def test_R049_a_threshold_equal_to_a_score_keeps_its_hit(tree):
    hits = await tree.hits(query="release canary", limit=10)
    third = hits[2]
    kept = await tree.hits(query="release canary", limit=10, score_threshold=third["score"])
    assert third in kept


async def test_R050_a_vector_that_points_away_scores_0_and_is_still_an_answer(tmp_path):
    with closing(Compass(2)) as stub:
        async with living(tmp_path, embedding=remote(stub)) as http:
            me = Tenant(http)
            await me.fill({f"viking://resources/{n}.md": n for n in ("opposite", "north")})
            hits = await me.hits(query="north?", level=2)
            assert hits == await me.hits(query="north?", level=2, score_threshold=0.0)
            assert [hit["uri"][-8:] for hit in hits][-1] == "osite.md"
            assert all(0 <= hit["score"] <= 1 for hit in hits)
            assert len(hits) == 2


async def test_R065_every_section_of_a_file_is_found_under_the_address_of_the_file(ann):
    words = [f"{first}{last}" for first in ("ka", "lo", "mi", "nu") for last in ("ba", "do", "fe")]
    filler = "This paragraph speaks of something else entirely, at length. " * 12
    sections = [
        f"## Part {n}\n\n{filler}\n\nThe mark is mark{word}x.\n" for n, word in enumerate(words)
    ]
    uri = "viking://resources/long/book.md"
    await ann.write(uri, "# Book\n\n" + "\n".join(sections))
    await ann.write("viking://resources/other/a.md", filler)
    for number, word in enumerate(words):
        hits = await ann.hits(query=f"mark{word}x", level=2)
        assert hits[0]["uri"] == uri
        assert f"Part {number}" in hits[0]["match_reason"]


async def test_R066_what_two_ways_lead_to_is_one_hit_and_its_place_is_filled(tree):
    hits = await tree.hits(query="release rollback", limit=10)
    assert len(hits) == 10
    assert len({(hit["uri"], hit["level"]) for hit in hits}) == 10


async def test_R096_fewer_matches_than_the_limit_are_all_of_them(ann):
    for number in range(10):
        tags = ["t=1"] if number in (3, 7) else None
        await ann.write(f"viking://resources/f{number}.md", f"text {number}", tags=tags)
    assert len(await ann.hits(query="text", tags=["t=1"], limit=10)) == 2
    few = {"query": "text", "target_uri": [f"viking://resources/f{n}.md" for n in range(3)]}
    assert len(await ann.hits(**few, limit=100)) == 3


async def test_R098_a_hundred_of_a_thousand_are_the_hundred_nearest():
    rows = units(range(1_000))
    changes = [
        make_change(n + 1, make_record(n, f"viking://resources/d{n % 20}/f{n}.md"), ["text"], [n])
        for n in range(len(rows))
    ]
    index = await EmbeddedIndex.open(None, DIMENSION, "tests", SimpleTokenizer())
    await index.follow(changes)
    scope = visible_to(Identity("acme", "ann"))
    asked = units(range(5_000, 5_050))
    probes = [Probe(scope, Everything(), 100, vector, ()) for vector in asked]
    answers = await index.search(probes)
    await index.aclose()
    for vector, hits in zip(asked, answers, strict=True):
        nearest = set(np.argsort(-(rows @ vector), kind="stable")[:100].tolist())
        assert {int(hit.id) for hit in hits} == nearest


# quoting


async def test_R048_quotes_and_backslashes_are_only_characters(ann):
    target = "viking://resources/a'b\"c"
    await ann.write(f"{target}/x\\.md", 'he said "a"', tags=['note=he said "x"'])
    assert await ann.uris(query='\\"a\\"', level=2) == [f"{target}/x\\.md"]
    assert await ann.uris(tags=['note=he said "x"']) == [f"{target}/x\\.md"]
    assert await ann.uris(query="x", target_uri=target, level=2) == [f"{target}/x\\.md"]
    where = {"op": "must", "field": "name", "conds": ["x\\.md"]}
    assert await ann.uris(filter=where) == [f"{target}/x\\.md"]
    assert await ann.uris(filter={**where, "conds": ["x\\", "' OR 1=1 --"]}) == []


# who asks


async def test_R117_another_users_memory_is_found_in_no_way(place):
    alice, bob = await place.account("r117", ["alice", "bob"])
    await bob.write("viking://~/memories/locker.md", "my locker is 42", tags=["k=locker"])
    assert "viking://user/bob/memories/locker.md" in await bob.uris(query="locker")
    anything = {"op": "not", "cond": {"op": "must", "field": "name", "conds": ["nothing"]}}
    for body in (
        {"query": "my locker is 42"},
        {"query": "locker", "context_type": "memory"},
        {"tags": ["k=locker"]},
        {"filter": anything},
        {"query": "locker", "filter": {"op": "or", "conds": [anything, anything]}},
        {"filter": {"op": "must", "field": "uri", "conds": ["viking://user"]}},
        {"filter": {"op": "prefix", "field": "uri", "prefix": "viking://user/bob"}},
        {"query": "locker", "target_uri": "viking://user"},
    ):
        answer = await alice.find(**body, limit=100)
        assert "bob" not in answer.text
        assert "my locker" not in answer.text
        assert result_of(answer)["total"] >= 0


async def test_R118_the_same_address_in_two_accounts_is_two_records(place):
    first, second = await place.tenant("r118a"), await place.tenant("r118b")
    uri = "viking://resources/x.md"
    for tenant in (first, second):
        await tenant.write(uri, "shared words", tags=["v=1"])
        await tenant.settled()
    asked = {"query": "shared words", "limit": 100, "read_content": True}
    before = (await second.find(**asked)).content
    await first.write(uri, "other words", tags=["v=2"])
    assert (await second.find(**asked)).content == before
    await first.remove("viking://resources")
    assert (await second.find(**asked)).content == before
    assert await first.uris(query="words", level=2) == []


async def test_R123_a_header_never_makes_one_user_another(place):
    alice, bob = await place.account("r123", ["alice", "bob"])
    await bob.write("viking://~/memories/marker.md", "bobmarker")
    claiming = Tenant(place.http, {**alice.key, "X-OpenViking-User": "bob"})
    assert "bobmarker" not in (await claiming.find(query="bobmarker")).text
    body = {"uri": "viking://user/bob/memories/evil.md", "content": "x"}
    error_of(await claiming.post(WRITE, body), 403, "PERMISSION_DENIED")
    assert await bob.uris(query="evil", level=2, filter=None) == [
        "viking://user/bob/memories/marker.md"
    ]


async def test_R130_all_three_shelves_obey_identity_and_target(place):
    first, second = await place.tenant("r130a"), await place.tenant("r130b")
    for tenant, word in ((first, "alpha"), (second, "beta")):
        await tenant.fill(
            {
                "viking://~/memories/m.md": f"zebra {word}",
                "viking://resources/one/r.md": f"zebra {word}",
                "viking://resources/two/r.md": f"zebra {word}",
                "viking://agent/skills/s/SKILL.md": f"---\nname: s\ndescription: zebra {word}\n---\n",
            }
        )
    answer = await first.find(query="zebra", limit=100)
    assert all(result_of(answer)[shelf] for shelf in SHELVES)
    assert "beta" not in answer.text
    one = await first.uris(query="zebra", target_uri="viking://resources/one", level=2)
    assert one == ["viking://resources/one/r.md"]
    skills = await first.uris(query="zebra", target_uri="viking://agent", level=2)
    assert skills == ["viking://agent/skills/s/SKILL.md"]


async def test_R121_without_a_key_writing_and_finding_are_the_same_user(tmp_path):
    for start in range(2):
        async with living(tmp_path) as http:
            me = Tenant(http)
            if start == 0:
                await me.write("viking://~/memories/a.md", "tangerine")
            uris = await me.uris(query="tangerine", context_type="memory", level=2)
            assert uris == ["viking://user/default/memories/a.md"]


# the embedder


async def test_R164_the_dimension_is_asked_for_and_a_longer_vector_is_cut(tmp_path):
    for sends in (True, None):
        with stub_embedder(8) as stub:
            stub.dimensions = sends
            async with living(tmp_path / str(sends), embedding=remote(stub, dimension=4)) as http:
                me = Tenant(http)
                await me.write("viking://resources/a.md", "text")
                (hit,) = await me.hits(query="text", level=2)
                assert 0 <= hit["score"] <= 1
            assert all(request.body["dimensions"] == 4 for request in stub.requests)


@pytest.mark.parametrize(("model", "dimension"), [("m2", 8), ("m1", 16)])
async def test_R165_R167_vectors_of_two_models_are_never_compared(tmp_path, model, dimension):
    with stub_embedder(8) as stub:
        async with living(tmp_path, embedding=remote(stub, "m1")) as http:
            await Tenant(http).write("viking://resources/a.md", "text")
    with (
        stub_embedder(dimension) as stub,
        pytest.raises(FailedPreconditionError, match="--reembed"),
    ):
        async with living(tmp_path, embedding=remote(stub, model)):
            pytest.fail("the server started")


async def test_a_fact_in_the_last_line_of_a_long_file_is_found_first(ann):
    filler = "\n\n".join(
        f"Notes of day {day}: nothing happened at the plant." for day in range(4_500)
    )
    long_file = f"{filler}\n\nThe spare key hangs behind the barometer.\n"
    assert len(long_file) > 200_000
    rivals = {
        f"viking://resources/notes/{name}.md": f"The {name} of the plant is looked at every day.\n"
        for name in ("barometer", "key", "spare")
    }
    await ann.fill({"viking://resources/notes/diary.md": long_file, **rivals})
    best, *_ = await ann.hits(query="where does the spare key hang?", level=2)
    assert best["uri"] == "viking://resources/notes/diary.md"
