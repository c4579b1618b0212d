"""Moving and tagging by HTTP: before a house of fakes, and before a real one with several tenants."""
# ruff: noqa: N802 - the numbers are those of the cases in docs/compatibility.md

from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

from contextfind.domain.uri import Uri
from contextfind.ports import Retag
from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, Town, town

MV = "/api/v1/fs/mv"
SET_TAGS = "/api/v1/fs/attrs/set_tags"
DOCS = Uri("viking://resources/docs")
A = DOCS.child("a.md")

# before fakes


@pytest.fixture
def tree(api):
    api.house.browser.folders |= {("default", DOCS)}
    api.house.browser.texts["default", A] = "one"
    return api


async def moving(api, source, target, **more):
    return await api.http.post(MV, json={"from_uri": source, "to_uri": target, **more})


async def test_a_move_answers_both_addresses_when_finds_know_of_it(tree):
    answer = await moving(tree, DOCS.text + "/", "viking://~/docs", odd=1)
    assert result_of(answer) == {
        "from": "viking://resources/docs",
        "to": "viking://user/default/docs",
        "moved_count": 2,
    }
    assert answer.headers["x-ignored-fields"] == "odd"
    assert tree.house.settling.positions == [7]


async def test_a_change_that_finds_do_not_know_of_in_time_says_that_it_is_done(tree):
    tree.house.settling.follows = False
    error = error_of(await moving(tree, A.text, DOCS.text + "/b.md"), 504, "DEADLINE_EXCEEDED")
    assert error["message"].startswith("done, but ")
    body = {"uri": DOCS.text, "tags": ["a=1"]}
    error_of(await tree.http.post(SET_TAGS, json=body), 504, "DEADLINE_EXCEEDED")


@pytest.mark.parametrize(
    ("source", "target", "status", "code"),
    [
        ("docs", A.text, 400, "INVALID_URI"),
        (A.text, "viking://nope/a.md", 400, "INVALID_URI"),
        (DOCS.text, A.text, 400, "INVALID_ARGUMENT"),
        ("viking://resources/none.md", "viking://resources/b.md", 404, "NOT_FOUND"),
        (A.text, DOCS.text, 409, "ALREADY_EXISTS"),
    ],
)
async def test_a_wrong_move_is_refused(tree, source, target, status, code):
    error_of(await moving(tree, source, target), status, code)
    assert tree.house.browser.texts == {("default", A): "one"}


@pytest.mark.parametrize("place", [A, DOCS.child("b.md")])
async def test_where_a_task_is_at_work_nothing_moves_until_it_has_ended(tree, place):
    tree.house.jobs.working.add(("default", place))
    error = error_of(await moving(tree, A.text, DOCS.text + "/b.md"), 409, "CONFLICT")
    assert error["details"]["retryable"] is True
    tree.house.jobs.working.clear()
    result_of(await moving(tree, A.text, DOCS.text + "/b.md"))


@pytest.mark.parametrize("field", ["from_uri", "to_uri"])
async def test_a_move_names_the_address_that_is_missing_or_none(api, field):
    body = {"from_uri": A.text, "to_uri": "viking://resources/b.md"}
    wrong = await api.http.post(MV, json={**body, field: "x"})
    assert error_of(wrong, 400, "INVALID_URI")["message"].startswith(f"{field}: address 'x'")
    missing = await api.http.post(MV, json={**body, field: None})
    assert error_of(missing, 400, "INVALID_ARGUMENT")["message"].startswith(f"{field} is missing")


async def test_the_attributes_of_an_address_are_its_tags(tree):
    answer = await tree.http.get("/api/v1/fs/attrs", params={"uri": A.text})
    assert result_of(answer) == {
        "uri": A.text,
        "context_type": "resource",
        "attrs": {"tags": ["kind=note"]},
    }
    for uri, status, code in (("docs", 400, "INVALID_URI"), (DOCS.text + "/x", 404, "NOT_FOUND")):
        error_of(await tree.http.get("/api/v1/fs/attrs", params={"uri": uri}), status, code)


