import pytest

from tests.api.caller import FIND, app_of, calling
from tests.api.fake_house import FakeHouse

SHORT = "application/json"
LONG = "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"query": "x", "limit": "3", "unknown": 1}', 200),
        (b'{"query": "x", "limit": null}', 200),
        (b'{"query": "x", "limit": 0}', 400),
        (b'{"query": 1}', 400),
        (b'{"query": "\\ud800"}', 400),
        (b"[1]", 400),
        (b"null", 400),
        (b"", 400),
        (b'{"query": ', 400),
        (b"\xff", 400),
        (b"[" * 100_000, 400),
    ],
)
async def test_both_ways_answer_the_same(body: bytes, status: int) -> None:
    house = FakeHouse()
    async with calling(app_of(house)) as http:
        told = [
            await http.post(FIND, content=body, headers={"content-type": kind})
            for kind in (SHORT, LONG)
        ]
    assert [answer.status_code for answer in told] == [status, status]
    assert told[0].content == told[1].content
    asked = [question for _, question in house.finder.asked]
    assert asked[:1] == asked[1:]
