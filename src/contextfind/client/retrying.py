"""When a request is sent again, and after how long: the same for both performers."""

from collections.abc import Callable
from typing import Any

from tenacity import (
    RetryCallState,
    retry_if_exception,
    retry_if_result,
    stop_after_attempt,
    stop_before_delay,
)

from contextfind.client.exchange import Answer, Request
from contextfind.client.failure import UnavailableError

RETRIES = 2  # more attempts: enough for a restart behind a proxy, few for a server that is down
FIRST_WAIT = 0.25  # seconds; doubled each time, then a random share between half and all of it
LONGEST_WAIT = 8.0  # seconds between two attempts, where the server does not ask for more
_BUSY = frozenset({429, 502, 503, 504})


def rules(
    request: Request[Any], retries: int, total: float, chance: Callable[[], float]
) -> dict[str, Any]:
    """Return the arguments of a tenacity object that sends a request.

    Only what may be sent again is, after a broken connection or an answer that says "not now"; never
    when the wait would outlast `total` seconds from the first attempt. The last outcome is what counts.
    """
    attempts = 1 + retries if request.again else 1
    return {
        "retry": retry_if_exception(_broken) | retry_if_result(_busy),
        "stop": stop_after_attempt(attempts) | stop_before_delay(total),
        "wait": lambda state: _wait(state, chance),
        "retry_error_callback": _last,
    }


def _broken(error: BaseException) -> bool:
    return isinstance(error, UnavailableError) and error.status is None


def _busy(answer: Answer) -> bool:
    return answer.status in _BUSY


def _wait(state: RetryCallState, chance: Callable[[], float]) -> float:
    outcome = state.outcome
    if outcome is not None and not outcome.failed:
        asked = outcome.result().retry_after
        if asked is not None:
            return float(asked)
    doubled = min(FIRST_WAIT * 2.0 ** (state.attempt_number - 1), LONGEST_WAIT)
    return doubled * (0.5 + 0.5 * chance())


def _last(state: RetryCallState) -> Any:
    outcome = state.outcome
    return None if outcome is None else outcome.result()