async def test_tags_are_set_as_they_are_kept(tree):
    body = {"uri": A.text, "tags": [" Team=Docs", "prio=1"], "mode": "append"}
    shown = result_of(await tree.http.post(SET_TAGS, json=body))
    assert tree.house.writer.retags == [Retag(A, ("prio=1", "team=docs"), "append")]
    assert shown == {
        "uri": A.text,
        "updated_uris": [A.text],
        "root_uri": A.text,
        "context_type": "resource",
        "tags": ["kind=note"],  # what the browser says it has now
        "mode": "append",
        "success_count": 1,
        "skipped_count": 0,
        "failed_count": 0,
        "tags_updated": True,
    }


@pytest.mark.parametrize(
    ("body", "status", "code", "told"),
    [
        ({"tags": ["a=1"]}, 400, "INVALID_ARGUMENT", "uri is missing"),
        ({"uri": A.text, "tags": ["abc"]}, 400, "INVALID_ARGUMENT", "tags[0] is 'abc'; "),
        ({"uri": A.text, "tags": ["a=1"] * 201}, 400, "INVALID_ARGUMENT", "tags"),
        ({"uri": A.text, "mode": "zap"}, 400, "INVALID_ARGUMENT", "mode is 'zap'; "),
        ({"uri": A.text, "mode": "clear", "tags": ["a=1"]}, 400, "INVALID_ARGUMENT", "mode is"),
        ({"uri": DOCS.text + "/x.md", "tags": []}, 404, "NOT_FOUND", "nothing is stored"),
        ({"uri": "x", "tags": []}, 400, "INVALID_URI", "uri: address 'x'"),
    ],
)
async def test_wrong_tags_are_refused_and_nothing_is_set(tree, body, status, code, told):
    error = error_of(await tree.http.post(SET_TAGS, json=body), status, code)
    assert error["message"].startswith(told)
    assert tree.house.writer.retags == []


# before a real house

numbers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("moving")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def ann(place) -> Tenant:
    """The only user of an account of its own: an empty tree."""
    return await place.tenant(f"moving{next(numbers)}")


async def moved(who: Tenant, source: str, target: str):
    return result_of(await who.post(MV, {"from_uri": source, "to_uri": target}))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_moved_directory_is_found_at_its_new_address_alone(ann):
    old, new = "viking://resources/old", "viking://resources/shelf/new"
    await ann.fill({f"{old}/a.md": "the zirconium plan", f"{old}/deep/b.md": "a quince recipe"})
    await moved(ann, old, new)
    for word, name in (("zirconium", "a.md"), ("quince", "deep/b.md")):
        found = await ann.uris(query=word, limit=100)
        assert f"{new}/{name}" in found
        assert not [uri for uri in found if uri.startswith(old)]
        assert (await ann.uris(query=word, level=2, target_uri=new))[0] == f"{new}/{name}"
        assert await ann.uris(query=word, target_uri=old) == []
    error_of(await ann.get("fs/stat", uri=old), 404, "NOT_FOUND")
    assert result_of(await ann.get("content/read", uri=f"{new}/a.md")) == "the zirconium plan"
    await ann.settled()
    above = result_of(await ann.get("content/overview", uri="viking://resources"))
    assert "shelf" in above
    assert "old/" not in above


