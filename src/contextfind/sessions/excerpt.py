"""What a conversation was about, quoted from it: no model is asked."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from contextfind.domain.conversation import Archive, SessionMessage
from contextfind.domain.documents import ABSTRACT_LENGTH, Document, Section
from contextfind.domain.languages import is_chinese
from contextfind.ingestion.salience import Sentence, salient
from contextfind.ingestion.summarising import shorten
from contextfind.ingestion.telling import joined, plain, sentences
from contextfind.ingestion.words import content_words

_T = TypeVar("_T")

_LOOKED_AT = (
    400  # messages of one conversation, evenly spread; a thread is busy with them for 0.1 s
)
_SCANNED = 4_000  # characters of a message; behind them stand logs and listings
_SENTENCES = 200  # of a stretch: what `salient` weighs
_STRETCH = 4  # messages; of each so many something is quoted, until there are
_STRETCHES = 6  # of them: a conversation has beginning, end, and some turns between
_QUOTE = 240  # characters
_OPENING = 4  # words with content; a shorter sentence is a greeting and opens nothing
_BEFORE = 5  # earlier archives that are named
_NAME = 40  # characters of a speaker
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_GAP = re.compile(r"\n\s*\n")
# A sentence of nothing else. Each word can be read one way only, or the time would grow beyond bounds.
_PLEASANT = re.compile(
    r"(?:(?:hi|hey|hello|wow|thanks|thank you|thx|bye|see you|talk to you soon|great|cool|nice|fine|perfect"
    r"|awesome|ok|okay|yes|yep|no|sure|right|good(?: morning| evening| night| to see you)?"
    r"|(?:that|it)(?:['’]s| is) (?:really |so |very |pretty )?(?:cool|sweet|great|nice|awesome|good))\b[ ,]*)*"
    r"(?:(?:hi|hey|hello|wow|thanks|bye)[ ,]+[a-z]+)?[\s!.…)]*"
    r"|(?:早上好|晚上好|谢谢|多谢|好的?|嗯|哦|是的?|对|行|可以|哈|不客气|再见|没问题|明白|收到"
    r"|[您你啊了\s，、。！~…])++",
    re.IGNORECASE,
)
_TALKING = frozenset({"user", "assistant"})
_ROLES = {"user": "用户", "assistant": "助手", "tool": "工具", "system": "系统"}


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence and who said it."""

    who: str
    said: str


def in_chinese(messages: Sequence[SessionMessage]) -> bool:
    """Whether the conversation is held in Chinese; Japanese is none."""
    talk = _talk(messages)
    text = "\n".join(message.text[:_SCANNED] for message in _spread(talk, _LOOKED_AT))
    return is_chinese(text)


def who_said(message: SessionMessage) -> str:
    """Return the name of the speaker: of a peer, else the role."""
    peer = message.extra.get("peer_id")
    named = peer if isinstance(peer, str) and peer.strip() else message.role
    return shorten(named, _NAME)


