"""The few values of the configuration that the HTTP floor works by."""

import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

AuthMode = Literal["dev", "api_key"]

MEBIBYTE = 1024 * 1024
KEY_START = "cf_"  # so that people, and scanners of leaked secrets, know a key when they see one


@dataclass(frozen=True, slots=True)
class ServerRules:
    """What the server allows, and how long it waits; empty keys are no keys.

    metrics_key: reads GET /metrics and nothing else.
    answer_seconds: an answer that needs longer is given up with DEADLINE_EXCEEDED.
    wait_seconds: how long `wait=true` waits when the caller names no `timeout`.
    longest_wait_seconds: the largest `timeout` a caller may name.
    ready_seconds: the bound of GET /ready.
    opening_seconds: how long the start waits for the house before it listens anyway, and so how
        fast an opening must fail to stop the start.
    cors_origins: web pages of these origins may call the API; `*` is all, none is none.
    patience_seconds: how long a request waits for a house that is still opening.
    max_requests: requests that are answered at once; of one account three quarters of them.
    max_waiting: requests of one account that wait for their turn.
    queue_seconds: how long one of them waits.
    rate_limit_per_minute: requests of one key; 0 is no limit.
    rate_limit_burst: how many of them may come at once; None is all of a minute's.
    wrong_keys_per_minute: of one address; a person who mistypes stays below, a list of words does not.
    """

    api_key: str = ""
    root_api_key: str = ""
    metrics_key: str = ""
    max_body_bytes: int = 32 * MEBIBYTE
    max_upload_bytes: int = 512 * MEBIBYTE
    answer_seconds: float = 60.0
    wait_seconds: float = (
        3_600.0  # an ingest by a local model takes minutes; the caller has a timeout of its own
    )
    longest_wait_seconds: float = 3_600.0
    ready_seconds: float = 2.0
    opening_seconds: float = 5.0
    patience_seconds: float = 20.0
    cors_origins: tuple[str, ...] = ()
    max_requests: int = 64
    max_waiting: int = 256
    queue_seconds: float = 10.0  # clients give up after some 30; those behind have a chance, too
    rate_limit_per_minute: int = 0
    rate_limit_burst: int | None = None
    wrong_keys_per_minute: int = 30

    @property
    def mode(self) -> AuthMode:
        """`dev` as long as no key protects the server."""
        return "api_key" if self.api_key or self.root_api_key else "dev"


def fresh_request_id() -> str:
    """Return 32 hex digits."""
    return uuid.uuid4().hex


def fresh_key() -> str:
    """Return a key that nobody can guess: `cf_` and 32 random bytes, URL-safe."""
    return KEY_START + secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Mint:
    """Where request ids and keys come from, and the seconds that limits count (they only rise)."""

    request_id: Callable[[], str] = fresh_request_id
    key: Callable[[], str] = fresh_key
    timer: Callable[[], float] = time.monotonic
