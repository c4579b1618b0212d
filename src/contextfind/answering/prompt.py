"""What a language model is told when it is asked for an answer."""

import json
from collections.abc import Sequence
from importlib.resources import files

from contextfind.domain.languages import is_chinese
from contextfind.domain.uri import Uri
from contextfind.ports import Message
from contextfind.retrieval.finder import LONGEST_QUERY

_PROMPTS = files("contextfind.answering") / "prompts"


class AnswerPrompt:
    """The rules in the language of the question, and the question with its contexts as data."""

    def __init__(self) -> None:
        self._rules = {
            chinese: (_PROMPTS / name).read_text("utf-8")
            for chinese, name in ((False, "answer_en.md"), (True, "answer_zh.md"))
        }

    def messages(self, question: str, contexts: Sequence[tuple[Uri, str]]) -> list[Message]:
        """Return what is sent; contexts are numbered from 1.

        They are quoted as JSON, so that no text of theirs can end its own quotation.
        """
        told = {
            "question": question[:LONGEST_QUERY],
            "contexts": [
                {"number": number, "address": uri.text, "text": text}
                for number, (uri, text) in enumerate(contexts, start=1)
            ],
        }
        data = json.dumps(told, ensure_ascii=False, indent=1)
        return [Message("system", self._rules[is_chinese(question)]), Message("user", data)]
