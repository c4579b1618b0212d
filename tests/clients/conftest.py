"""A real server for the packages of others.

The suites below run in environments of their own (`make test-clients`), where the server's packages are
not installed: `CONTEXTFIND_TEST_PYTHON` names the interpreter that has them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.processes import ServerProcess

ROOT_KEY = "clients-root"


@dataclass(frozen=True)
class Served:
    """A running server with two keys: of all accounts, and of alice in the account acme."""

    process: ServerProcess
    url: str
    root_key: str
    key: str


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with ServerProcess(tmp_path_factory.mktemp("data")) as process:
        process.start({"CONTEXTFIND_SERVER__ROOT_API_KEY": ROOT_KEY}).wait_healthy()
        made = process.call(
            "POST",
            "/api/v1/admin/accounts",
            json={"account_id": "acme", "admin_user_id": "alice"},
            headers={"X-API-Key": ROOT_KEY},
        )
        yield Served(process, process.url, ROOT_KEY, made["user_key"])
