"""The words of a text that carry its content, in any script."""

import re
from collections.abc import Iterator

from contextfind.domain.function_words import STOP

_LETTERS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\w.,:%-]*\w|\d")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SHORTEST = 3  # letters of a word with content, in alphabets
_STEM = 6  # letters that tell a word; endings are cut off: rollout, rollouts; deploy, deploying
_SYLLABLES = 2  # of a Korean word; behind them stand particles
FUNCTION_HAN = re.compile(
    "[的了是在和与及或有为这那其等对中上下不也都而之以于被把从到让将可会个一我你他们它请如若"
    "\u3040-\u309f]"  # Hiragana: endings and particles of Japanese
)


def content_words(text: str) -> Iterator[str]:
    """Yield the words in reading order, repeats included: alphabets stemmed roughly, numbers whole,
    Chinese and Japanese as pairs of characters, Korean by its first syllables.
    """  # noqa: D205 - one sentence
    letters = text.casefold()
    if not text.isascii():
        letters = _CJK.sub(" ", letters)
        for run in _CJK.findall(text):
            for at in range(len(run) - 1):
                if not FUNCTION_HAN.search(run[at : at + 2]):
                    yield run[at : at + 2]
    for word in _LETTERS.findall(letters):
        if _HANGUL.match(word):
            yield word[:_SYLLABLES]
        elif word[0].isdigit() or (len(word) >= _SHORTEST and word not in STOP):
            yield word[:_STEM]
