"""`make api-page`: docs/api.md, written from the description of the API and from a server's own answers.

What stands in it apart from the answers follows from the code alone, and a test holds the page to it.
"""

import asyncio
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import httpx

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.server.routers.docs import _fields, _kind, _parameters
from contextfind.wiring import House
from tests.api.caller import calling
from tests.api.described import JSON, Description
from tests.backends import storage_in
from tests.house.reading import ROOT

PAGE = ROOT / "docs" / "api.md"
API = "/api/v1"
UPLOAD = f"{API}/resources/temp_upload"

Route = tuple[str, str]

# Makers first: each request finds what those before it have made. What removes comes last.
_MAKERS: Sequence[Route] = (
    ("post", f"{API}/content/write"),
    ("post", UPLOAD),
    ("post", f"{API}/resources"),
    ("post", f"{API}/skills"),
    ("post", f"{API}/system/wait"),
    ("post", f"{API}/sessions"),
    ("post", f"{API}/sessions/{{session_id}}/messages"),
    ("post", f"{API}/sessions/{{session_id}}/commit"),
    ("post", f"{API}/admin/accounts"),
    ("post", f"{API}/admin/accounts/{{account}}/users"),
    ("post", f"{API}/admin/keys"),
)
_ENDLESS = re.compile(r"(?<=\.\.)[\d.]+e\+\d+")  # a bound that only a machine meets
_IDS = {
    "account": "acme",
    "user": "ben",
    "name": "csv-report",
    "session_id": "session-1",
    "archive_id": "archive_001",
    "component": "queue",
    "task_id": "$TASK_ID",
    "key_id": "$KEY_ID",
}
_GUIDE = ("guide.md", b"# Guide\n\nAsk the on-call.\n", "text/markdown")

_HEAD = """# The HTTP API, route by route

Written by `make api-page` from what `GET /openapi.json` says and from answers of a server that was asked in this order; do not
edit it. The same is at `GET /docs` of a running server. What clients may rely on: [compatibility.md](compatibility.md); filters:
[filters.md](filters.md); searching in a conversation: [search.md](search.md); contexts for prompts: [context.md](context.md).

The calls below work as they stand, once what they name is there (the first route to call is `content/write`), after

```bash
export CONTEXTFIND_URL=http://127.0.0.1:1933
export CONTEXTFIND_API_KEY=…   # the server's key; leave it out in dev mode, where none is asked for
```

`$TASK_ID` and `$KEY_ID` stand for ids of former answers, `the id from temp_upload` for the `temp_file_id` of an upload. The routes
below `/api/v1/admin` want the root key, or that of an admin of the account.

Success is `{"status":"ok","result":…}`, failure `{"status":"error","result":null,"error":{"code","message","details"}}`, with
the same shape on every route. The key goes into `Authorization: Bearer` or `X-API-Key`. Fields that a route does not know are
taken and named in the header `X-Ignored-Fields`; every answer has an `X-Request-ID`. Answers are shown shortened: long texts and
lists end in `…`, ids and times are made up.

Besides these there are the page for people at `/`, [tools for agents](mcp.md) at `/mcp`, and the figures for
[monitoring](operations.md) at `/metrics`.
"""
_CODES = """
## What is refused

| code | status | what it means |
|---|---|---|
"""
_MEANINGS = {
    "INVALID_ARGUMENT": "a field is missing or wrong; the message names it and says what is allowed",
    "INVALID_URI": "not an address of this tree",
    "UNAUTHENTICATED": "no key, or a wrong one",
    "PERMISSION_DENIED": "the key may not do this here",
    "NOT_FOUND": "nothing is there, or nothing that you may see",
    "ALREADY_EXISTS": "something is there already",
    "CONFLICT": "something else is being done there, or it changed meanwhile",
    "FAILED_PRECONDITION": "not as things are now; the message says what would have to be done first",
    "RESOURCE_EXHAUSTED": "too much at once, or too often; `Retry-After` says when to come again",
    "UNIMPLEMENTED": "known, and not built; the message names what to use instead",
    "UNAVAILABLE": "something that is needed does not work now; try again",
    "DEADLINE_EXCEEDED": "it took too long",
    "INTERNAL": "a fault of the server; its log has the request id",
}


def without_answers(page: str) -> str:
    """Return the page without what a server said, which is different in each run."""
    return re.sub(r"^```json\n.*?^```\n\n?", "", page, flags=re.MULTILINE | re.DOTALL)


def render(api: Mapping[str, Any], answers: Mapping[Route, str]) -> str:
    """Return the page; a route without an answer has none."""
    told = Description(dict(api))
    rooms = groupby(sorted(told.operations(), key=_room), key=_room)
    parts = [_HEAD]
    for room, routes in rooms:
        parts.append(f"\n## {room.capitalize()}\n")
        parts += [_section(told, route[:2], answers) for route in routes]
    return "".join([*parts, _CODES, *_codes(told)])


def _room(operation: tuple[str, str, Mapping[str, Any]]) -> str:
    return str(operation[2]["tags"][0])


def _section(told: Description, route: Route, answers: Mapping[Route, str]) -> str:
    method, path = route
    operation = told.operation(method, path)
    lines = [f"\n### {method.upper()} {path}\n", operation["description"], ""]
    rows = list(_rows(told, operation))
    if rows:
        lines += ["| field | kind | meaning |", "|---|---|---|", *rows, ""]
    lines += ["```bash", *_curls(told, method, path), "```", ""]
    if route in answers:
        lines += ["```json", answers[route], "```", ""]
    return "\n".join(lines)


