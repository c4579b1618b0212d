"""Every route, every field that names something, filled with names that lead elsewhere.

The routes and their fields are read from /openapi.json, so that a new one is tested by being there.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, Town, town

# Fields that name an address, an id, a file or a person.
NAMING = frozenset(
    {
        *("uri", "to", "parent", "target_uri", "image_url", "path", "source_name", "resource_id"),
        *("name", "session_id", "archive_id", "task_id", "key_id", "temp_file_id"),
        *("account", "user", "account_id", "user_id", "admin_user_id"),
    }
)
LEADING_ELSEWHERE = [
    "../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "http://127.0.0.1:1/x",
    "http://169.254.169.254/latest/meta-data",
    "viking://temp/x",
    "viking://resources/../user/ann/memories/locker.md",
    "viking://resources/%2e%2e/user/ann/memories/locker.md",
    "viking://resources/%2E./user/ann",
    "viking://resources/a%00.md",
    "viking://resources/a\x00.md",
    "viking://resources\\..\\user\\ann\\memories\\locker.md",
    "viking://user/ann/memories/locker.md",
    "viking://user/ann",
    "viking://~/../ann/memories/locker.md",
    "viking:////user/ann",
    "viking://zoo/resources/vault.md",
    "..",
    "x" * 3_000,
    "\ud7ff\u202e\U0010ffff",
]
OWN, OTHERS = "of-no-secret", ("anns-secret-4711", "zoes-secret-0815")


@dataclass(frozen=True)
class Field:
    """One field of one route; place is `path`, `query` or `body`."""

    method: str
    path: str
    place: str
    name: str
    body: Mapping[str, Any] | None

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.name}"


@dataclass
class Prey:
    """What the caller must neither see nor change, and how it is called."""

    place: Town
    ann: Tenant
    ben: Tenant
    zoe: Tenant
    names: list[str]

    async def state(self) -> list[str]:
        """Return all that belongs to others."""
        seen = [
            await self.ann.get("fs/tree", uri="viking://user/ann", output="original"),
            await self.ann.get("content/read", uri="viking://user/ann/memories/locker.md"),
            await self.zoe.get("fs/tree", uri="viking://", output="original"),
            await self.zoe.get("content/read", uri="viking://resources/vault.md"),
            await self.zoe.get("sessions"),
            await self.zoe.get("admin/keys"),
        ]
        return [str(result_of(answer)) for answer in seen]


@pytest.fixture
async def prey(tmp_path: Path) -> AsyncIterator[Prey]:
    async with town(tmp_path) as place:
        ann, ben = await place.account("acme", ["ann", "ben"])
        (zoe,) = await place.account("zoo", ["zoe"])
        await ann.write("viking://user/ann/memories/locker.md", f"The locker is {OTHERS[0]}.")
        await ben.write("viking://user/ben/memories/locker.md", f"The locker is {OWN}.")
        await zoe.write("viking://resources/vault.md", f"The vault is {OTHERS[1]}.")
        added = await zoe.upload("note.md", f"A note on {OTHERS[1]}.".encode())
        kept = await place.http.post(
            "/api/v1/resources/temp_upload",
            files={"file": ("own.md", f"An upload about {OTHERS[0]}.".encode())},
            headers=dict(ann.key),
        )
        session = result_of(await zoe.post("/api/v1/sessions", {}))["session_id"]
        said = {"role": "user", "content": OTHERS[1]}
        result_of(await zoe.post(f"/api/v1/sessions/{session}/messages", said))
        keys = result_of(await zoe.get("admin/keys"))
        names = [
            result_of(kept)["temp_file_id"],
            added["task_id"],
            session,
            keys[0]["key_id"],
            *("zoo", "zoe", "ann"),
        ]
        yield Prey(place, ann, ben, zoe, names)


def fields_of(api: Mapping[str, Any]) -> Iterator[Field]:
    """Give every field of every route that names something."""
    for path, methods in api["paths"].items():
        for method, route in methods.items():
            content = route.get("requestBody", {}).get("content", {}).get("application/json", {})
            shown = [one["value"] for one in content.get("examples", {}).values()]
            body = shown[0] if shown else {} if content else None
            for one in route.get("parameters", []):
                if one["name"] in NAMING:
                    yield Field(method, path, one["in"], one["name"], body)
            for name, told in _properties(api, content.get("schema", {})).items():
                if name in NAMING or "viking:" in str(told):
                    yield Field(method, path, "body", name, body)


def _properties(api: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    names = [one.get("$ref", "").rpartition("/")[2] for one in (schema, *schema.get("anyOf", []))]
    schemas = api["components"]["schemas"]
    return {
        field: told
        for name in names
        for field, told in schemas.get(name, {}).get("properties", {}).items()
    }


async def ask(who: Tenant, field: Field, value: str) -> Any:
    path, query, body = field.path, {}, dict(field.body or {})
    if field.place == "body":
        body |= {field.name: value, "wait": False}
        if field.name in ("path", "to", "parent"):  # else refused for what stands beside it
            body = {name: body[name] for name in body if name in (field.name, "temp_file_id")}
    if field.place == "query":
        query[field.name] = value
    if field.place == "path":
        path = path.replace(f"{{{field.name}}}", quote(value, safe=""))
    path = path.replace("{", "").replace("}", "")  # the others are called by their own names
    return await who.http.request(
        field.method,
        path,
        params=query,
        json=None if field.body is None else body,
        headers=dict(who.key),
    )


async def test_no_name_in_any_field_of_any_route_leads_out_of_what_is_the_callers(
    prey: Prey,
) -> None:
    api = (await prey.place.http.get("/openapi.json")).json()
    fields = list(fields_of(api))
    assert {"uri", "target_uri", "session_id", "task_id", "account"} <= {one.name for one in fields}
    assert len({one.path for one in fields}) > 25
    before = await prey.state()
    wrong: list[str] = []
    for field in fields:
        for value in (*LEADING_ELSEWHERE, *prey.names):
            answer = await ask(prey.ben, field, value)
            told = f"{field} = {value[:60]!r}: {answer.status_code} {answer.text[:200]}"
            if answer.status_code >= 500 and answer.status_code != 501:
                wrong.append(told)
            if any(secret in answer.text for secret in (*OTHERS, "root:x:0")):
                wrong.append(told)
    assert wrong == []
    result_of(await prey.ben.post("/api/v1/system/wait", {"timeout": 60}))
    assert await prey.state() == before
    hits = await prey.ben.hits(
        query="secret locker vault note upload", read_content=True, limit=100
    )
    assert not [hit for hit in hits if any(secret in str(hit) for secret in OTHERS)]
    assert any(OWN in str(hit) for hit in hits)


async def test_what_is_refused_names_no_inner_set_and_no_other_tenant(prey: Prey) -> None:
    """R026: a short message in the caller's own words."""
    for uri in ("viking://temp/x", "http://x", "viking://resources/%2e%2e/user"):
        error = error_of(await prey.ben.get("content/read", uri=uri), 400, "INVALID_URI")
        assert uri in error["message"]
        assert len(error["message"]) < 200
    for method, path in (("get", "users"), ("delete", "users/zoe")):
        known = await prey.place.http.request(
            method, f"/api/v1/admin/accounts/zoo/{path}", headers=dict(prey.ben.key)
        )
        unknown = await prey.place.http.request(
            method, f"/api/v1/admin/accounts/nope/{path}", headers=dict(prey.ben.key)
        )
        assert known.status_code == unknown.status_code == 403
        assert known.json() == unknown.json()