def quotes(messages: Sequence[SessionMessage], room: int) -> list[Quote]:
    """Return sentences that say most, in the order they were said, together about `room` characters.

    A short conversation is quoted whole, but for greetings; of a longer one there are some sentences
    from each part. What tools said is left out where people speak. The same for the same messages;
    the time is bounded, however many they are.
    """
    talk = _spread(_talk(messages), _LOOKED_AT)
    parts = max(min(_STRETCHES, -(-len(talk) // _STRETCH)), 1)
    every = [_said(message) for message in talk]
    told = [[pair for pair in pairs if _tells(pair[1].text)] for pairs in every]
    said = told if any(told) else every
    if sum(len(one.text) for pairs in said for _, one in pairs) <= room:
        return _distinct(itertools.chain.from_iterable(said))
    found: list[tuple[str, Sentence]] = []
    for part in range(parts):
        stretch = said[part * len(talk) // parts : (part + 1) * len(talk) // parts]
        sentences_of: dict[str, tuple[str, Sentence]] = {}
        for who, one in itertools.chain.from_iterable(stretch):
            sentences_of.setdefault(one.text, (who, one))
        weighed = _spread([one for _, one in sentences_of.values()], _SENTENCES)
        opening = _opened(weighed) if part == 0 else weighed
        found += [sentences_of[text] for text in salient(opening, "", room // parts)]
    return _distinct(found)


def excerpt(
    messages: Sequence[SessionMessage], before: Sequence[Archive], room: int
) -> tuple[str, str]:
    """Return abstract and overview of messages, in their language.

    The overview names when and by whom it was said, quotes about `room` characters, and says in a
    line each what was said before. before: earlier archives, newest first.
    """
    chinese = in_chinese(messages)
    said = quotes(messages, room)
    heading = _heading(messages, chinese=chinese)
    lines = [f"- **{_speaker(one.who, chinese=chinese)}**: {one.said}" for one in said]
    overview = [heading, "", *lines, *_earlier(before, chinese=chinese)]
    gist = joined(
        salient(
            _opened([Sentence(one.said, opens_section=True) for one in said]), "", ABSTRACT_LENGTH
        )
    )
    return shorten(gist or heading, ABSTRACT_LENGTH), "\n".join(overview).strip()


def _talk(messages: Sequence[SessionMessage]) -> Sequence[SessionMessage]:
    telling = [message for message in messages if message.text.strip()]
    return [message for message in telling if message.role in _TALKING] or telling


def _spread(items: Sequence[_T], most: int) -> Sequence[_T]:
    """Return at most so many of them, evenly, first and last among them."""
    if len(items) <= most:
        return items
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]


def _said(message: SessionMessage) -> list[tuple[str, Sentence]]:
    """Return the sentences of a message, each with who said it."""
    who, asks = who_said(message), message.role == "user"
    return [
        (who, Sentence(text, opens_section=asks and at == 0))
        for at, text in enumerate(_sentences(message.text))
    ]


def _tells(text: str, least: int = 1) -> bool:
    """Whether there are words with content, and no greeting, thanks or applause alone."""
    if _PLEASANT.fullmatch(text):
        return False
    return len(list(itertools.islice(content_words(text), least))) == least


def _opened(sentences_: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences; the first that a user says and that is no greeting opens the text."""
    at = next((at for at, one in enumerate(sentences_) if _opens(one)), None)
    return [replace(one, opens_text=at == place) for place, one in enumerate(sentences_)]


def _opens(sentence: Sentence) -> bool:
    return sentence.opens_section and _tells(sentence.text, _OPENING)


def _distinct(said: Iterable[tuple[str, Sentence]]) -> list[Quote]:
    """Return each sentence once, where it was said first."""
    first: dict[str, Quote] = {}
    for who, one in said:
        first.setdefault(one.text.casefold(), Quote(who, shorten(one.text, _QUOTE)))
    return list(first.values())


def _sentences(text: str) -> Iterable[str]:
    """Return the sentences of a message; all of it where it has none: chat needs no full stops."""
    prose = _FENCED.sub("\n\n", text[:_SCANNED]).strip()
    blocks = [block.strip() for block in _GAP.split(prose) if block.strip()]
    section = Section((), tuple(blocks))
    found = [one.text for one in sentences(Document("", "", (section,)))] if blocks else []
    return found or [one for one in (plain(prose),) if one]


def _heading(messages: Sequence[SessionMessage], *, chinese: bool) -> str:
    days = sorted({f"{message.created_at:%Y-%m-%d}" for message in messages})
    names = list(dict.fromkeys(who_said(message) for message in messages))
    speakers = [_speaker(name, chinese=chinese) for name in names[:_STRETCHES]]
    if chinese:
        span = "至".join(dict.fromkeys(days[:1] + days[-1:]))
        return f"{span} 的对话，共 {len(messages)} 条消息（{'、'.join(speakers)}）。"
    span = " to ".join(dict.fromkeys(days[:1] + days[-1:]))
    plural = "message" if len(messages) == 1 else "messages"
    return f"Conversation of {span}, {len(messages)} {plural} by {', '.join(speakers)}."


def _speaker(name: str, *, chinese: bool) -> str:
    return _ROLES.get(name, name) if chinese else name


def _earlier(before: Sequence[Archive], *, chinese: bool) -> list[str]:
    told = [archive for archive in before if archive.abstract][:_BEFORE]
    if not told:
        return []
    head = "在此之前：" if chinese else "Before that:"
    lines = [f"- {one.created_at:%Y-%m-%d}: {one.abstract}" for one in reversed(told)]
    return ["", head, "", *lines]
