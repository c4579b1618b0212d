"""What a provider's refusal becomes."""

import json
from collections.abc import Mapping, Sequence

import httpx

from contextfind.domain.errors import UnavailableError

LONGEST_REASON = 300
_SHOWN = 100  # bytes of a page that came instead of JSON; enough for the title of an error page
_TRANSIENT = frozenset({408, 409, 425, 429})


class ProviderError(UnavailableError):
    """A model provider did not do what it was asked.

    status: None when there was no HTTP answer. transient: whether the same call may work later.
    retry_after: seconds the provider asked for. alive: whether it answered at all, sensibly.
    about_texts: it may be due to one of the texts that were sent.
    """

    def __init__(
        self,
        provider: str,
        reason: str,
        status: int | None = None,
        *,
        transient: bool,
        retry_after: float | None = None,
        about_texts: bool = False,
    ) -> None:
        answered = f" answered {status}" if status is not None else ""
        details: dict[str, object] = {
            "provider": provider,
            "reason": reason,
            "retryable": transient,
        }
        if status is not None:
            details["status"] = status
        if about_texts:
            details["about_texts"] = True
        super().__init__(f"{provider}{answered}: {reason}", details)
        self.reason = reason
        self.status = status
        self.transient = transient
        self.retry_after = retry_after

    @property
    def alive(self) -> bool:
        """Whether the provider works, though not for this call."""
        return not self.transient or self.status in _TRANSIENT


def refusal(
    provider: str, answer: httpx.Response, content: bytes, secrets: Sequence[str]
) -> ProviderError:
    """Return the error of an answer that is no 2xx, with the provider's own words but none of the secrets.

    content: the body, which the answer itself need not hold.
    """
    status = answer.status_code
    reason = without_secrets(_reason(content), secrets)
    return ProviderError(
        provider,
        reason[:LONGEST_REASON] or answer.reason_phrase or "no reason given",
        status,
        transient=status in _TRANSIENT or status >= httpx.codes.INTERNAL_SERVER_ERROR,
        retry_after=_retry_after(answer.headers),
    )


def without_secrets(reason: str, secrets: Sequence[str]) -> str:
    """Return a provider's words on one line, and stars in place of the secrets it repeats."""
    told = " ".join(reason.split())
    for secret in filter(None, secrets):
        told = told.replace(secret, "***")
    return told


def no_json(
    provider: str, answer: httpx.Response, content: bytes, secrets: Sequence[str]
) -> ProviderError:
    """Return the error of a 2xx whose body cannot be read, with its kind and its first words."""
    kind = answer.headers.get("content-type", "").partition(";")[0] or "of no kind"
    told = without_secrets(content[:_SHOWN].decode("utf-8", "replace"), secrets)
    reason = f"the answer is no JSON ({kind}): {told!r}" if told else "the answer is empty"
    return ProviderError(provider, reason, answer.status_code, transient=True)


def _reason(content: bytes) -> str:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
    while isinstance(body, dict):
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), "")
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of Retry-After; dates are left to the usual backing off."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