def _rows(told: Description, operation: Mapping[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    for name, shape in (*_parameters(operation), *_fields(told.page, content)):
        meaning = " ".join(str(shape.get("description", "")).split())
        cells = (f"`{name}`", _ENDLESS.sub("", _kind(shape)), meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _curls(told: Description, method: str, path: str) -> Iterator[str]:
    query = urlencode(told.parameters(method, path), safe=":/~*")
    address = f'"$CONTEXTFIND_URL{path.format(**_IDS)}{"?" if query else ""}{query}"'
    verb = "" if method in ("get", "post") else f" -X {method.upper()}"
    key = ' -H "Authorization: Bearer $CONTEXTFIND_API_KEY"' if path.startswith(API) else ""
    content = told.operation(method, path).get("requestBody", {}).get("content", {})
    if path == UPLOAD:
        yield f"curl -s {address}{key} -F file=@guide.md"
    elif JSON not in content:
        yield f"curl -s{' -X POST' if method == 'post' else verb} {address}{key}"
    else:
        for shown in content[JSON]["examples"].values():
            body = shlex.quote(json.dumps(shown["value"], ensure_ascii=False))
            yield f"# {shown['summary']}"
            yield f"curl -s{verb} {address}{key} -H 'Content-Type: application/json' \\"
            yield f"  -d {body}"


def _codes(told: Description) -> Iterator[str]:
    found: set[tuple[int, str]] = set()
    for _, _, operation in told.operations():
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and re.fullmatch(r"[A-Z_, ]+", answer["description"]):
                found |= {(int(status), code) for code in answer["description"].split(", ")}
    found.add((401, "UNAUTHENTICATED"))  # left out of the description in dev mode
    for status, code in sorted(found):
        yield f"| `{code}` | {status} | {_MEANINGS[code]} |\n"


class Interview:
    """Asks a server every route of its description once, and keeps what it said."""

    def __init__(self, http: httpx.AsyncClient, told: Description) -> None:
        self._http = http
        self._told = told
        self._ids = dict(_IDS)
        self.answers: dict[Route, str] = {}

    async def hold(self) -> None:
        """Ask everything."""
        routes = [(method, path) for method, path, _ in self._told.operations()]
        rest = [route for route in routes if route not in _MAKERS]
        for route in (*_MAKERS, *sorted(rest, key=lambda one: one[0] == "delete")):
            for body in self._told.examples(*route) or [None]:
                await self._ask(route, body)

    async def _ask(self, route: Route, body: Any) -> None:
        method, path = route
        await self._prepare(path)
        if isinstance(body, dict) and "temp_file_id" in body:
            body = {**body, "temp_file_id": (await self._upload())["result"]["temp_file_id"]}
        if path == UPLOAD:
            self.answers[route] = shortened(await self._upload())
            return
        answer = await self._http.request(
            method.upper(),
            path.format(**self._ids),
            params=self._told.parameters(method, path),
            json=body,
        )
        answer.raise_for_status()
        if answer.headers["content-type"] != JSON:
            return
        said = answer.json()
        if path == f"{API}/resources":
            self._ids["task_id"] = said["result"]["task_id"]
        self.answers.setdefault(route, shortened(said))

    async def _prepare(self, path: str) -> None:
        if "{key_id}" in path:
            body = {"account_id": "acme", "user_id": "ann"}
            made = (await self._http.post(f"{API}/admin/keys", json=body)).json()
            self._ids["key_id"] = made["result"]["key_id"]

    async def _upload(self) -> Any:
        return (await self._http.post(UPLOAD, files={"file": _GUIDE})).json()


def shortened(answer: Any) -> str:
    """Return an answer as JSON that one can read, with made up ids and times."""
    text = json.dumps(_cut(answer), ensure_ascii=False, indent=1)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "2026-03-01T12:00:00.000Z", text)
    text = re.sub(r"\b1[789]\d{8}\.\d+", "1772366400.0", text)
    text = re.sub(r"\bcf_[\w-]{20,}", "cf_…", text)
    text = re.sub(r"\b[0-9a-f]{20,}", "7f3a…", text)
    text = re.sub(r'"/[^"]*contextfind-api-page-[^"]*"', '"./contextfind-data"', text)
    return re.sub(r"\[\s+([^\[\]{}]{0,80}?)\s+\]", r"[\1]", text)


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_cut(one) for one in value[:2]] + (["…"] if len(value) > 2 else [])
    if isinstance(value, str) and len(value) > 160:
        return value[:159] + "…"
    return value


async def written() -> str:
    """Return the page with the answers of a server that is made for it."""
    with tempfile.TemporaryDirectory(prefix="contextfind-api-page-") as room:
        settings = Settings(storage=storage_in(room), embedding=EmbeddingSettings(provider="hash"))
        async with calling(create_app(lambda: House.open(settings))) as http:
            api = (await http.get("/openapi.json")).json()
            interview = Interview(http, Description(api))
            await interview.hold()
    return render(api, interview.answers)


if __name__ == "__main__":
    PAGE.write_text(asyncio.run(written()), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} is written\n")
