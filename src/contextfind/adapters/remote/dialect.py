"""What a chat endpoint understands, learnt from what it refuses."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Form = Literal["json_schema", "json_object", "none"]
_PLAINER: Mapping[Form, Form] = {"json_schema": "json_object", "json_object": "none"}
_REFUSALS = frozenset({400, 415, 422, 501})
_ABOUT_FORM = re.compile(r"response_format|schema|json|structured|grammar|guided", re.IGNORECASE)
_ABOUT_LENGTH = re.compile(r"max_completion_tokens", re.IGNORECASE)
_ABOUT_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
_TELL = "Answer with one JSON object of this JSON schema and with nothing else: "


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to ask one endpoint.

    form: how a JSON schema is asked for: as `response_format` json_schema, as json_object, or in words
        only. length: the name of the limit (newer OpenAI models take `max_completion_tokens` only).
    temperature: whether it takes one.
    """

    form: Form = "json_schema"
    length: str = "max_tokens"
    temperature: bool = True

    def limits(self, max_tokens: int, temperature: float) -> dict[str, object]:
        """Return the fields about length and chance."""
        fields: dict[str, object] = {self.length: max_tokens}
        return fields | ({"temperature": temperature} if self.temperature else {})

    def question(
        self, messages: Sequence[tuple[str, str]], schema: Mapping[str, object] | None
    ) -> dict[str, object]:
        """Return `messages`, and `response_format` where the endpoint takes it.

        messages: (role, text) pairs. Where the schema cannot be sent as such, it is told in words.
        """
        sent = [{"role": role, "content": text} for role, text in messages]
        if schema is None:
            return {"messages": sent}
        if self.form == "json_schema":
            named = {"name": "answer", "strict": True, "schema": dict(schema)}
            return {
                "messages": sent,
                "response_format": {"type": "json_schema", "json_schema": named},
            }
        told = _TELL + json.dumps(schema, ensure_ascii=False)
        sent.insert(0, {"role": "system", "content": told})
        if sent[1:] and sent[1]["role"] == "system":  # many templates take one system message only
            sent[:2] = [{"role": "system", "content": f"{sent[1]['content']}\n\n{told}"}]
        if self.form == "none":
            return {"messages": sent}
        return {"messages": sent, "response_format": {"type": "json_object"}}

    def plainer(self, status: int | None, reason: str, *, with_schema: bool) -> "Dialect | None":
        """Return how to ask after a refusal; None when the refusal is about something else."""
        if status not in _REFUSALS:
            return None
        if self.length == "max_tokens" and _ABOUT_LENGTH.search(reason):
            return replace(self, length="max_completion_tokens")
        if self.temperature and _ABOUT_TEMPERATURE.search(reason):
            return replace(self, temperature=False)
        if with_schema and self.form in _PLAINER and _ABOUT_FORM.search(reason):
            return replace(self, form=_PLAINER[self.form])
        return None
