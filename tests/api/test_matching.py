"""search/grep and search/glob before a real house with several tenants."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse
from tests.api.living import Tenant, town

GREP, GLOB = "/api/v1/search/grep", "/api/v1/search/glob"
DOCS = "viking://resources/docs"
FILES = {
    f"{DOCS}/a.md": "# Atlas\n\nset root_api_key = 1\nand a Root_Api_Key\n",
    f"{DOCS}/en/auth notes.md": "nothing\nroot_api_key again\n",
    f"{DOCS}/en/deep/c.txt": "回滚 root_api_key 步骤\n",
    "viking://agent/d.md": "root_api_key of agents\n",
    "viking://~/e.md": "my root_api_key\n",
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def people(tmp_path_factory) -> AsyncIterator[tuple[Tenant, Tenant]]:
    """Ann, whose account holds the files, and Ben of the same account."""
    async with town(tmp_path_factory.mktemp("matching")) as place:
        ann, ben = await place.account("matching", ["ann", "ben"])
        await ann.fill(FILES)
        yield ann, ben


@pytest.fixture
def ann(people) -> Tenant:
    return people[0]


async def grep(who: Tenant, pattern: str, **more):
    return result_of(await who.post(GREP, {"pattern": pattern, **more}))


async def glob(who: Tenant, pattern: str, **more) -> list[str]:
    found = result_of(await who.post(GLOB, {"pattern": pattern, **more}))
    assert found["count"] == len(found["matches"])
    return found["matches"]


async def test_lines_come_by_address_and_number(ann):
    assert await grep(ann, "root_api_key", uri=DOCS) == {
        "matches": [
            {"uri": f"{DOCS}/a.md", "line": 3, "content": "set root_api_key = 1"},
            {"uri": f"{DOCS}/en/auth notes.md", "line": 2, "content": "root_api_key again"},
            {"uri": f"{DOCS}/en/deep/c.txt", "line": 1, "content": "回滚 root_api_key 步骤"},
        ],
        "count": 3,
        "match_count": 3,
        "files_scanned": 3,
        "has_more": False,
    }


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"case_insensitive": True}, [3, 4, 2, 1]),
        ({"node_limit": 2}, [3, 2]),
        ({"node_limit": "1"}, [3]),
        ({"level_limit": 1}, [3]),
        ({"level_limit": 2}, [3, 2]),
        ({"exclude_uri": f"{DOCS}/en"}, [3]),
        ({"exclude_uri": f"{DOCS}/a.md", "level_limit": None, "tags": []}, [2, 1]),
        ({"tags": ["none=1"]}, []),
        ({"uri": f"{DOCS}/a.md"}, [3]),
        ({"uri": f"{DOCS}/en/"}, [2, 1]),
    ],
)
async def test_where_to_look_is_bounded(ann, more, lines):
    found = await grep(ann, "root_api_key", **{"uri": DOCS, **more})
    assert [match["line"] for match in found["matches"]] == lines
    assert found["has_more"] is ("node_limit" in more)


async def test_everybody_sees_lines_of_their_own_scope_only(people):
    ann, ben = people
    own = "viking://user/ann/e.md"
    assert own in {one["uri"] for one in (await grep(ann, "root_api_key"))["matches"]}
    seen = {one["uri"] for one in (await grep(ben, "root_api_key", uri=""))["matches"]}
    assert own not in seen
    assert "viking://agent/d.md" in seen
    assert own not in await glob(ben, "**")
    for path in (GREP, GLOB):
        refused = await ben.post(path, {"pattern": "x", "uri": "viking://user/ann"})
        error_of(refused, 403, "PERMISSION_DENIED")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["a.md", "en"]),
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "en/auth notes.md"]),
        ("**/*auth*.md", ["en/auth notes.md"]),
        (f"{DOCS}/**/*.txt", ["en/deep/c.txt"]),
        ("en/*", ["en/auth notes.md", "en/deep"]),
        ("??", ["en"]),
        ("[!e]*", ["a.md"]),
        ("*.zzz", []),
    ],
)
async def test_addresses_are_found_by_wildcards(ann, pattern, found):
    assert await glob(ann, pattern, uri=DOCS) == [f"{DOCS}/{path}" for path in found]


async def test_a_limit_of_addresses_says_that_there_are_more(ann):
    body = {"pattern": "**", "uri": DOCS, "node_limit": 2}
    shown = result_of(await ann.post(GLOB, body))
    assert (len(shown["matches"]), shown["has_more"]) == (2, True)
    answer = await ann.post(GLOB, {"pattern": "**", "uri": DOCS, "extra_fields": ["size"]})
    assert answer.headers["x-ignored-fields"] == "extra_fields"
    assert result_of(answer)["has_more"] is False


@pytest.mark.parametrize("path", [GREP, GLOB])
@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"uri": "docs"}, 400, "INVALID_URI"),
        ({"exclude_uri": "docs"}, 400, "INVALID_URI"),
        ({"uri": f"{DOCS}/none"}, 404, "NOT_FOUND"),
        ({"pattern": ""}, 400, "INVALID_ARGUMENT"),
        ({"pattern": "x" * 1_001}, 400, "INVALID_ARGUMENT"),
        ({"pattern": None}, 400, "INVALID_ARGUMENT"),
        ({"node_limit": 0}, 400, "INVALID_ARGUMENT"),
        ({"node_limit": 10_001}, 400, "INVALID_ARGUMENT"),
        ({"level_limit": 0}, 400, "INVALID_ARGUMENT"),
        ({"tags": ["x"]}, 400, "INVALID_ARGUMENT"),
    ],
)
async def test_wrong_questions_are_refused(ann, path, more, status, code):
    error_of(await ann.post(path, {"pattern": "x", "uri": DOCS, **more}), status, code)


@pytest.mark.parametrize("pattern", ["(", "(?=a)b", r"(a)\1", "a)(b"])
async def test_what_is_no_regular_expression_is_refused_with_the_reason(ann, pattern):
    error = error_of(await ann.post(GREP, {"pattern": pattern}), 400, "INVALID_ARGUMENT")
    assert error["message"].startswith(f"pattern is {pattern!r}; expected a regular expression")


async def test_a_scope_that_holds_nothing_has_no_lines(people):
    _, ben = people
    assert (await grep(ben, "x", uri="viking://~"))["matches"] == []
    assert await glob(ben, "**", uri="viking://~") == []


@pytest.mark.parametrize("path", [GREP, GLOB])
async def test_looking_ends_when_its_time_is_over(path):
    house = FakeHouse()
    house.matcher.seconds = 60.0
    async with calling(app_of(house, ServerRules(answer_seconds=0.01))) as http:
        answer = await http.post(path, json={"pattern": "x"})
    error_of(answer, 504, "DEADLINE_EXCEEDED")
