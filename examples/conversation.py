"""What a session is good for: `python -m examples.conversation`.

Starts a server of its own, adds the tree of the demo, tells a session a conversation of twelve messages in English and
Chinese, and asks two questions that mean nothing by themselves: once as a find, once as a search in the session. No
language model is needed. Ends with 0 when the session finds the runbook first both times, else with 1.
"""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from examples.demo import PLACES, add_trees
from examples.screen import screen
from examples.serving import Api, Server, ServerFailedError

STORY = Path(__file__).with_name("conversation.json")
SESSION = "map-tiles"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked at the end of the conversation, and which file answers it."""

    query: str
    expected: str


def story() -> tuple[Sequence[Mapping[str, str]], Sequence[Question]]:
    """Return the messages, each a role and a content, and the questions."""
    told = json.loads(STORY.read_text(encoding="utf-8"))
    questions = [Question(one["query"], one["expected"]) for one in told["questions"]]
    return told["messages"], questions


def main() -> int:
    """Run it; return the exit code."""
    console = screen()
    messages, questions = story()
    with tempfile.TemporaryDirectory(prefix="contextfind-conversation-") as folder:
        try:
            with Server(Path(folder)) as server, Api(server.url, server.key) as api:
                add_trees(console, api)
                tell(console, api, messages)
                right = [compare(console, api, question) for question in questions]
        except ServerFailedError as error:
            console.print(f"It ended early: {error}", style="red", markup=False)
            return 1
    console.print(f"{sum(right)} of {len(right)} questions were understood in the session.")
    return 0 if all(right) else 1


def tell(console: Console, api: Api, messages: Sequence[Mapping[str, str]]) -> None:
    """Add the messages to the session, and show them."""
    path = f"/api/v1/sessions/{SESSION}/messages/batch"
    api.call("POST", path, json={"messages": list(messages)})
    for message in messages:
        console.print(f"[dim]{message['role']:>9}[/]  {message['content']}")
    console.print()


def compare(console: Console, api: Api, question: Question) -> bool:
    """Ask without and within the session; return whether the session finds an expected file first."""
    alone = api.call("POST", "/api/v1/search/find", json={"query": question.query, "level": 2})
    body = {"query": question.query, "level": 2, "session_id": SESSION}
    told = api.call("POST", "/api/v1/search/search", json=body)
    table = Table(title=question.query, title_justify="left")
    table.add_column("")
    table.add_column("score", justify="right")
    table.add_column("address", overflow="fold")
    for name, result in (("by itself", alone), ("in the session", told)):
        for hit in best(result)[:3]:
            table.add_row(name, f"{hit['score']:.2f}", hit["uri"])
            name = ""  # noqa: PLW2901 - shown once
    console.print(table)
    console.print(f"  [dim]{told['query_plan']['reasoning']}[/]\n")
    return bool(best(told)) and best(told)[0]["uri"] == f"{PLACES['resources']}/{question.expected}"


def best(result: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the hits of all shelves, best first."""
    hits = [*result["memories"], *result["resources"], *result["skills"]]
    return sorted(hits, key=lambda hit: (-hit["score"], hit["uri"]))


if __name__ == "__main__":
    sys.exit(main())
