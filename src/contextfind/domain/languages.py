"""In which script and language a text is: what the prompts and the quotes are chosen by."""

import re

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")
_A_THIRD = 3  # names and code words are Latin in every language
_A_TENTH = 10  # Japanese has more kana, and a Chinese text may name something Japanese


def is_cjk(text: str) -> bool:
    """Whether a third of the letters or more are Chinese or Japanese."""
    if text.isascii():
        return False
    letters = len(_LETTER.findall(text))
    return letters > 0 and _A_THIRD * len(_CJK.findall(text)) >= letters


def is_chinese(text: str) -> bool:
    """Whether a third of the letters or more are Chinese, and hardly any Japanese."""
    return is_cjk(text) and _A_TENTH * len(_KANA.findall(text)) < len(text)


def has_letters(text: str) -> bool:
    """Whether there is anything by which a language can be told."""
    return _LETTER.search(text) is not None
