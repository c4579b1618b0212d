"""A digest of the block, by a language model: a few bullets, each with the address it comes from."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from contextfind.answering.assembly.rendering import quotable
from contextfind.answering.assembly.tiers import Shown
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import RequestContext
from contextfind.domain.json_answer import json_in
from contextfind.domain.tokens import BYTES, estimated_tokens
from contextfind.ports import ChatModel, Message
from contextfind.retrieval.finder import LONGEST_QUERY

OFF, OK, NO_RELEVANT = "off", "ok", "no_relevant"
FAILED, TIMEOUT, NO_MODEL = "failed", "timeout", "no_model"
MOST_BULLETS = 20
SECONDS = 15.0  # as long as a plan may take; clients wait half a minute and more for a digest
_ANSWER_TOKENS = 2_000  # twenty bullets have some 1,200; a model that thinks aloud needs the rest
_SCHEMA = {
    "type": "object",
    "properties": {
        "bullets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "uri": {"type": "string"}},
                "required": ["text", "uri"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["bullets"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of the digest: `off`, `ok`, `no_relevant`, `failed`, `timeout` or `no_model`.

    text: the digest, empty unless it is ok. usage: about how many tokens went in and came out. note: why
    there is none.
    """

    status: str = OFF
    text: str = ""
    usage: Mapping[str, int] | None = None
    note: str = ""


class Rewriter:
    """Asks the model once for each digest; one that fails costs its time only."""

    def __init__(self, model: ChatModel, seconds: float = SECONDS) -> None:
        self._model = model
        self._seconds = seconds
        prompts = files("contextfind.answering") / "prompts"
        self._rules = (prompts / "digest_en.md").read_text("utf-8")

    async def rewrite(
        self, context: RequestContext, query: str, entries: Sequence[Shown], bullets: int, room: int
    ) -> Rewritten:
        """Return at most `bullets` bullets of the entries, of at most `room` tokens together.

        A bullet without one of the entries' addresses is left out; none at all is a failure.
        """
        messages = self._messages(query, entries, bullets)
        seconds = context.patience(self._seconds, asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(seconds):
                answer = await self._model.complete(messages, _ANSWER_TOKENS, _SCHEMA)
        except TimeoutError:
            return Rewritten(TIMEOUT, note="no digest: the language model did not answer in time")
        except UnavailableError as fault:
            return Rewritten(FAILED, note=f"no digest: {fault}")
        usage = {
            "input_tokens": sum(estimated_tokens(message.text) for message in messages),
            "output_tokens": estimated_tokens(answer),
        }
        try:
            said = _bullets(answer)
        except UnavailableError as fault:
            return Rewritten(FAILED, usage=usage, note=f"no digest: {fault}")
        if not said:
            return Rewritten(NO_RELEVANT, usage=usage)
        known = {entry.head.uri.text for entry in entries}
        lines = [f"- {text} ({uri})" for text, uri in said if uri in known][:bullets]
        text = _within(lines, room)
        if not text:
            return Rewritten(
                FAILED, usage=usage, note="no digest: no bullet names an address it was given"
            )
        return Rewritten(OK, text, usage)

    def _messages(self, query: str, entries: Sequence[Shown], bullets: int) -> list[Message]:
        told = {
            "message": query[:LONGEST_QUERY],
            "most_bullets": bullets,
            "entries": [{"address": one.head.uri.text, "text": one.text} for one in entries],
        }
        data = json.dumps(told, ensure_ascii=False, indent=1)
        return [Message("system", self._rules), Message("user", data)]


def _bullets(answer: str) -> list[tuple[str, str]]:
    """Return text and address of each bullet.

    Raises:
        UnavailableError: the answer has no list of them.

    """
    value = json_in(answer)
    items = value.get("bullets") if isinstance(value, dict) else None
    if not isinstance(items, list):
        fault = "the language model's answer has no list `bullets`"
        raise UnavailableError(fault, {"retryable": False})
    said = [(one.get("text"), one.get("uri")) for one in items if isinstance(one, dict)]
    return [
        (" ".join(quotable(text).split()), uri.strip())
        for text, uri in said
        if isinstance(text, str) and isinstance(uri, str) and text.strip()
    ]


def _within(lines: Sequence[str], room: int) -> str:
    """Return the first lines that fit together."""
    text = ""
    for line in lines:
        longer = f"{text}\n{line}" if text else line
        if len(longer.encode("utf-8", "surrogatepass")) > BYTES * room:
            break
        text = longer
    return text
