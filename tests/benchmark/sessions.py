"""What search finds of committed conversations: recall@10 of the turns that answer a question.

    make bench-sessions

A real server is told three sessions, message by message, commits them, and is asked twenty questions by
`POST search/search`. Once without a chat model; once with a stand-in for one that makes a memory of every turn as it
was said. It knows everything and understands nothing: so what is measured is the way from a commit to a hit, and no
language model.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.table import Table

from contextfind.answering.measures import DEPTH
from examples.screen import screen
from examples.serving import POLL_SECONDS, Api, Server, ServerFailedError
from tests.stubs.chat import Asked, StubChat, Turn, say, stub_chat

CONVERSATION = Path(__file__).with_name("sessions.json")
WAYS = ("no chat model", "a memory of each turn")
_BETWEEN = timedelta(seconds=40)  # two turns; a session of twenty lasts a quarter of an hour
_PATIENCE = 300.0  # seconds for one commit; the built-in model embeds some 15 passages in one
_LOGS = "/sessions/"  # what no hit may lie below


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the turns that answer it.

    kind: `one` turn, `several`, of a `time`, or `across` two languages.
    """

    kind: str
    query: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Story:
    """The sessions: their messages as they are sent, by session; and the questions.

    turns: what was said, by the id of the turn.
    """

    sessions: Mapping[str, Sequence[Mapping[str, str]]]
    questions: Sequence[Question]

    @property
    def turns(self) -> Mapping[str, str]:
        """Every turn."""
        return {one["id"]: one["content"] for told in self.sessions.values() for one in told}


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one question: how much of its evidence was found, and how many hits there were.

    logs: how many of them were parts of a session.
    """

    kind: str
    recall: float
    hits: int
    logs: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What one way of committing gave.

    summaries: archives that have one. memories: that were made. recall: at 10, by kind of question and
    `all`; files: the same where only files are asked for and no directories. hits: of all questions,
    directories among them. logs: see `Judged`, in both.
    """

    way: str
    summaries: int
    memories: int
    recall: Mapping[str, float]
    files: Mapping[str, float]
    hits: int
    logs: int


def story() -> Story:
    """Return the conversation beside this file."""
    told = json.loads(CONVERSATION.read_text("utf-8"))
    questions = [
        Question(one["kind"], one["query"], frozenset(one["evidence"])) for one in told["questions"]
    ]
    return Story({one["id"]: list(_messages(one)) for one in told["sessions"]}, questions)


