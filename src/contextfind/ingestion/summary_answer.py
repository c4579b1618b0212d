"""What of a language model's answer is taken as a summary: an abstract and an overview."""

import re
from collections.abc import Mapping

from contextfind.domain.errors import UnavailableError
from contextfind.domain.json_answer import json_in
from contextfind.domain.plain_text import visible_text

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"abstract": {"type": "string"}, "overview": {"type": "string"}},
    "required": ["abstract", "overview"],
    "additionalProperties": False,
}
_LETTER = re.compile(r"[^\W\d_]")


def summary_in(answer: str) -> tuple[str, str]:
    """Return abstract and overview, without characters that cannot be seen.

    Raises:
        UnavailableError: the answer is something else.

    """
    value = json_in(answer)
    given = value if isinstance(value, dict) else {}
    texts = [given.get(key) for key in ("abstract", "overview")]
    clean = [visible_text(text).strip() if isinstance(text, str) else "" for text in texts]
    if not all(_LETTER.search(text) for text in clean):
        raise UnavailableError(
            "the model's answer lacks `abstract` or `overview`", {"retryable": False}
        )
    return clean[0], clean[1]
