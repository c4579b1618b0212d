from collections.abc import Iterator

import pytest

from tests.unit.cli.stub_server import StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server
