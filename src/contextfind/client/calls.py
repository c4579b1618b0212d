"""One method per route."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack, cast
from urllib.parse import quote

import httpx

from contextfind.client.answers import (
    AddOptions,
    Entry,
    FindOptions,
    Found,
    Health,
    JsonObject,
    Listing,
    Readiness,
    Role,
    Task,
    WriteMode,
)
from contextfind.client.failure import failure_of, json_of
from contextfind.client.upload import Progress, WatchedFile
from contextfind.client.wire import DEFAULT_URL, TIMEOUT, Wire, body_of, names_in, result_of

UPLOAD_TIMEOUT = 300.0  # seconds without progress while the server takes a large file
WAIT_MARGIN = 15.0  # seconds the answer of a wait may come after the time it was given


class Client:
    """A connection to one server with one key.

    Every method raises ClientError. Sockets are kept open between calls: use it as a context
    manager, or call `close`.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        timeout: float = TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._wire = Wire(url, key, timeout, transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the sockets; closing twice is fine."""
        await self._wire.close()

    @property
    def url(self) -> str:
        """Where the server is, as it was given."""
        return self._wire.url

    async def health(self) -> Health:
        """Return who answers; needs no key."""
        return cast("Health", body_of(await self._wire.send("GET", "/health")))

    async def ready(self) -> Readiness:
        """Return what is ready and what is not (that is an answer, no error)."""
        response = await self._wire.send("GET", "/ready")
        body = json_of(response)
        if isinstance(body, dict) and "checks" in body:
            return cast("Readiness", body)
        raise failure_of(response)

    async def status(self) -> JsonObject:
        """Return the counts and the state of the server, as far as the key may see them."""
        return cast("JsonObject", await self._wire.get("/api/v1/system/status"))

    async def find(self, query: str, **options: Unpack[FindOptions]) -> Found:
        """Return what fits the query best."""
        body = {"query": query, **options}
        response = await self._wire.send("POST", "/api/v1/search/find", json=body)
        found = cast("Found", result_of(response))
        unknown = names_in(response, "X-Unknown-Targets")
        if unknown:
            found["unknown_targets"] = unknown
        return found

    async def upload(
        self, path: Path, name: str | None = None, progress: Progress | None = None
    ) -> str:
        """Send a file and return its `temp_file_id`; it is streamed, not read into memory.

        Raises:
            OSError: the file cannot be opened.

        """
        with WatchedFile(path, progress) as file:
            parts = {"file": (name or path.name, file, "application/octet-stream")}
            response = await self._wire.send(
                "POST",
                "/api/v1/resources/temp_upload",
                timeout=max(UPLOAD_TIMEOUT, self._wire.timeout),
                files=parts,
            )
        return str(result_of(response)["temp_file_id"])

    async def add_resource(self, **options: Unpack[AddOptions]) -> JsonObject:
        """Start an ingest (`root_uri`, `task_id`), or with `wait` return when it has ended."""
        patience = options.get("timeout") if options.get("wait") else None
        timeout = self._wire.timeout if patience is None else patience + WAIT_MARGIN
        answer = await self._wire.post("/api/v1/resources", dict(options), timeout=timeout)
        return cast("JsonObject", answer)

    async def task(self, task_id: str) -> Task:
        """Return how far background work is."""
        return cast("Task", await self._wire.get(f"/api/v1/tasks/{_segment(task_id)}"))

    async def wait(self, timeout: float = 300.0) -> JsonObject:  # noqa: ASYNC109 - sent on
        """Return when everything written so far is searchable, at the latest after `timeout` s."""
        answer = await self._wire.post(
            "/api/v1/system/wait", {"timeout": timeout}, timeout=timeout + WAIT_MARGIN
        )
        return cast("JsonObject", answer)

    async def read(self, uri: str) -> str:
        """Return the text of a file."""
        return cast("str", await self._wire.get("/api/v1/content/read", uri=uri))

    async def abstract(self, uri: str) -> str:
        """Return the short text (level 0) of a directory or file."""
        return cast("str", await self._wire.get("/api/v1/content/abstract", uri=uri))

    async def overview(self, uri: str) -> str:
        """Return the longer text (level 1) of a directory."""
        return cast("str", await self._wire.get("/api/v1/content/overview", uri=uri))

    async def ls(self, uri: str, limit: int = 256, offset: int = 0) -> Listing:
        """Return a page of a directory's children, by name."""
        return await self._page("/api/v1/fs/ls", uri=uri, limit=limit, offset=offset)

    async def tree(self, uri: str, depth: int = 3, limit: int = 1000) -> Listing:
        """Return what lies below a directory, by address, at most `depth` levels down."""
        return await self._page("/api/v1/fs/tree", uri=uri, level_limit=depth, node_limit=limit)

    async def stat(self, uri: str) -> Entry:
        """Return one entry."""
        return cast("Entry", await self._wire.get("/api/v1/fs/stat", uri=uri))

    async def mkdir(self, uri: str, description: str = "") -> None:
        """Make a directory; CONFLICT when it is there."""
        await self._wire.post("/api/v1/fs/mkdir", {"uri": uri, "description": description})

    async def write(
        self,
        uri: str,
        content: str,
        mode: WriteMode = "replace",
        tags: Sequence[str] | None = None,
        *,
        wait: bool = True,
    ) -> JsonObject:
        """Write a text file (`uri`, `written_bytes`); with `wait` it is searchable then."""
        body: dict[str, object] = {"uri": uri, "content": content, "mode": mode, "wait": wait}
        if tags is not None:
            body["tags"] = tags
        return cast("JsonObject", await self._wire.post("/api/v1/content/write", body))

    async def remove(self, uri: str, *, recursive: bool = False) -> JsonObject:
        """Remove a file, or with `recursive` a directory; what is not there is no error."""
        params = {"uri": uri, "recursive": "true" if recursive else "false"}
        response = await self._wire.send("DELETE", "/api/v1/fs", params=params)
        return cast("JsonObject", result_of(response))

    async def accounts(self) -> list[JsonObject]:
        """Return all accounts (root key)."""
        return cast("list[JsonObject]", await self._wire.get("/api/v1/admin/accounts"))

    async def add_account(self, account: str, admin: str) -> JsonObject:
        """Make an account with its first user and return that user's key (root key)."""
        body = {"account_id": account, "admin_user_id": admin}
        return cast("JsonObject", await self._wire.post("/api/v1/admin/accounts", body))

    async def users(self, account: str) -> list[JsonObject]:
        """Return the users of an account."""
        path = f"/api/v1/admin/accounts/{_segment(account)}/users"
        return cast("list[JsonObject]", await self._wire.get(path))

    async def add_user(
        self, account: str, user: str, role: Role = "user", *, restore: bool = False
    ) -> JsonObject:
        """Make a user and return the first key; `restore` brings a removed one back with its tree."""
        path = f"/api/v1/admin/accounts/{_segment(account)}/users"
        body = {"user_id": user, "role": role, **({"restore": True} if restore else {})}
        return cast("JsonObject", await self._wire.post(path, body))

    async def remove_user(self, account: str, user: str) -> JsonObject:
        """Remove a user; its keys (`revoked_keys`) stop working at once, its tree stays."""
        return cast("JsonObject", await self._wire.delete(_path_of(account, user)))

    async def set_role(self, account: str, user: str, role: Role) -> JsonObject:
        """Give a user another role; it holds for all its keys at once."""
        path = f"{_path_of(account, user)}/role"
        return cast("JsonObject", await self._wire.put(path, {"role": role}))

    async def renew_key(self, account: str, user: str) -> JsonObject:
        """End all keys of a user and return a new one; its secret is in this answer only."""
        return cast("JsonObject", await self._wire.post(f"{_path_of(account, user)}/key", {}))

    async def keys(self, account: str | None = None) -> list[JsonObject]:
        """Return the keys in force that you may see, without their secrets; of one account or all."""
        only = {} if account is None else {"account_id": account}
        return cast("list[JsonObject]", await self._wire.get("/api/v1/admin/keys", **only))

    async def add_key(self, account: str, user: str, label: str = "") -> JsonObject:
        """Make a key for a user; its secret is in this answer and never again."""
        body = {"account_id": account, "user_id": user, "label": label}
        return cast("JsonObject", await self._wire.post("/api/v1/admin/keys", body))

    async def rotate_key(self, key_id: str) -> JsonObject:
        """Give a key another secret, which is in this answer only; the old one is dead at once."""
        path = f"/api/v1/admin/keys/{_segment(key_id)}/rotate"
        return cast("JsonObject", await self._wire.post(path, {}))

    async def revoke_key(self, key_id: str) -> None:
        """Take a key back; it stops working at once."""
        await self._wire.delete(f"/api/v1/admin/keys/{_segment(key_id)}")

    async def _page(self, path: str, **params: str | int) -> Listing:
        response = await self._wire.send("GET", path, params=params)
        return Listing(result_of(response), bool(body_of(response).get("has_more", False)))


def _path_of(account: str, user: str) -> str:
    return f"/api/v1/admin/accounts/{_segment(account)}/users/{_segment(user)}"


def _segment(text: str) -> str:
    return quote(text, safe="")
