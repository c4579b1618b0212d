import json

from contextfind import __version__
from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer


def prepare(stub: StubServer) -> None:
    health = {"status": "ok", "healthy": True, "version": "0.5.2+x", "auth_mode": "dev"}
    stub.answer("GET", "/health", health)
    ready = {"status": "not_ready", "checks": {"index": "loading", "store": "ok"}}
    stub.answer("GET", "/ready", ready, status=503)
    stub.results("GET", "/api/v1/system/status", {"counts": {"files": 3}, "user": "default"})


def test_status_shows_readiness_and_counts(stub: StubServer) -> None:
    prepare(stub)
    result = call("status", stub=stub)
    shown = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert shown["server"] == f"{stub.url} (version 0.5.2+x, dev)"
    assert shown["state"] == "not_ready"
    assert shown["ready.index"] == "loading"
    assert shown["counts.files"] == "3"


def test_status_for_programs_is_all_of_it(stub: StubServer) -> None:
    prepare(stub)
    shown = json.loads(call("status", "--json", stub=stub).stdout)
    assert shown["status"]["counts"] == {"files": 3}
    assert shown["ready"]["checks"]["store"] == "ok"


def test_version_is_printed_without_a_server() -> None:
    for words in (["version"], ["--version"]):
        result = call(*words)
        assert (result.exit_code, result.stdout) == (0, f"contextfind {__version__}\n")
