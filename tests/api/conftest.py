from collections.abc import AsyncIterator

import pytest

from tests.api.caller import Api, app_of, calling
from tests.api.fake_house import FakeHouse


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """A server in dev mode."""
    house = FakeHouse()
    async with calling(app_of(house)) as http:
        yield Api(house, http)
