"""How the server stands, and the work it does behind the answers."""

from collections.abc import Callable
from typing import Any

from contextfind.client.answers import Health, JsonObject, Readiness, Status, Task
from contextfind.client.envelope import API, body_of, result, result_of, segment
from contextfind.client.exchange import Answer, Request
from contextfind.client.failure import (
    DeadlineExceededError,
    TaskFailedError,
    failure_of,
)
from contextfind.client.flow import Flow, Moment, Pause, ask
from contextfind.client.shaping import shaped

WAIT = 300.0  # seconds until everything written so far can be found, if nothing else is said
WAIT_MARGIN = 15.0  # seconds the answer of a wait may come after the time it was given
LOOK_SECONDS = 0.3  # between two looks at a task: fast enough for a bar, little for the server


def health() -> Flow[Health]:
    """Return who answers; needs no key."""
    return ask(Request("GET", "/health", _health, again=True))


def ready() -> Flow[Readiness]:
    """Return what is ready and what is not (that is an answer, no error)."""
    return ask(Request("GET", "/ready", _readiness))


def status() -> Flow[Status]:
    """Return the counts and the state of the server, as far as the key may see them."""
    return ask(Request("GET", f"{API}/system/status", result(Status), again=True))


def observe(component: str = "system") -> Flow[JsonObject]:
    """Return a part of the server (`system` is all of them): whether it works, and its figures in `status`."""
    path, params = f"{API}/observer/{segment(component)}", {"format": "json"}
    return ask(Request("GET", path, result(dict), params, again=True))


def memory_stats() -> Flow[JsonObject]:
    """Return how many memories there are, by directory, use and age."""
    return ask(Request("GET", f"{API}/stats/memories", result(dict), again=True))


def consistency(uri: str) -> Flow[JsonObject]:
    """Return whether finds know all that is stored at and below an address: `ok`, and what is missing."""
    path = f"{API}/system/consistency"
    return ask(Request("POST", path, result(dict), body={"uri": uri}, again=True))


def task(task_id: str) -> Flow[Task]:
    """Return how far background work is."""
    path = f"{API}/tasks/{segment(task_id)}"
    return ask(Request("GET", path, result(Task), again=True))


def tasks(
    limit: int = 50, *, task_type: str = "", status: str = "", resource_id: str = ""
) -> Flow[tuple[Task, ...]]:
    """Return your background work, newest first: of one type, in one state, of one address where these are given."""
    wanted = {"task_type": task_type, "status": status, "resource_id": resource_id}
    params: dict[str, str | int] = {"limit": limit}
    params |= {name: value for name, value in wanted.items() if value}
    reader = result(tuple[Task, ...])
    return ask(Request("GET", f"{API}/tasks", reader, params, again=True))


def cancel_task(task_id: str) -> Flow[Task]:
    """Stop background work; what it has written stays, and one that has ended stays as it is."""
    path = f"{API}/tasks/{segment(task_id)}/cancel"
    return ask(Request("POST", path, result(Task), again=True))


def wait(timeout: float = WAIT) -> Flow[JsonObject]:
    """Return when everything written so far can be found, at the latest after `timeout` seconds.

    The answer has a line per queue: how much is left, and what went wrong.
    """
    path, body = f"{API}/system/wait", {"timeout": timeout}
    return ask(Request("POST", path, _anything, body=body, timeout=timeout + WAIT_MARGIN))


def wait_task(task_id: str, timeout: float | None = None) -> Flow[Task]:
    """Return background work when it has completed; None waits as long as it goes on.

    Raises:
        TaskFailedError: it failed, or was cancelled.
        DeadlineExceededError: it goes on after `timeout` seconds.

    """
    return (yield from followed(task_id, timeout, _unwatched))


def followed(task_id: str, timeout: float | None, look: Callable[[Task], Flow[None]]) -> Flow[Task]:
    """Return a task when it has completed, with a `look` at it each time it has not; see `wait_task`."""
    began: float = yield Moment()
    while True:
        looked = yield from task(task_id)
        if looked.ended:
            return completed(looked)
        yield from look(looked)
        now: float = yield Moment()
        if timeout is not None and now - began >= timeout:
            raise DeadlineExceededError(
                "DEADLINE_EXCEEDED",
                f"task {task_id} is {looked.status} after {timeout:g} s, and goes on",
                details=dict(looked.raw),
            )
        yield Pause(LOOK_SECONDS)


def completed(task: Task) -> Task:
    """Return a task that has ended well; else raise TaskFailedError."""
    if task.status == "completed":
        return task
    reason = task.error or f"it was {task.status}"
    raise TaskFailedError(
        "INTERNAL", f"task {task.task_id} failed: {reason}", details=dict(task.raw)
    )


def _unwatched(_: Task) -> Flow[None]:
    yield from ()


def _health(answer: Answer) -> Health:
    return shaped(Health, body_of(answer), "answer")


def _readiness(answer: Answer) -> Readiness:
    body = answer.json()
    if isinstance(body, dict) and "checks" in body:
        return shaped(Readiness, body, "answer")
    raise failure_of(answer)


def _anything(answer: Answer) -> Any:
    return result_of(answer)
