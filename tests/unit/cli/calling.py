"""Calling a command the way a shell does, without a process."""

import json
from typing import Any

from typer.testing import CliRunner, Result

from contextfind.cli.main import app
from tests.unit.cli.stub_server import StubServer

NO_SETTINGS = dict.fromkeys(
    ("CONTEXTFIND_URL", "OPENVIKING_URL", "CONTEXTFIND_API_KEY", "OPENVIKING_API_KEY")
)


def call(*words: str, stub: StubServer | None = None, **given: Any) -> Result:
    """Run a command, against the stub when there is one; `given`: env, input."""
    env = {**NO_SETTINGS, "CONTEXTFIND_URL": stub.url if stub else None, **given.pop("env", {})}
    return CliRunner().invoke(app, list(words), env=env, **given)


def error_of(result: Result) -> dict[str, Any]:
    """Return the JSON error on stdout."""
    body = json.loads(result.stdout)
    assert body["status"] == "error"
    error: dict[str, Any] = body["error"]
    return error
