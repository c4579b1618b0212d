import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextfind.server.unbuilt import hint_for
from contextfind.server.wire.content import MkdirBody, WriteBody, part_of
from contextfind.server.wire.find import FindBody
from contextfind.server.wire.resources import AddBody
from contextfind.server.wire.search import SearchBody
from tests.api.caller import app_of, calling
from tests.api.fake_house import FakeHouse

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 200)
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(["viking://resources/a", "0,1", "memory", "a=b", "7d", "list", "2026-01-01"])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS)
ROUTES = {
    "/api/v1/search/find": FindBody,
    "/api/v1/search/search": SearchBody,
    "/api/v1/content/write": WriteBody,
    "/api/v1/fs/mkdir": MkdirBody,
    "/api/v1/resources": AddBody,
}


@st.composite
def requests(draw):
    route = draw(st.sampled_from(sorted(ROUTES)))
    names = st.sampled_from(sorted(ROUTES[route].model_fields)) | st.text(max_size=5)
    return route, draw(st.dictionaries(names, VALUES, max_size=6))


async def answers(sent):
    app = app_of(FakeHouse())
    headers = {"content-type": "application/json"}
    async with calling(app) as http:
        return [
            await http.post(path, content=json.dumps(body), headers=headers) for path, body in sent
        ]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(requests(), min_size=1, max_size=25))
def test_no_body_ever_makes_an_internal_error_or_another_shape(sent):
    for response in asyncio.run(answers(sent)):
        body = response.json()
        assert response.status_code in {200, 400, 409, 501}, body
        assert body["status"] == ("ok" if response.status_code == 200 else "error")


@pytest.mark.parametrize("ends", ["", "\n"])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab\r\x0b", max_size=3), min_size=1), st.integers(0, 9), st.integers(0, 9))
def test_two_parts_of_a_text_make_the_whole(ends, lines, first, second):
    text = "\n".join(lines) + ends
    count = text.count("\n") + 1
    middle = min(first, count)
    parts = [part_of(text, 0, middle), part_of(text, middle, -1)]
    kept = [part for part, there in zip(parts, [middle > 0, middle < count], strict=True) if there]
    assert "\n".join(kept) == text
    assert part_of(text, first, second).count("\n") <= max(second - 1, 0)


def test_no_hint_hides_a_route_that_is_built():
    paths = app_of(FakeHouse()).openapi()["paths"]
    assert len(paths) > 20
    built = {path for path in paths if "/admin/" not in path}
    assert {path for path in built if hint_for(path) is not None} == set()


@pytest.mark.parametrize("path", ["/api/v1/search/grepper", "/api/v1/sessionsx", "/", "/mcpx", ""])
def test_a_hint_is_for_whole_segments(path):
    assert hint_for(path) is None
