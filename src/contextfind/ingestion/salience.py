"""Which sentences of a text say most about it: an extractive summary without a model."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.ingestion.words import content_words

_MOST = 200  # sentences that are weighed; the first pages say what a text is about
# What a place is worth beside content, which is 0 to 1. The opening sentence is the strongest single
# summary there is of news and of documentation alike (the "lead" baseline), so it nearly always wins.
_OPENING = 1.0
_SECTION = 0.25
_EARLY = 0.2
_NEIGHBOUR = 0.15  # what goes on from a chosen sentence reads better than a jump
_FIGURES = 0.1
_LEANS = 0.4  # "However, it …" says little where what it leans on is not there
_ASKS = 0.3
_TITLE = 0.5
_SMOOTHING = 3  # words; or the shortest sentence with one frequent word would be the best
_LEAST = 0.35  # a sentence below that is filler
_SAID = 4  # sentences quoted at most; more is a text again
_FRAGMENT = 4  # words; what has fewer ("Fifteen minutes by phone.") tells nothing on its own
_DIGIT = re.compile(r"\d")
_LEANING = re.compile(
    r"(?:this|that|these|those|it|its|they|their|he|she|his|her|however|also|but|and|or|so|thus|then"
    r"|therefore|moreover|otherwise|instead|such|here|there|for example|for instance)\b"
    r"|但是?|而且?|因此|所以|此外|另外|同时|然而|不过|其中|其|它们?|他们?|她们?|这|该|例如|比如|如果|此时|也|并|又",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?？]$")
_BOILERPLATE = re.compile(
    r"all rights reserved|copyright\b|\(c\) \d{4}|licen[sc]ed under|table of contents|on this page"
    r"|cookies? |subscribe|sign up|click here|read more|last (?:updated|modified|edited)|edit this page"
    r"|back to top|was this page|join (?:us|our)|skip to|版权所有|保留所有权利|点击(?:这里|此处)|上一[页篇]"
    r"|下一[页篇]|返回顶部|未经许可|转载请|最后(?:更新|修改)|阅读更多|关注我们",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"[:：]$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands: whether it opens the text, or a section of it."""

    text: str
    opens_text: bool = False
    opens_section: bool = False


def salient(sentences: Sequence[Sentence], title: str, room: int) -> list[str]:
    """Return the sentences to quote, in reading order, together at most `room` characters.

    The first one chosen may be longer than `room`. Each is worth the mean frequency of its words in
    the text, words of the title more, and of its place; after each choice the words that were said
    count less, so nothing is said twice (SumBasic: Nenkova and Vanderwende, The Impact of Frequency
    on Summarization, 2005; with a lead prior). What sells, forbids or leads elsewhere is left out
    unless nothing else is there. Linear in the text, the same for the same text.
    """
    telling = _distinct([one for one in sentences[:_MOST] if not _is_filler(one.text)])
    weighed = _Weighed(telling or _distinct(sentences[:_MOST]), title)
    chosen: list[int] = []
    left = room
    while len(chosen) < _SAID and (best := weighed.best(chosen, left)) is not None:
        chosen.append(best)
        left -= len(weighed.sentences[best].text) + 1
        weighed.said(best)
    return [weighed.sentences[at].text for at in sorted(chosen)]


def _is_filler(text: str) -> bool:
    return _BOILERPLATE.search(text) is not None or _LEADS_ON.search(text) is not None


def _distinct(sentences: Sequence[Sentence]) -> list[Sentence]:
    return list({one.text.casefold(): one for one in reversed(sentences)}.values())[::-1]


class _Weighed:
    """Sentences with the worth of their words, which falls when the words were said."""

    def __init__(self, sentences: Sequence[Sentence], title: str) -> None:
        self.sentences = sentences
        self._words = [frozenset(content_words(one.text)) for one in sentences]
        found = Counter(word for words in self._words for word in words)
        titled = frozenset(content_words(title))
        self._worth = {
            word: count / max(len(sentences), 1) + _TITLE * (word in titled)
            for word, count in found.items()
        }
        self._most = max(map(self._content, self._words), default=0.0) or 1.0

    def best(self, chosen: Sequence[int], room: int) -> int | None:
        """Return the place of the next sentence; None when nothing is left that fits and tells."""
        best, most = None, _LEAST if chosen else float("-inf")
        for at in range(len(self.sentences)):
            if at in chosen or (chosen and not self._may_follow(at, room)):
                continue
            worth = self._content(self._words[at]) / self._most + self._place(at, at - 1 in chosen)
            if worth > most:
                best, most = at, worth
        return best

    def _may_follow(self, at: int, room: int) -> bool:
        return len(self.sentences[at].text) <= room and len(self._words[at]) >= _FRAGMENT

    def said(self, at: int) -> None:
        """Square what the words of a sentence are worth: all are below 1, or as good as."""
        for word in self._words[at]:
            self._worth[word] = min(self._worth[word], 1.0) ** 2 / 2

    def _content(self, words: frozenset[str]) -> float:
        return sum(sorted(self._worth[word] for word in words)) / (len(words) + _SMOOTHING)

    def _place(self, at: int, follows: bool) -> float:  # noqa: FBT001 - the sentence before is chosen
        one = self.sentences[at]
        worth = _EARLY * (1 - at / len(self.sentences))
        worth += _OPENING * one.opens_text + _SECTION * one.opens_section
        worth += _NEIGHBOUR * follows + _FIGURES * (_DIGIT.search(one.text) is not None)
        worth -= _ASKS * (_ASKING.search(one.text) is not None)
        leans = not (follows or one.opens_text) and _LEANING.match(one.text)
        return worth - _LEANS * bool(leans)