@pytest.mark.asyncio(loop_scope="module")
async def test_a_move_between_shelves_changes_who_sees_it_at_once(place):
    ann, ben = await place.account("shelves", ["ann", "ben"])
    await ann.write("viking://resources/plan.md", "the zirconium plan", tags=["k=v"])
    assert await ben.uris(query="zirconium", level=2) == ["viking://resources/plan.md"]
    await moved(ann, "viking://resources/plan.md", "viking://~/memories/plan.md")
    assert await ben.uris(query="zirconium", level=2) == []
    (hit,) = await ann.hits(query="zirconium", level=2, tags=["k=v"], context_type="memory")
    assert hit["uri"] == "viking://user/ann/memories/plan.md"
    mine = {"from_uri": "viking://user/ann/memories/plan.md", "to_uri": "viking://~/plan.md"}
    error_of(await ben.post(MV, mine), 403, "PERMISSION_DENIED")
    theirs = {"from_uri": "viking://~/plan.md", "to_uri": "viking://user/ben/plan.md"}
    error_of(await ann.post(MV, theirs), 403, "PERMISSION_DENIED")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("source", "target", "status", "code"),
    [
        ("viking://resources", "viking://agent/x", 400, "INVALID_URI"),
        ("viking://resources/d", "viking://agent", 400, "INVALID_URI"),
        ("viking://resources/d", "viking://resources/e/.abstract.md", 400, "INVALID_URI"),
        ("viking://resources/d", "viking://resources/d", 400, "INVALID_ARGUMENT"),
        ("viking://resources/d", "viking://resources/d/e", 400, "INVALID_ARGUMENT"),
        ("viking://resources/none", "viking://resources/e", 404, "NOT_FOUND"),
        ("viking://resources/d/a.md", "viking://resources/d/b.md", 409, "ALREADY_EXISTS"),
        ("viking://resources/d/a.md", "viking://resources/d", 409, "ALREADY_EXISTS"),
        ("viking://resources/d/a.md", "viking://resources/d/b.md/c", 409, "CONFLICT"),
    ],
)
async def test_moves_that_cannot_be_are_refused(ann, source, target, status, code):
    await ann.fill({f"viking://resources/d/{name}.md": name for name in "ab"})
    error_of(await ann.post(MV, {"from_uri": source, "to_uri": target}), status, code)
    listed = result_of(await ann.get("fs/ls", uri="viking://resources/d"))
    assert [line["name"] for line in listed] == ["a.md", "b.md"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_moved_skill_is_asked_for_by_its_directory(ann):
    text = "---\nname: csv-report\ndescription: Make a CSV report.\n---\n\n# How\n\nWrite rows.\n"
    result_of(await ann.post("/api/v1/skills", {"data": text, "wait": True}))
    await moved(ann, "viking://~/skills/csv-report", "viking://agent/skills/csv")
    (skill,) = result_of(await ann.get("skills"))["skills"]
    assert skill["uri"].startswith("viking://agent/skills/csv")
    result_of(await ann.get("skills/csv"))
    error_of(await ann.get("skills/csv-report"), 404, "NOT_FOUND")


@pytest.mark.asyncio(loop_scope="module")
async def test_filters_see_tags_as_soon_as_they_are_set(ann):
    a, b = (f"viking://resources/d/{name}.md" for name in "ab")
    await ann.fill({a: "quokka", b: "quokka too"})
    tags = {"uri": "viking://resources/d", "tags": ["Team=Docs"], "recursive": True}
    shown = result_of(await ann.post(SET_TAGS, tags))
    assert (shown["updated_uris"], shown["tags"]) == ([a, b], ["team=docs"])
    assert sorted(await ann.uris(query="quokka", tags=["team=docs"])) == [a, b]
    shown = result_of(await ann.post(SET_TAGS, {"uri": a, "tags": ["x=1"], "mode": "append"}))
    assert shown["tags"] == ["team=docs", "x=1"]
    assert await ann.uris(query="quokka", tags=["x=1"]) == [a]
    result_of(await ann.post(SET_TAGS, {"uri": a, "mode": "clear"}))
    assert await ann.uris(query="quokka", tags=["team=docs"]) == [b]
    assert result_of(await ann.get("fs/attrs", uri=a))["attrs"] == {"tags": []}


@pytest.mark.asyncio(loop_scope="module")
async def test_R118_tags_and_moves_of_one_account_leave_the_other_as_it_is(place):
    ann, eve = await place.tenant("r118a"), await place.tenant("r118b")
    uri = "viking://resources/x.md"
    for who in (ann, eve):
        await who.write(uri, "quokka", tags=["k=v"])
        await who.settled()
    asked = {"query": "quokka", "read_content": True}
    before = (await eve.find(**asked)).content
    result_of(await ann.post(SET_TAGS, {"uri": uri, "tags": ["other=1"]}))
    assert (await eve.find(**asked)).content == before
    await moved(ann, uri, "viking://resources/y.md")
    assert (await eve.find(**asked)).content == before
