"""Recorded exchanges, and how each is sent again: with whose key, and which ids and files in place of theirs."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT_KEY = "replay-root"
LONG = "a long question about install " * 2_000
ADDRESS = re.compile(r'viking://resources/docs/[^"\\./][^"\\]*?(?=/?")')
WORDS = ("install", "session commit", "auth root_api_key", "配置 认证", "how to deploy")
OTHERS = {
    "viking://~/memories/session.md": "The user asks about session commits and how to deploy.",
    "viking://agent/skills/notes/SKILL.md": "---\nname: notes\ndescription: session commit\n---\n",
}
UPLOADED = re.compile(r"upload_[0-9a-f]{32}\.(md|zip)")
MADE_SESSION = re.compile(r"\d{8}-\d{6}-[0-9a-f]{16}")
TASK = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Exchange:
    """What was asked, and the shape of what was answered."""

    name: str
    method: str
    path: str
    body: Any
    status: int
    response: Any


def exchanges(file: Path) -> list[Exchange]:
    """Return all lines of a recording, in order."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    names = ("name", "method", "path", "body", "status", "response")
    return [Exchange(*(one[name] for name in names)) for one in lines]


def archive(asked: list[Exchange]) -> bytes:
    """Return a zip with a file at, or files below, every address of the tree that requests mention."""
    text = json.dumps([[one.body, str(httpx.URL(one.path).params.get("uri", ""))] for one in asked])
    places = {place.removeprefix("viking://resources/docs/") for place in ADDRESS.findall(text)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for name in sorted(set(_files(places))):
            zipped.writestr(name, f"# {name}\n\nHow to {'; '.join(WORDS)}.\n")
    return packed.getvalue()


def _files(places: set[str]) -> Iterator[str]:
    for place in places:
        if place.endswith(".md"):
            yield place
        elif "nope" not in place:
            yield from (f"{place}/0{number}-auth.md" for number in range(3))


@dataclass
class Sender:
    """Sends exchanges to our server, one after the other, and remembers what it gave out."""

    http: httpx.Client
    zipped: bytes
    user_key: str = ""
    session: str = ""
    task: str = ""
    uploads: dict[str, str] = field(default_factory=dict)

    def send(self, one: Exchange) -> httpx.Response:
        """Return what is answered to an exchange in the state that those before it have left."""
        if one.path.endswith("/temp_upload"):
            return self._upload("zip" if one.name.endswith("zip") else "md")
        answer = self.http.request(one.method, self._here(one.path), **self._content(one))
        self._remember(one, answer)
        return answer

    def _content(self, one: Exchange) -> dict[str, Any]:
        headers = self.headers(one.name)
        if isinstance(one.body, dict) and "_raw" in one.body:
            kind = {} if "no-content-type" in one.name else {"Content-Type": "application/json"}
            raw = one.body["_raw"].encode("utf-8", "surrogatepass")
            return {"content": raw, "headers": {**headers, **kind}}
        if one.body is None or one.method == "GET":
            return {"headers": headers}
        body = {"query": LONG} if one.body == "(long)" else self._body(one.body)
        return {"json": body, "headers": headers}

    def _body(self, body: Any) -> Any:
        text = json.dumps(body)
        for found in UPLOADED.finditer(text):
            self._upload(found[1])  # each of theirs was used once; so is each of ours
            text = text.replace(found[0], self.uploads[found[1]])
        return json.loads(self._here(text))

    def _here(self, text: str) -> str:
        return TASK.sub(self.task, MADE_SESSION.sub(self.session, text))

    def _upload(self, kind: str) -> httpx.Response:
        content = self.zipped if kind == "zip" else b"# Quickstart\n\nHow to install and deploy.\n"
        files = {"file": (f"quickstart.{kind}", content)}
        answer = self.http.post(
            "/api/v1/resources/temp_upload", files=files, headers=self.headers("")
        )
        self.uploads[kind] = answer.json()["result"]["temp_file_id"]
        return answer

    def _remember(self, one: Exchange, answer: httpx.Response) -> None:
        if one.name == "admin-create-account":
            self.user_key = answer.json()["result"]["user_key"]
        elif one.name == "resources-add-zip-wait":
            self._write_others()
        elif one.name == "sessions-create":
            self.session = answer.json()["result"]["session_id"]
        elif one.name == "sessions-commit":
            self.task = answer.json()["result"]["task_id"]

    def _write_others(self) -> None:
        """Give memories and skills to the exchanges from here on, as whoever recorded them had."""
        for uri, content in OTHERS.items():
            body = {"uri": uri, "content": content, "wait": True}
            self.http.post("/api/v1/content/write", json=body, headers=self.headers(""))

    def headers(self, name: str) -> dict[str, str]:
        """Return what was sent with an exchange; its name is all that tells."""
        user = {"X-API-Key": self.user_key}
        root = {"X-API-Key": ROOT_KEY}
        ends = {
            "nokey": {},
            "auth-missing": {},
            "auth-wrong-xapikey": {"X-API-Key": "nobody"},
            "auth-wrong-bearer": {"Authorization": "Bearer nobody"},
            "auth-bearer-ok": {"Authorization": f"Bearer {self.user_key}"},
            "auth-basic": {"Authorization": f"Basic {self.user_key}"},
            "auth-lowercase-bearer": {"Authorization": f"bearer {self.user_key}"},
            "auth-both-conflict": {**user, "Authorization": "Bearer nobody"},
            "auth-root": root,
            "auth-root-with-identity": {**root, "X-OpenViking-Account": "acme"},
            "auth-user-with-identity": {**user, "X-OpenViking-User": "bob"},
            "root-find-forbidden": root,
            "admin-list-accounts-user": user,
            "observer-queue-user": user,
            "version": root,
        }
        for end, headers in ends.items():
            if name.endswith(end):
                return headers
        return root if name.startswith(("admin-", "observer-", "debug-")) else user
