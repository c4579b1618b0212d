"""What in a text tells what it is about: its sentences, and the words that keep coming back."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from contextfind.domain.documents import Document, Section
from contextfind.domain.function_words import STOP
from contextfind.domain.languages import is_cjk
from contextfind.ingestion.salience import Sentence
from contextfind.ingestion.words import FUNCTION_HAN

_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LETTER = re.compile(r"[^\W\d_]")
_IMAGE = re.compile(r"\[?!\[[^\[\]]*\]\([^()]*\)(?:\]\([^()]*\))?")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
# A comment ends before the next one: so that a line of openings alone takes no quadratic time.
_MARKS = re.compile(r"\*\*|__|`+|</?[A-Za-z][^<>]*>|<!--(?:(?!<!--).)*?-->")
_BULLET = re.compile(r"(?m)^\s{0,8}(?:[-*+>]|\d{1,3}[.)])\s+")
_UNTELLING = re.compile(
    r"```|~~~|\||#{1,6}\s|<!--|[-*_=]{3,}\s*$|---|\+\+\+|\[[^\[\]]+\]:|import |:::"
)
_SETEXT = re.compile(r"[^\n]*\n(?:=+|-+)\s*")
_HEADING = re.compile(r"#{1,6}\s[^\n]*$")
_RULES = re.compile(r"\|[\s|:\-]*|(?m:^)(?:```|~~~)\w*$")
# An English stop ends a sentence unless a lower-case word follows (`e.g. this`) or an initial precedes.
_SENTENCE = re.compile(
    r".+?(?:[。！？](?=[^」』”’）]|$)|(?<!\b[A-Z])[.!?][\"'”’)]*(?=\s+[^\sa-z]|\s*$)|$)", re.DOTALL
)
_STOPPED = re.compile(r"[.!?。！？…:：;；][\"'”’」』）)]*$")
_LABEL = 80  # characters; a line of its own without a stop is a label up to here, not a sentence
_SCANNED = 4_000  # characters of a block that are looked at
_BLOCKS = 60  # blocks that are looked at; what tells nothing until then tells nothing

_WORD = re.compile(r"[a-z][a-z\-]{3,30}")
_HAN_LETTER = re.compile(f"(?!{FUNCTION_HAN.pattern})[\u4e00-\u9fff]")  # that may be in a word
_HAN_RUN = re.compile("[\u4e00-\u9fff]{2,}")
_GRAM = (4, 3, 2)  # characters of a Chinese word
_LONGEST_NAME = 12  # characters that one grows to where it always stands in the same longer one


def sentences(document: Document) -> Iterator[Sentence]:
    """Yield the sentences of the paragraphs and lists that say something, without markup."""
    opens_text = True
    left = _BLOCKS
    for section in document.sections:
        blocks = [] if section.verbatim else section.blocks[:left]
        left -= len(blocks)
        opens_section = True
        for text in _of_blocks(blocks):
            yield Sentence(text, opens_text, opens_section)
            opens_text = opens_section = False
        if left <= 0:
            return


def opening_line(document: Document) -> str:
    """Return the first line of a text where it is a label: the title of one without markup."""
    first = next((one for one in document.sections if one.blocks), Section((), ("",)))
    block = first.blocks[0]
    labels = not (first.verbatim or _UNTELLING.match(block) or _BULLET.match(block))
    return plain(block) if labels and _is_label(block, plain(block)) else ""


def first_text(document: Document) -> str:
    """Return the beginning of a text that has no sentences: rows, keys, list items; on one line."""
    blocks = [block for section in document.sections for block in section.blocks]
    lines = " ".join(block for block in blocks[:_BLOCKS] if not _HEADING.match(block))
    return plain(_RULES.sub(" ", lines[:_SCANNED]))


def plain(block: str) -> str:
    """Return a paragraph on one line without images, links, emphasis and bullets."""
    bare = _LINK.sub(r"\1", _IMAGE.sub("", _BULLET.sub("", block)))
    return " ".join(_MARKS.sub("", bare).split())


def joined(said: Iterable[str]) -> str:
    """Return sentences one after the other, with a stop behind those that have none."""
    text = ""
    for one in said:
        chinese = is_cjk(text[-8:])
        stop = "" if not text or _STOPPED.search(text) else "；" if chinese else ";"
        text += stop + ("" if not text or chinese else " ") + one
    return text


def telling_words(texts: Sequence[str], limit: int) -> list[str]:
    """Return the words found in most of the texts (two at least), most frequent first."""
    words = Counter[str]()
    for text in texts:
        words.update(set(_candidates(text)))
    ranked = sorted(
        (word for word, count in words.items() if count > 1),
        key=lambda word: (-words[word], -len(word), word),
    )
    return _distinct((_grown(word, texts) for word in ranked), limit)


def _of_blocks(blocks: Iterable[str]) -> Iterator[str]:
    for block in blocks:
        if _UNTELLING.match(block) or _SETEXT.fullmatch(block):
            continue
        looked_at = block[:_SCANNED]
        items = _BULLET.split(looked_at) if _BULLET.match(looked_at) else [looked_at]
        for item in items:
            text = plain(item)
            if len(items) == 1 and _is_label(looked_at, text):
                continue
            for match in _SENTENCE.finditer(text):
                sentence = match[0].strip()
                if len(_LETTER.findall(sentence)) > 1:
                    yield sentence


def _is_label(block: str, text: str) -> bool:
    return len(text) <= _LABEL and "\n" not in block.strip() and _STOPPED.search(text) is None


def _candidates(text: str) -> Iterator[str]:
    yield from (word for word in _WORD.findall(text.lower()) if word not in STOP)
    for run in _HAN_RUN.findall(text):
        for size in _GRAM:
            for start in range(len(run) - size + 1):
                gram = run[start : start + size]
                if not FUNCTION_HAN.search(gram):
                    yield gram


def _grown(word: str, texts: Sequence[str]) -> str:
    """Return the longer Chinese word that a word is always a part of: 费斯特出版 for 斯特出版."""
    if len(word) < max(_GRAM) or _HAN.match(word) is None:
        return word
    places = [(text, text.find(word)) for text in texts]
    found = [(text, at) for text, at in places if at >= 0]
    while len(word) < _LONGEST_NAME:
        before = {text[max(at - 1, 0) : at] for text, at in found}
        after = {text[at + len(word) : at + len(word) + 1] for text, at in found}
        if len(before) == 1 and _HAN_LETTER.fullmatch(min(before)):
            found = [(text, at - 1) for text, at in found]
            word = min(before) + word
        elif len(after) == 1 and _HAN_LETTER.fullmatch(min(after)):
            word += min(after)
        else:
            break
    return word


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
