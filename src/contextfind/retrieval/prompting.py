"""What a language model is told when it is to plan a search, within a budget of tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextfind.domain.conversation import LAST_MESSAGES, Conversation
from contextfind.domain.languages import has_letters, is_chinese
from contextfind.domain.plain_text import plain_text
from contextfind.domain.tokens import BYTES, estimated_tokens, shortened
from contextfind.ports import Message

# Shares of what the instructions leave: the messages together have half of it. None borrows from
# another, so that each is always there, however long the others are.
_QUERY = 0.2
_SUMMARY = 0.2
_MESSAGE = 0.5 / LAST_MESSAGES
_PLACE = 0.02
_FRAME = 40  # tokens of the headings
_ROLE = 20  # characters
_GLANCE = 1_000  # characters that tell a language


@dataclass(frozen=True, slots=True)
class Place:
    """A target of the search: its address, and what its abstract says."""

    address: str
    about: str


@dataclass(frozen=True, slots=True)
class Briefing:
    """All that the model is told about one search.

    kinds: those the search is limited to; none means all. places: the same of the tree.
    """

    query: str
    conversation: Conversation
    kinds: Sequence[str] = ()
    places: Sequence[Place] = ()


@dataclass(frozen=True, slots=True)
class Headings:
    """The prompt's own words in one language."""

    summary: str
    messages: str
    query: str
    kinds: str
    places: str
    none: str


_ENGLISH = Headings(
    summary="Summary of what was said before",
    messages="Last messages",
    query="New message",
    kinds="Limited to these kinds",
    places="Limited to these places",
    none="(none)",
)
_CHINESE = Headings(
    summary="此前对话的摘要",
    messages="最近的消息",
    query="新消息",
    kinds="限定的类型",
    places="限定的位置",
    none="（无）",
)


class Prompter:
    """Writes the prompt, at most `tokens` long with its instructions, as `estimated_tokens` counts.

    The last five messages, the summary and the query are always inside, each cut in its middle
    where it is longer than its share.
    """

    def __init__(self, english: str, chinese: str, tokens: int) -> None:
        self._instructions = {False: english, True: chinese}
        longest = max(estimated_tokens(text) for text in (english, chinese))
        self._room = max(tokens - longest - _FRAME, 0)

    def messages(self, briefing: Briefing) -> Sequence[Message]:
        """Return the instructions, in the language of the query, and what there is to plan with."""
        chinese = _is_chinese(briefing)
        told = "\n\n".join(
            f"## {heading}\n{text}"
            for heading, text in self._sections(briefing, _CHINESE if chinese else _ENGLISH)
        )
        return [Message("system", self._instructions[chinese]), Message("user", told)]

    def _sections(self, briefing: Briefing, words: Headings) -> Iterator[tuple[str, str]]:
        said = briefing.conversation
        yield words.summary, self._cut(said.summary, _SUMMARY) or words.none
        turns = [
            self._cut(f"[{message.role[:_ROLE]}] {message.text}", _MESSAGE)
            for message in said.messages[-LAST_MESSAGES:]
        ]
        yield words.messages, "\n".join(turns) or words.none
        if briefing.kinds:
            yield words.kinds, ", ".join(briefing.kinds)
        if briefing.places:
            places = [f"{place.address} {place.about}" for place in briefing.places]
            yield words.places, "\n".join(self._cut(place, _PLACE) for place in places)
        yield words.query, self._cut(briefing.query, _QUERY)

    def _cut(self, text: str, share: float) -> str:
        tokens = int(share * self._room)
        most = BYTES * tokens  # characters of which anything can be left, at either end
        ends = text if len(text) <= 2 * most else f"{text[:most]} {text[-most:]}"
        return shortened(plain_text(ends).strip(), tokens)


def _is_chinese(briefing: Briefing) -> bool:
    """Whether the query is Chinese; one without words is in the language of the last messages."""
    said = [message.text for message in briefing.conversation.messages[-LAST_MESSAGES:]]
    for whole in (briefing.query, *reversed(said), briefing.conversation.summary):
        text = whole[:_GLANCE]
        if has_letters(text):
            return is_chinese(text)
    return False
