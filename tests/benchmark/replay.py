"""Ask a server of our own what another server of this API was asked, and list what is different.

    .venv/bin/python -m tests.benchmark.replay exchanges.jsonl

The file holds one exchange a line: `name`, `method`, `path`, `body`, `status`, `response`. Of the answer only the
shape is recorded: the names of fields, and their types in words. Only requests to find are asked. The server gets a
small tree with everything at the addresses that the requests mention. A line is printed for each difference in status,
error code or shape (a field that is missing or has another type); more fields are no difference.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.api.living import SHELVES
from tests.processes import ServerProcess

FIND = "/api/v1/search/find"
ROOT_KEY = "replay-root"
LONG = "a long question about install " * 2_000
ADDRESS = re.compile(r'viking://resources/[^"\\./][^"\\]*[^"\\/]')
OTHERS = {
    "viking://~/memories/session.md": "The user asks about session commits.",
    "viking://agent/skills/csv-report/SKILL.md": "---\nname: csv-report\ndescription: session commit\n---\n",
}
WORDS = ("install", "session commit", "auth API key", "配置 认证", "zebra quantum pineapple")
TYPES = {"string": str, "int": int, "float": float, "bool": bool}


@dataclass(frozen=True)
class Exchange:
    """What was asked, and the shape of what was answered."""

    name: str
    method: str
    body: Any
    status: int
    response: Mapping[str, Any]


@dataclass(frozen=True)
class Keys:
    """Headers of those who ask."""

    user: Mapping[str, str]
    token: str

    def headers(self, name: str) -> dict[str, str]:
        """Return what was sent with an exchange; its name is all that tells."""
        ends = {
            "auth-missing": {},
            "auth-wrong-xapikey": {"X-API-Key": "nobody"},
            "auth-wrong-bearer": {"Authorization": "Bearer nobody"},
            "auth-bearer-ok": {"Authorization": f"Bearer {self.token}"},
            "auth-basic": {"Authorization": f"Basic {self.token}"},
            "auth-lowercase-bearer": {"Authorization": f"bearer {self.token}"},
            "auth-both-conflict": {**self.user, "Authorization": "Bearer nobody"},
            "auth-root": {"X-API-Key": ROOT_KEY},
            "auth-root-with-identity": {"X-API-Key": ROOT_KEY, "X-OpenViking-Account": "acme"},
            "auth-user-with-identity": {**self.user, "X-OpenViking-User": "bob"},
            "root-find-forbidden": {"X-API-Key": ROOT_KEY},
        }
        for end, headers in ends.items():
            if name.endswith(end):
                return headers
        return dict(self.user)


def exchanges(file: Path) -> list[Exchange]:
    """Return the finds of a file."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [
        Exchange(one["name"], one["method"], one["body"], one["status"], one["response"])
        for one in lines
        if one["path"] == FIND
    ]


def places(asked: Sequence[Exchange]) -> list[str]:
    """Return the directories that the requests mention and that were there."""
    found = {place for one in asked for place in ADDRESS.findall(json.dumps(one.body))}
    return sorted(place for place in found if "nope" not in place)


def build(server: ServerProcess, asked: Sequence[Exchange]) -> Keys:
    """Make two users and a tree, and return the keys of the first one."""
    root = {"X-API-Key": ROOT_KEY}
    account = {"account_id": "acme", "admin_user_id": "alice"}
    made = server.call("POST", "/api/v1/admin/accounts", json=account, headers=root)
    user = {"X-API-Key": made["user_key"]}
    server.call("POST", "/api/v1/admin/accounts/acme/users", json={"user_id": "bob"}, headers=root)
    for place in places(asked):
        for number, words in enumerate(WORDS):
            body = {
                "uri": f"{place}/0{number}-auth.md",
                "content": f"# {words}\n\nHow to {words}.\n",
                "tags": ["team=docs", "lang=en"],
            }
            server.call("POST", "/api/v1/content/write", json=body, headers=user)
    for uri, content in OTHERS.items():
        body = {"uri": uri, "content": content}
        server.call("POST", "/api/v1/content/write", json=body, headers=user)
    server.call("POST", "/api/v1/system/wait", json={"timeout": 60}, headers=user)
    return Keys(user, made["user_key"])


def ask(server: ServerProcess, one: Exchange, keys: Keys) -> httpx.Response:
    """Send a request again as it was."""
    headers = keys.headers(one.name)
    if one.method != "POST":
        return server.http.request(one.method, FIND, headers=headers)
    if isinstance(one.body, dict) and "_raw" in one.body:
        kind = {} if "no-content-type" in one.name else {"Content-Type": "application/json"}
        raw = one.body["_raw"].encode("utf-8", "surrogatepass")
        return server.http.post(FIND, content=raw, headers={**headers, **kind})
    body = {"query": LONG} if one.body == "(long)" else one.body
    return server.http.post(FIND, json=body, headers=headers)


def differences(one: Exchange, answer: httpx.Response) -> Iterator[str]:
    """Yield what is different, one line each."""
    body = answer.json()
    if answer.status_code != one.status:
        told = body["error"]["message"][:90] if body["status"] == "error" else ""
        yield f"status {one.status} -> {answer.status_code} {told}".rstrip()
        return
    if one.status == httpx.codes.OK:
        recorded = one.response["result"]
        yield from _unlike(recorded, body["result"], "result")
        if any(recorded[shelf] for shelf in SHELVES) and not body["result"]["total"]:
            yield "nothing was found"
        if one.response.get("telemetry"):
            yield from _unlike(one.response["telemetry"], body.get("telemetry"), "telemetry")
        return
    recorded, ours = one.response["error"], body["error"]
    if ours["code"] != recorded["code"]:
        yield f"code {recorded['code']} -> {ours['code']}"
    yield from _unlike(recorded.get("details"), ours["details"], "error.details")


def _unlike(shape: Any, value: Any, path: str) -> Iterator[str]:
    kind = type(shape) if isinstance(shape, dict | list) else TYPES.get(str(shape), object)
    if not isinstance(value, kind):
        yield f"{path} is {type(value).__name__}, not {kind.__name__}"
    elif isinstance(shape, dict):
        yield from (f"{path}.{name} is missing" for name in shape if name not in value)
        for name in shape.keys() & value.keys():
            yield from _unlike(shape[name], value[name], f"{path}.{name}")
    elif isinstance(shape, list) and shape and value:
        yield from _unlike(shape[0], value[0], f"{path}[0]")


def main() -> None:
    """Print the differences and their number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path, help="exchanges, one JSON object a line")
    asked = exchanges(parser.parse_args().file)
    with tempfile.TemporaryDirectory() as directory, ServerProcess(Path(directory)) as server:
        server.start({"CONTEXTFIND_SERVER__ROOT_API_KEY": ROOT_KEY}).wait_healthy()
        keys = build(server, asked)
        different = 0
        for one in asked:
            found = list(differences(one, ask(server, one, keys)))
            different += bool(found)
            for line in found:
                sys.stdout.write(f"{one.name}: {line}\n")
        sys.stdout.write(f"{len(asked)} finds asked, {different} answered differently\n")


if __name__ == "__main__":
    main()