def _messages(session: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    at = datetime.fromisoformat(session["start"])
    for turn in session["turns"]:
        yield {
            "id": turn["id"],
            "role": "user",
            "peer_id": turn["who"],
            "content": turn["text"],
            "created_at": at.isoformat(),
        }
        at += _BETWEEN


def remember(asked: Asked) -> Turn:
    """Answer as a model would that keeps every turn as it was said, and plans nothing.

    A memory is titled by who spoke and when: what tells one turn from another and helps no search.
    """
    form = json.dumps(asked.body.get("response_format"))
    told = asked.messages[-1][1]
    if '"memories"' in form:
        return say({"memories": [_memory(one) for one in json.loads(told)["messages"]]})
    if '"queries"' in form:
        query = told.rpartition("\n")[2]  # it stands last, under its heading
        typed = {"query": query, "context_type": None, "intent": "", "priority": 1}
        return say({"reasoning": "as it was asked", "queries": [typed]})
    return say({"abstract": "A conversation.", "overview": "- a conversation"})


def _memory(said: Mapping[str, str]) -> Mapping[str, str]:
    title = f"{said['who']}, {said['at']}"
    return {"kind": "fact", "title": title, "text": said["text"], "date": "", "updates": ""}


def tell(api: Api, told: Story) -> tuple[int, int]:
    """Say and commit everything, one session after the other; return summaries and memories."""
    summaries = memories = 0
    for name, messages in told.sessions.items():
        place = f"/api/v1/sessions/{name}"
        api.call("POST", "/api/v1/sessions", json={"session_id": name})
        api.call("POST", f"{place}/messages/batch", json={"messages": messages})
        _wait(api, api.call("POST", f"{place}/commit", json={})["task_id"])
        summaries += bool(api.call("GET", f"{place}/archives/archive_001")["overview"])
        memories += api.call("GET", place)["memories_extracted"]["total"]
    return summaries, memories


def _wait(api: Api, task_id: str) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        task = api.call("GET", f"/api/v1/tasks/{task_id}")
        if task["status"] == "completed":
            return
        if task["status"] in ("failed", "cancelled") or time.monotonic() > end:
            raise ServerFailedError(f"a commit is {task['status']}: {task.get('error')}")
        time.sleep(POLL_SECONDS)  # noqa: TID251 - waits for another process


def ask(api: Api, told: Story, **fields: object) -> list[Judged]:
    """Ask every question in no session at all, as somebody does who comes back later."""
    judged: list[Judged] = []
    for question in told.questions:
        body = {"query": question.query, "limit": DEPTH, "read_content": True, **fields}
        found = api.call("POST", "/api/v1/search/search", json=body)
        shelves = (found["memories"], found["resources"], found["skills"])
        hits = sorted((hit for shelf in shelves for hit in shelf), key=lambda hit: -hit["score"])
        logs = sum(is_log(hit["uri"]) for hit in hits)
        found_in = [turns_in(hit, told.turns) for hit in hits]
        judged.append(Judged(question.kind, recall(found_in, question.evidence), len(hits), logs))
    return judged


def is_log(uri: str) -> bool:
    """Whether the address stands for a session or a part of one."""
    return _LOGS in uri


def turns_in(hit: Mapping[str, Any], turns: Mapping[str, str]) -> frozenset[str]:
    """Return the turns that a hit holds word for word; of a directory none, it only tells of files."""
    text = (hit.get("content") or "") if hit["level"] == 2 else ""
    return frozenset(name for name, said in turns.items() if said in text)


def recall(hits: Sequence[frozenset[str]], evidence: frozenset[str]) -> float:
    """Return the share of the evidence that the first ten hits hold, given the turns of each."""
    return len(evidence & frozenset[str]().union(*hits[:DEPTH])) / len(evidence)


def by_kind(judged: Sequence[Judged]) -> dict[str, float]:
    """Return the mean recall of each kind of question, `all` last."""
    kinds = {
        one.kind: [other.recall for other in judged if other.kind == one.kind] for one in judged
    }
    means = {kind: round(fmean(values), 3) for kind, values in kinds.items()}
    return means | {"all": round(fmean(one.recall for one in judged), 3)}


@contextmanager
def served(way: str, provider: str) -> Iterator[Api]:
    """Give an empty server of its own to one way."""
    chat = stub_chat(remember) if way == WAYS[1] else nullcontext()
    with (
        tempfile.TemporaryDirectory(prefix="contextfind-sessions-") as work,
        chat as stub,
        Server(Path(work), _settings(provider, stub)) as server,
        Api(server.url, server.key) as api,
    ):
        yield api


def measure(way: str, told: Story, provider: str) -> Figures:
    """Say, commit and ask everything in one way."""
    with served(way, provider) as api:
        summaries, memories = tell(api, told)
        judged, files = ask(api, told), ask(api, told, level=2)
    return Figures(
        way,
        summaries,
        memories,
        by_kind(judged),
        by_kind(files),
        sum(one.hits for one in judged),
        sum(one.logs for one in [*judged, *files]),
    )


def _settings(provider: str, stub: StubChat | None) -> Mapping[str, str]:
    settings = {"CONTEXTFIND_EMBEDDING__PROVIDER": provider}
    if stub is None:
        return settings
    return settings | {
        "CONTEXTFIND_VLM__MODEL": "stand-in",
        "CONTEXTFIND_VLM__API_BASE": stub.base_url,
        # What it says of directories would be the same of all: they are quoted, as without a model.
        "CONTEXTFIND_INGESTION__MODEL_SUMMARIES": "false",
    }


def table_of(rows: Sequence[Figures]) -> Table:
    """Return the figures as a table for people."""
    kinds = list(rows[0].recall)
    table = Table(title="recall@10 of the evidence", box=None)
    for head in ("", "summaries", "memories", "hits", "logs", *kinds):
        table.add_column(head, justify="right" if head else "left")
    for row in rows:
        counts = (row.summaries, row.memories, row.hits, row.logs)
        table.add_row(row.way, *map(str, counts), *(f"{row.recall[kind]:.3f}" for kind in kinds))
        files = [f"{row.files[kind]:.3f}" for kind in kinds]
        table.add_row("  at level 2", "", "", "", "", *files)
    return table


def main() -> int:
    """Measure both ways and print them; 1 when a part of a session was a hit."""
    parser = argparse.ArgumentParser(prog="make bench-sessions")
    parser.add_argument(
        "--provider", default="local", choices=["local", "hash"], help="hash: to try the benchmark"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    rows: list[Figures] = []
    for way in WAYS:
        with screen(stderr=True).status(f"{way}: three commits, forty searches"):
            rows.append(measure(way, story(), arguments.provider))
    screen().print(table_of(rows))
    if arguments.json is not None:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return int(any(row.logs for row in rows))


if __name__ == "__main__":
    sys.exit(main())
