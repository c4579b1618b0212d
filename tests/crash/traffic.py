"""A client that changes what is its own, in every way there is, and keeps a ledger of it."""

import copy
import io
import random
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from tests.crash.ledger import Ledger, Operation, Page, Talk, Thing

T = TypeVar("T")

TAGS = (("state=draft", "state=final"), ("team=ops", "team=dev"))  # one of each at most
FOLDERS, FILES = 2, 3  # few addresses, so that they are written again and again
TREE = (1, 2, 3, 4, 17)  # files of an ingest: more than a batch, sometimes
SESSIONS = 2
PATIENCE = 120.0  # seconds until an answer; far less on any machine


def page(rng: random.Random, marker: str) -> str:
    """Return a text that is found by its marker."""
    paragraph = f"Paragraph about topic{rng.randrange(7)} of the handbook. " * rng.randint(1, 12)
    return f"# Note\n\n{paragraph}\n\n## End\n\n{marker} closes it.\n"


def packed(texts: Mapping[str, str]) -> tuple[str, bytes, str]:
    """Return a zip of files as a form takes it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return ("notes.zip", stream.getvalue(), "application/zip")


def marker_of(text: str) -> str:
    """Return the last marker of a page."""
    return text.rsplit("\n", 2)[-2].split(maxsplit=1)[0]


class RefusedError(AssertionError):
    """A request that ought to be answered with 200 was not.

    unavailable: the server says that it cannot answer now.
    """

    def __init__(self, request: str, answer: httpx.Response) -> None:
        super().__init__(f"{request}: {answer.text}")
        self.unavailable = answer.status_code == 503


class Client:
    """One of several at once; no two have an address or a session in common."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name = name
        self.root = f"viking://resources/{name}"
        self.ledger = Ledger()
        self._rng = rng
        self._serial = 0
        self._http: httpx.Client

    def copy(self) -> "Client":
        """Return a client with the same memory and the same plans."""
        twin = Client(self.name, copy.deepcopy(self._rng))
        twin.ledger, twin._serial = copy.deepcopy(self.ledger), self._serial
        return twin

    @contextmanager
    def talking_to(self, url: str) -> Iterator[None]:
        """Talk to the server at an address meanwhile."""
        with httpx.Client(base_url=url, timeout=PATIENCE) as self._http:
            yield

    def work(self, pause: threading.Event) -> None:
        """Send one request after the other, until told to pause or the server is gone.

        In a pause the last request may be refused by a server that is told to stop: done or not, as without an answer.

        Raises:
            RefusedError: any other request was.

        """
        while not pause.is_set():
            try:
                self._rng.choices(*zip(*self._moves(), strict=True))[0]()
            except httpx.TransportError:
                return
            except RefusedError as refusal:
                if not (refusal.unavailable and pause.is_set()):
                    raise

    def broken_at_once(self) -> list[str]:
        """Return a line per promise that a server just started does not keep: as files are read, as sessions count."""
        ledger = self.ledger
        talks = {n: talk for n, talk in self._all_talks().items() if n not in ledger.unsettled()}
        counts = {name: self._counts(name) for name in talks}
        return ledger.broken({**self._all_talks(), **self._files()}) + [
            f"{name}: promised {talk}, counted {counts[name]}"
            for name, talk in talks.items()
            if counts[name] != (len(talk.messages), len(talk.archives))
        ]

    def broken(self) -> list[str]:
        """Return a line per promise that a server does not keep which has done all it had to do."""
        lines = self.ledger.settle({**self._files(), **self._talks()})
        files = [(uri, page) for uri, page in self.ledger.known.items() if isinstance(page, Page)]
        gone = [(uri, page) for uri, page in self.ledger.gone.items() if isinstance(page, Page)]
        self.ledger.gone.clear()  # looked for once
        return [
            *lines,
            *(f"{uri} is not found: {page}" for uri, page in files if uri not in self._found(page)),
            *(f"{uri} is found: {page}" for uri, page in gone if uri in self._found(page)),
        ]

    def _counts(self, name: str) -> tuple[int, int] | None:
        answer = self._http.get(f"/api/v1/sessions/{name.split()[1]}")
        told = answer.json()["result"]
        return None if told is None else (told["message_count"], told["commit_count"])

    def _found(self, thing: Page) -> list[str]:
        body: dict[str, object] = {"query": marker_of(thing.text), "limit": 5, "level": 2}
        if thing.tags:
            body["tags"] = list(thing.tags)
        result = self._call("POST", "/api/v1/search/find", json=body)
        return [hit["uri"] for hit in result["resources"]]

    def _moves(self) -> list[tuple[Callable[[], None], int]]:
        return [
            (self._create, 3),
            (self._replace, 4),
            (self._append, 4),
            (self._remove, 2),
            (self._remove_folder, 2),
            (self._move, 2),
            (self._move_folder, 1),
            (self._retag, 2),
            (self._ingest, 2),
            (self._say, 4),
            (self._commit, 2),
            (self._forget, 1),
        ]

    def _create(self) -> None:
        folder, file = self._rng.randrange(FOLDERS), self._rng.randrange(FILES)
        uri = f"{self.root}/d{folder}/n{file}.md"
        if uri not in self.ledger.known:
            self._write("create", uri, page(self._rng, self._marker()), self._tags() or ())

    def _replace(self) -> None:
        for uri, old in self._one_of(self._pages()):
            tags = self._tags()
            text = page(self._rng, self._marker())
            self._write("replace", uri, text, old.tags if tags is None else tags, sent=tags)

    def _append(self) -> None:
        for uri, old in self._one_of(self._pages()):
            more = f"\n{self._marker()} was added.\n"
            self._write("append", uri, more, old.tags, before=old.text)

    def _write(
        self,
        mode: str,
        uri: str,
        text: str,
        tags: tuple[str, ...],
        *,
        sent: tuple[str, ...] | None = None,
        before: str = "",
    ) -> None:
        body: dict[str, object] = {"uri": uri, "content": text, "mode": mode}
        if mode == "create" or sent is not None:
            body["tags"] = list(tags)
        if self._rng.random() < 0.2:
            body["wait"] = True
        after = Page(before + text, tuple(sorted(tags)))
        with_wait = f"{mode}+wait" if "wait" in body else mode
        self._do(Operation(with_wait, {uri: after}), "POST", "/api/v1/content/write", json=body)

    def _remove(self) -> None:
        for uri, _ in self._one_of(self._pages()):
            self._do(Operation("delete", {uri: None}), "DELETE", "/api/v1/fs", params={"uri": uri})

    def _remove_folder(self) -> None:
        for folder in self._folders():
            asked = {"uri": folder, "recursive": True}
            gone = Operation("delete tree", dict.fromkeys(self._below(folder)))
            self._do(gone, "DELETE", "/api/v1/fs", params=asked)

    def _ingest(self) -> None:
        """Add a tree, or add it again with other files: what it brought before and does not bring now goes."""
        folder = f"{self.root}/t"
        if any(uri.startswith(f"{folder}/") for uri in self.ledger.late):
            return
        count = self._rng.choice(TREE)
        texts = {f"n{n}.md": page(self._rng, self._marker()) for n in range(count)}
        tags = tuple(sorted(self._tags() or ()))
        wait = self._rng.random() < 0.5
        upload = self._call("POST", "/api/v1/resources/temp_upload", files={"file": packed(texts)})
        body = {
            "temp_file_id": upload["temp_file_id"],
            "to": folder,
            "tags": list(tags),
            "wait": wait,
        }
        there = self._below(folder)
        changes: dict[str, Thing | None] = {uri: None for uri in there if there[uri].brought}
        changes |= {f"{folder}/{name}": Page(text, tags, True) for name, text in texts.items()}
        operation = Operation("ingest+wait" if wait else "ingest", changes, late=not wait)
        self._do(operation, "POST", "/api/v1/resources", json=body)

    def _move(self) -> None:
        for uri, page in self._one_of(self._pages()):
            self._take_to(f"{self.root}/m{self._next()}/{uri.rsplit('/', 1)[1]}", {uri: page}, uri)

    def _move_folder(self) -> None:
        for folder in self._folders():
            self._take_to(f"{self.root}/m{self._next()}", self._below(folder), folder)

    def _take_to(self, target: str, pages: Mapping[str, Page], source: str) -> None:
        changes: dict[str, Thing | None] = dict.fromkeys(pages)
        changes |= {
            target + uri.removeprefix(source): Page(page.text, page.tags)
            for uri, page in pages.items()
        }
        kind = "move" if source in pages else "move tree"
        asked = {"from_uri": source, "to_uri": target}
        self._do(Operation(kind, changes), "POST", "/api/v1/fs/mv", json=asked)

    def _retag(self) -> None:
        for uri, page in self._one_of(self._pages()):
            tags = self._tags() or ()
            change = {uri: Page(page.text, tuple(sorted(tags)), page.brought)}
            asked = {"uri": uri, "tags": list(tags), "mode": "replace"}
            self._do(Operation("tag", change), "POST", "/api/v1/fs/attrs/set_tags", json=asked)

    def _say(self) -> None:
        name = f"session {self.name}-{self._rng.randrange(SESSIONS)}"
        talk = self._talk(name)
        said = tuple(f"message {self._marker()}" for _ in range(self._rng.randint(1, 3)))
        after = Talk((*talk.messages, *said), talk.archives)
        messages = [{"role": "user", "content": text} for text in said]
        path = f"/api/v1/sessions/{name.split()[1]}/messages/batch"
        self._do(Operation("say", {name: after}), "POST", path, json={"messages": messages})

    def _commit(self) -> None:
        talks = {name: talk for name, talk in self._all_talks().items() if talk.messages}
        for name, talk in self._one_of(talks):
            after = Talk((), (*talk.archives, talk.messages))
            path = f"/api/v1/sessions/{name.split()[1]}/commit"
            self._do(Operation("commit", {name: after}), "POST", path)

    def _forget(self) -> None:
        for name, _ in self._one_of(self._all_talks()):
            path = f"/api/v1/sessions/{name.split()[1]}"
            self._do(Operation("delete session", {name: None}), "DELETE", path)

    def _do(self, operation: Operation, method: str, path: str, **arguments: Any) -> None:
        self.ledger.begin(operation)
        self._call(method, path, **arguments)
        self.ledger.acknowledge()

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        answer = self._http.request(method, path, **arguments)
        if answer.status_code != 200:
            raise RefusedError(f"{method} {path}", answer)
        return answer.json()["result"]

    def _files(self) -> dict[str, Thing]:
        read = "/api/v1/content/read"
        asked: Mapping[str, Any] = {"uri": self.root, "recursive": True}
        answer = self._http.get("/api/v1/fs/ls", params=asked)
        lines = answer.json()["result"] if answer.status_code == 200 else ()
        return {
            line["uri"]: Page(
                self._call("GET", read, params={"uri": line["uri"]}), tuple(sorted(line["tags"]))
            )
            for line in lines
            if not line["isDir"]
        }

    def _talks(self) -> dict[str, Thing]:
        listed = self._call("GET", "/api/v1/sessions", params={"limit": 100})
        ids = [line["session_id"] for line in listed]
        mine = (session for session in ids if session.startswith(f"{self.name}-"))
        return {f"session {session}": self._told(session) for session in mine}

    def _told(self, session: str) -> Talk:
        path = f"/api/v1/sessions/{session}"
        told = self._call("GET", f"{path}/context", params={"token_budget": 100_000})
        lines = self._call("GET", f"{path}/archives")
        archives = [self._call("GET", f"{path}/archives/{one['archive_id']}") for one in lines]
        return Talk(_said(told), tuple(_said(archive) for archive in reversed(archives)))

    def _pages(self) -> dict[str, Page]:
        """Return the files in directories that no task works on."""
        busy = {uri.rsplit("/", 1)[0] for uri in self.ledger.late}
        return {
            name: thing
            for name, thing in self.ledger.known.items()
            if isinstance(thing, Page) and name.rsplit("/", 1)[0] not in busy
        }

    def _folders(self) -> Iterable[str]:
        """Return a directory with files that no task works on, or none when there is none."""
        folders = sorted({uri.rsplit("/", 1)[0] for uri in self._pages()})
        return self._rng.sample(folders, min(len(folders), 1))

    def _below(self, folder: str) -> dict[str, Page]:
        return {uri: page for uri, page in self._pages().items() if uri.startswith(f"{folder}/")}

    def _all_talks(self) -> dict[str, Talk]:
        return {n: thing for n, thing in self.ledger.known.items() if isinstance(thing, Talk)}

    def _talk(self, name: str) -> Talk:
        return self._all_talks().get(name, Talk())

    def _one_of(self, things: Mapping[str, T]) -> Iterable[tuple[str, T]]:
        """Return one of them, or none when there is none."""
        return self._rng.sample(
            sorted(things.items(), key=lambda item: item[0]), min(len(things), 1)
        )

    def _tags(self) -> tuple[str, ...] | None:
        """Return tags to be set, or None to leave them."""
        if self._rng.random() < 0.5:
            return None
        keys = self._rng.sample(TAGS, self._rng.randint(0, len(TAGS)))
        return tuple(self._rng.choice(values) for values in keys)

    def _marker(self) -> str:
        return f"mark{self.name}x{self._next()}q"

    def _next(self) -> int:
        self._serial += 1
        return self._serial


def _said(told: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of messages."""
    return tuple(message["parts"][0]["text"] for message in told["messages"])
