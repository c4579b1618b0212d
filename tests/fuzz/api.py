"""schemathesis against the running server: `python -m tests.fuzz.api`, or `make fuzz-api`.

Three runs on one server with hashed vectors and a temporary data directory, in api_key mode: the
data routes with a user's key, find alone, the admin routes with the root key. Every answer must be
as /openapi.json says (status, type, headers, schema), and no 5xx but those that the contract asks
for: 501 of what is not built, 504 of a `timeout` that the caller chose.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from contextfind.server.examples import WRITE
from tests.processes import ServerProcess

USER, ROOT = "a-user-key", "the-root-key"
ADMIN = "/api/v1/admin"
FIND = "/api/v1/search/find"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
PHASES = "examples,coverage,fuzzing,stateful"

# Where the fuzzer is to use a value with some meaning more often than chance would let it.
CONFIG = """
[dictionaries.words]
values = [
  "rollback", "TKX-7741", "回滚", "viking://", "viking://resources", "viking://resources/handbook/",
  "viking://resources/handbook/release/rollback.md", "viking://~/memories", "viking://user/eve/x",
  "viking://agent/skills", "team=ops", "2h", "2026-03-01", "2026-03-01T10:00:00+02:00", "0,1,2",
  "must", "and", "not", "range", "prefix", "context_type", "uri", "tags", "updated_at", "acme", "ann",
  "data:image/png;base64,iVBORw0KGgo=", "http://127.0.0.1/a.png", "\\u0000", "🚀",
]

[generation.dictionaries]
string = { dictionary = "words", probability = 0.4 }

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501"]
"""
TIMED = (
    *("content_write", "content_reindex", "resources_add"),
    *("skills_add", "skills_update", "system_wait"),
)
TIMED_CONFIG = """
[[operations]]
include-operation-id = "{operation}"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501", "504"]
"""
# A skill may be called `find`: these addresses answer to more methods than their own page says.
NAMED_ALIKE = "^/api/v1/skills/(find|validate)$"


@dataclass(frozen=True)
class Run:
    """One call of schemathesis; share: of the examples asked for. checks: the last of all is on `Allow`."""

    name: str
    key: str
    share: float
    arguments: tuple[str, ...]
    checks: tuple[str, ...] = CHECKS


RUNS = (
    Run("data routes", USER, 1.0, ("--exclude-path-regex", f"^({ADMIN}|{FIND}$)|{NAMED_ALIKE}")),
    Run("skills", USER, 1.0, ("--include-path-regex", NAMED_ALIKE), CHECKS[:-1]),
    Run("find", USER, 10.0, ("--include-path", FIND)),
    Run("admin routes", ROOT, 0.5, ("--include-path-regex", f"^{ADMIN}")),
)


def main() -> int:
    """Run all; the exit code is 0 when nothing was found and enough was tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=150, help="a route, in the fuzzing phase")
    parser.add_argument("--cases", type=int, default=5_000, help="fewer than these are a failure")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=str(Path(sys.executable).with_name("schemathesis")))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        timed = "".join(TIMED_CONFIG.format(operation=one) for one in TIMED)
        (room / "schemathesis.toml").write_text(CONFIG + timed, encoding="utf-8")
        with ServerProcess(room / "data") as server:
            server.start({"CONTEXTFIND_API_KEY": USER, "CONTEXTFIND_ROOT_API_KEY": ROOT})
            server.wait_healthy()
            _furnish(server)
            results = [_run(run, server, room, asked) for run in RUNS]
            tracebacks = server.output().count("Traceback")
    cases = sum(count for _, count in results)
    failed = sum(code != 0 for code, _ in results)
    say(f"\n{cases} cases, {failed} of {len(RUNS)} runs failed, {tracebacks} tracebacks logged")
    return 0 if failed == 0 and tracebacks == 0 and cases >= asked.cases else 1


def say(line: str) -> None:
    """Show a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _furnish(server: ServerProcess) -> None:
    """Put something there that can be found, and a tenant for the admin routes."""
    server.http.headers["X-API-Key"] = USER
    for body in WRITE.values():
        server.call("POST", "/api/v1/content/write", json=body)
    account = {"account_id": "acme", "admin_user_id": "ann"}
    headers = {"X-API-Key": ROOT}
    server.call("POST", f"{ADMIN}/accounts", json=account, headers=headers)


def _run(run: Run, server: ServerProcess, room: Path, asked: argparse.Namespace) -> tuple[int, int]:
    """Return exit code and number of cases."""
    command = [
        asked.program, "--config-file", str(room / "schemathesis.toml"),
        "run", f"{server.url}/openapi.json", "-H", f"X-API-Key: {run.key}",
        "--checks", ",".join(run.checks), "--phases", PHASES, "--continue-on-failure",
        "--max-examples", str(max(1, int(asked.examples * run.share))),
        "--seed", str(asked.seed), "--warnings", "off", *run.arguments,
    ]  # fmt: skip
    say(f"\n{run.name}")
    done = subprocess.run(command, cwd=room, capture_output=True, text=True, check=False)  # noqa: S603
    counted = re.search(r"([\d,]+) generated", done.stdout)
    if done.returncode != 0:
        say(done.stdout + done.stderr)
    elif counted is not None:
        say(counted[0])
    return done.returncode, int(counted[1].replace(",", "")) if counted is not None else 0


if __name__ == "__main__":
    sys.exit(main())
