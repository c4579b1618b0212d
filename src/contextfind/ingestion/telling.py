"""What in a text tells what it is about: first sentences, and the words that keep coming back."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from contextfind.domain.documents import Document

_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LETTER = re.compile(r"[^\W\d_]")
_IMAGE = re.compile(r"\[?!\[[^\[\]]*\]\([^()]*\)(?:\]\([^()]*\))?")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_MARKS = re.compile(r"\*\*|__|`+|</?[A-Za-z][^<>]*>|<!--.*?-->")
_BULLET = re.compile(r"(?m)^\s{0,8}(?:[-*+>]|\d{1,3}[.)])\s+")
_UNTELLING = re.compile(
    r"```|~~~|\||#{1,6}\s|<!--|[-*_=]{3,}\s*$|---|\+\+\+|\[[^\[\]]+\]:|import |:::"
)
_SETEXT = re.compile(r"[^\n]*\n(?:=+|-+)\s*")
_HEADING = re.compile(r"#{1,6}\s[^\n]*$")
_RULES = re.compile(r"\|[\s|:\-]*|(?m:^)(?:```|~~~)\w*$")
_SENTENCE = re.compile(r".+?(?:[。！？](?=[^」』”’）]|$)|[.!?](?=\s|$)|$)", re.DOTALL)
_SCANNED = 4_000  # characters of a block that are looked at
_BLOCKS = 60  # blocks that are looked at; what tells nothing until then tells nothing

_WORD = re.compile(r"[a-z][a-z\-]{3,30}")
_STOP = (  # words with a blank on both sides
    " this that with from have been will when what which your their there these those into more than"
    " then they them also only each some such over about after before other using used uses file files"
    " folder folders should could would must does very just like make made need where while because"
    " between through under being were here most many every both same within without https http html"
    " true false none null self return defines class "
)
_FUNCTION_HAN = re.compile(
    "[的了是在和与及或有为这那其等对中上下不也都而之以于被把从到让将可会个一我你他们它请如若]"
)
_HAN_RUN = re.compile("[\u4e00-\u9fff]{2,}")
_GRAM = (4, 3, 2)  # characters of a Chinese word


def is_chinese(text: str) -> bool:
    """Whether a third of the letters or more are CJK: names and code words are Latin anyway."""
    letters = len(_LETTER.findall(text))
    return letters > 0 and 3 * len(_HAN.findall(text)) >= letters


def first_sentences(document: Document) -> Iterator[str]:
    """Yield the sentences of the first paragraphs that say something, without markup."""
    blocks = (
        block for section in document.sections if not section.verbatim for block in section.blocks
    )
    for _, block in zip(range(_BLOCKS), blocks, strict=False):
        if _UNTELLING.match(block) or _SETEXT.fullmatch(block):
            continue
        for match in _SENTENCE.finditer(plain(block[:_SCANNED])):
            sentence = match[0].strip()
            if len(_LETTER.findall(sentence)) > 1:
                yield sentence


def first_text(document: Document) -> str:
    """Return the beginning of a text that has no sentences: rows, keys, list items; on one line."""
    blocks = [block for section in document.sections for block in section.blocks]
    lines = " ".join(block for block in blocks[:_BLOCKS] if not _HEADING.match(block))
    return plain(_RULES.sub(" ", lines[:_SCANNED]))


def plain(block: str) -> str:
    """Return a paragraph on one line without images, links, emphasis and bullets."""
    bare = _LINK.sub(r"\1", _IMAGE.sub("", _BULLET.sub("", block)))
    return " ".join(_MARKS.sub("", bare).split())


def telling_words(texts: Sequence[str], limit: int) -> list[str]:
    """Return the words found in most of the texts (two at least), most frequent first."""
    words = Counter[str]()
    for text in texts:
        words.update(set(_candidates(text)))
    ranked = sorted(
        (word for word, count in words.items() if count > 1),
        key=lambda word: (-words[word], -len(word), word),
    )
    return _distinct(ranked, limit)


def _candidates(text: str) -> Iterator[str]:
    yield from (word for word in _WORD.findall(text.lower()) if f" {word} " not in _STOP)
    for run in _HAN_RUN.findall(text):
        for size in _GRAM:
            for start in range(len(run) - size + 1):
                gram = run[start : start + size]
                if not _FUNCTION_HAN.search(gram):
                    yield gram


def _distinct(ranked: Iterable[str], limit: int) -> list[str]:
    """Leave out what is a part of, or overlaps with, something that ranks higher."""
    chosen: list[str] = []
    for word in ranked:
        if len(chosen) == limit:
            break
        if not any(_overlap(word, other) for other in chosen):
            chosen.append(word)
    return chosen


def _overlap(word: str, other: str) -> bool:
    if word in other or other in word:
        return True
    han = _HAN.match(word) is not None
    return han and (word[0] == other[-1] or word[-1] == other[0])
