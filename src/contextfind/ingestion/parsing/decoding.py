"""Bytes to text: which encoding it is, and whether it is text at all."""

import codecs
import re

from charset_normalizer import from_bytes

from contextfind.domain.errors import InvalidArgumentError

MAX_BYTES = 20_000_000  # larger texts are dumps, and hold up everything behind them for minutes

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# In the order of preference when several fit equally well.
_LEGACY = ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1252", "cp1251", "koi8_r"]
_SAMPLE = 65_536  # bytes that are looked at to guess; the guess does not get better with more
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b"))
_MAX_CONTROL_SHARE = 0.03  # compressed data has about .10, damaged or coloured texts below .01
_FEW_CONTROLS = 8  # a short text may hold some NULs and still be read
_ORDINARY = (
    re.compile(  # letters one expects: Latin, Greek, Cyrillic, CJK, kana, Hangul, full width
        r"[\t\n\r -~\u00a0-\u052f\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
    )
)
_ASCII = re.compile(rb"[\t\n\r -~]")
_MAX_ASCII_SHARE = 0.8  # of bytes; UTF-16 has about .5, a text with a stray NUL nearly 1
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile(rb"[\x81-\xfe][\x30-\xfe]")
# GB 2312 rows 1-9 (punctuation, full width) and 16-55 (the 3,755 usual characters).
_USUAL_PAIR = re.compile(rb"[\xa1-\xa9\xb0-\xd7][\xa1-\xfe]")
_FREQUENT = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种"
    "事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日军者意无力它与长把机十民第公此已工使情"
)
_SHORT = 24  # characters; a shorter text has too few for frequencies to say anything


def decode(path: str, data: bytes) -> str:
    """Return the text of a file, newlines as they are.

    A byte order mark is dropped; NUL and lone surrogates become U+FFFD, so nothing behind them is lost.

    Raises:
        InvalidArgumentError: it is no text (`details["reason"]` is "binary"), or larger than MAX_BYTES
            ("too_large"); the message names the file.

    """
    if len(data) > MAX_BYTES:
        raise InvalidArgumentError(
            f"{path!r} has {len(data)} bytes; a text may have {MAX_BYTES} at most",
            {"path": path, "reason": "too_large"},
        )
    return usable(_decoded(path, data))


def usable(text: str) -> str:
    """Return the text with U+FFFD for what no engine takes: NUL and lone surrogates."""
    return _UNUSABLE.sub("\ufffd", text)


def binary_refusal(path: str, what: str = "it is no text") -> InvalidArgumentError:
    """Return the error for a file that has nothing to read; callers may skip those quietly."""
    return InvalidArgumentError(
        f"{path!r} cannot be read: {what}", {"path": path, "reason": "binary"}
    )


def _decoded(path: str, data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    wide = _wide_encoding(data) if b"\0" in data[:_SAMPLE] else None
    if wide is not None:
        return data.decode(wide, "replace")
    if _is_binary(data):
        raise binary_refusal(path)
    text = _as_utf8(data)
    return data.decode(_legacy_encoding(data), "replace") if text is None else text


def _is_binary(data: bytes) -> bool:
    controls = len(data) - len(data.translate(None, _CONTROL))
    return controls > max(_FEW_CONTROLS, _MAX_CONTROL_SHARE * len(data)) or (
        controls == len(data) > 0
    )


def _wide_encoding(data: bytes) -> str | None:
    """Return the UTF-16 order in which data with NULs reads like writing, None when in neither."""
    sample = data[:_SAMPLE]
    if len(data) % 2 or len(_ASCII.findall(sample)) > _MAX_ASCII_SHARE * len(sample):
        return None
    shares = {
        encoding: _ordinary_share(sample.decode(encoding, "replace"))
        for encoding in ("utf-16-le", "utf-16-be")
    }
    best = max(shares, key=lambda encoding: shares[encoding])
    return best if shares[best] > 0.9 else None  # noqa: PLR2004 - real texts have > .98


def _ordinary_share(text: str) -> float:
    return len(_ORDINARY.findall(text)) / max(len(text), 1)


def _as_utf8(data: bytes) -> str | None:
    """Return the text when it is UTF-8, perhaps with a few broken places; None when it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(character > "\x7f" for character in text) - broken
    return text if whole > 4 * broken else None  # legacy encodings break on nearly every character


def _legacy_encoding(data: bytes) -> str:
    sample = data[:_SAMPLE].rpartition(b"\n")[0] or data[:_SAMPLE]
    if _reads_as_chinese(sample):
        return "gb18030"
    best = from_bytes(sample, cp_isolation=_LEGACY).best()
    return "cp1252" if best is None else best.encoding


def _reads_as_chinese(sample: bytes) -> bool:
    """Tell GB 2312/GBK/GB18030 from the encodings that share its byte ranges (Korean, Japanese).

    Nearly all characters are usual ones; and in anything longer some are among the most frequent.
    """
    pairs = len(_PAIR.findall(sample))
    if len(_USUAL_PAIR.findall(sample)) < 0.9 * max(pairs, 1):
        return False
    text = sample.decode("gb18030", "ignore")
    han = [character for character in text if "\u4e00" <= character <= "\u9fff"]
    kana = sum("\u3041" <= character <= "\u30ff" for character in text)
    if not han or kana > len(han) / 10:
        return False
    frequent = sum(character in _FREQUENT for character in han)
    return len(han) < _SHORT or frequent > 0.05 * len(han)  # Korean read as GBK has about .03
