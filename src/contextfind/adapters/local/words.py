"""Text to the terms of the word index.

The rules, the same for documents and queries:

* folding: compatibility forms become plain ones (full width, ligatures), accents of Latin letters go
  (`résumé` = `resume`), `ß` = `ss`, marks that Arabic and Hebrew may leave out go; lower case;
* English: Snowball stem; contraction and possessive endings go; function words go, unless the text
  holds nothing else: then they are its terms;
* identifiers and codes (`user_id`, `parseHTTPResponse`, `TKX-7741`, `v2.3.1`): whole, and their parts
  of two or more characters at case changes, digits and joiners; `v2.3.1` also as `2.3.1`; `c++`
  and `c#` are words;
* scripts written without spaces (Han, kana, Hangul, Thai, Lao, Burmese, Khmer): every character and
  every pair of neighbours, which measures as well as a segmenter and needs no dictionary;
* every other script: whole words.

Measured (nDCG@10 of BM25): function words as terms cost .01 to .05 on English, single-character
parts .005 on documentation.
"""

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import chain

from Stemmer import Stemmer

from contextfind.domain.word_pairs import UNSPACED

_FUNCTION_WORDS = """
a an and are as at be been but by can could did do does for from had has have how i if in into is it its
me my of on or our should so than that the their them then there these they this those to was we were
what when where which who why will with would you your
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
LONGEST_TERM = 128  # characters; a SHA-512 fits, an inlined picture is cut
CACHED_WORDS = 100_000  # distinct spellings kept: finding out costs some microseconds
CACHED_RUNS = 50_000  # what stands between white space; most texts take a third of the time
LONGEST_RUN = 32  # characters; longer ones (sentences without spaces, addresses) hardly come twice

_MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"  # vowel signs of Indic scripts are not in `\w`
_LATIN = "A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af"
_WORD = re.compile(
    r"[A-Za-z](?:\+\+|\#)(?![A-Za-z0-9_+#])"
    rf"|[{_LATIN}]+(?:[_.\-][{_LATIN}]+)*(?:'(?i:s|t|d|m|re|ve|ll)(?![{_LATIN}]))?"
    rf"|[{UNSPACED}]+"
    rf"|(?:[^\W_{_LATIN}{UNSPACED}]|[{_MARKS}])+"
)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_VERSION = re.compile(r"v[0-9]+(?:\.[0-9]+)+")
_ACCENTS = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+")
_LEFT_OUT = (*range(0x0591, 0x05C0), *range(0x064B, 0x0660), 0x0640, 0x0670)  # Hebrew, Arabic
_LETTERS: dict[int, str | None] = {
    **dict.fromkeys(_LEFT_OUT),
    **{ord(letter): plain for letter, plain in zip("øØłŁđĐı\u2019", "oOlLdDi'", strict=True)},
    **{
        ord(letter): plain
        for letter, plain in zip("ßẞæÆœŒ", ("ss", "SS", "ae", "AE", "oe", "OE"), strict=True)
    },
}


class WordTokenizer:
    """The `Tokenizer` of the house; the rules are those of its module."""

    def __init__(self) -> None:
        self._stemmer = Stemmer("english", maxCacheSize=0)
        self._stemming = threading.Lock()  # the stemmer keeps the word in itself
        self._expand = lru_cache(CACHED_WORDS)(self._expand_slowly)
        self._runs = _Runs(self._run_slowly)

    def terms(self, text: str) -> list[str]:
        """Return the terms in reading order, repeats included; linear, safe from any thread."""
        # No word goes on behind white space, and no folding reaches over it.
        found = list(chain.from_iterable(map(self._runs.__getitem__, text.split())))
        return found or [word.lower() for word in _words_in(text)]

    def _run_slowly(self, run: str) -> tuple[str, ...]:
        found: list[str] = []
        for word in _words_in(run):
            if word.isascii() or not _is_unspaced(word):
                found += self._expand(word)
            else:
                found += word
                found += [word[at : at + 2] for at in range(len(word) - 1)]
        return tuple(found)

    def _expand_slowly(self, word: str) -> tuple[str, ...]:
        bare, apostrophe, ending = word.partition("'")
        bare = bare[:LONGEST_TERM]
        whole = bare.lower()
        if whole in STOP_WORDS or (apostrophe and ending in "tT" and whole[-1:] == "n"):
            return ()
        if not bare.isascii() or len(bare) == LONGEST_TERM:
            return (whole,)
        if bare.isalpha():
            found = [self._stem(whole)]
        else:
            found = [whole, whole[1:]] if _VERSION.fullmatch(whole) else [whole]
        pieces = _PART.findall(bare)
        parts = [piece.lower() for piece in pieces if len(piece) > 1] if len(pieces) > 1 else []
        return (*found, *(self._stem(part) for part in parts if part not in STOP_WORDS))

    def _stem(self, word: str) -> str:
        with self._stemming:
            return str(self._stemmer.stemWord(word))


class _Runs(dict[str, tuple[str, ...]]):
    """The terms of runs between white space, found out once; all are forgotten when they become too many.

    A plain dict, for the sake of its speed: there are a hundred look-ups for each text.
    """

    def __init__(self, terms_of: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._terms_of = terms_of

    def __missing__(self, run: str) -> tuple[str, ...]:
        terms = self._terms_of(run)
        if len(run) <= LONGEST_RUN:
            if len(self) >= CACHED_RUNS:
                self.clear()
            self[run] = terms
        return terms


_is_unspaced = re.compile(f"[{UNSPACED}]").match


def _words_in(text: str) -> list[str]:
    words: list[str] = _WORD.findall(text if text.isascii() else _folded(text))
    return words


def _folded(text: str) -> str:
    """Return compatibility forms as plain ones and Latin letters bare."""
    apart = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart).translate(_LETTERS))
