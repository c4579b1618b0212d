import random
import zlib

import pytest

from contextfind.domain.errors import InvalidArgumentError
from contextfind.ingestion.parsing.decoding import MAX_BYTES, decode

CHINESE = "发布前先检查健康状态，然后执行回滚步骤。如果失败，请联系值班人员。"
TRADITIONAL = "發布前先檢查健康狀態，然後執行回滾步驟。如果失敗，請聯繫值班人員。"
JAPANESE = "リリース前に状態を確認し、失敗した場合は担当者に連絡してください。"
KOREAN = "배포 전에 상태를 확인하고 롤백 절차를 실행하십시오. 실패하면 담당자에게 연락하십시오."


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "gbk"],
)
def test_chinese_text_is_read_in_every_usual_encoding(encoding: str) -> None:
    text = f"# 回滚\n\n{CHINESE}\nTKX-7741\n"
    assert decode("a.md", text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        ("café, résumé, naïve: Größe und Übermut für alle Straßen", "cp1252"),
        ("Перед выпуском проверьте состояние и выполните откат.", "cp1251"),
        ("回滚步骤", "gb18030"),
        ("的", "gb18030"),
        ("name,城市\nWang,北京\n", "gbk"),
    ],
)
def test_legacy_encodings_are_recognised(text: str, encoding: str) -> None:
    assert decode("a.txt", text.encode(encoding)) == text


def test_utf16_without_a_mark_is_recognised_in_both_byte_orders() -> None:
    text = "Release notes\n回滚步骤\n"
    assert decode("a.txt", text.encode("utf-16-le")) == text
    assert decode("a.txt", text.encode("utf-16-be")) == text


def test_byte_order_marks_are_dropped() -> None:
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert decode("a.txt", "héllo".encode(encoding)) == "héllo"


def test_what_stands_behind_a_nul_or_a_lone_surrogate_is_kept() -> None:
    assert decode("a.txt", b"before\0after") == "before\ufffdafter"
    lone = "before\ud800after".encode("utf-8", "surrogatepass")
    assert decode("a.txt", lone) == "before\ufffdafter"


def test_end_of_text_tokens_are_plain_text() -> None:
    assert decode("a.txt", b"a <|endoftext|> b") == "a <|endoftext|> b"


def test_utf8_with_a_broken_place_stays_utf8() -> None:
    data = CHINESE.encode()[:-1]
    assert decode("a.txt", data).startswith(CHINESE[:-1])


def test_newlines_stay_as_they_are() -> None:
    assert decode("a.txt", b"a\r\nb\rc\n") == "a\r\nb\rc\n"


def test_an_empty_file_is_an_empty_text() -> None:
    assert decode("a.txt", b"") == ""


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 100,
        b"\0\0",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4,
        zlib.compress(random.Random(7).randbytes(5_000)),  # noqa: S311 - data
        random.Random(8).randbytes(20_000),  # noqa: S311 - data
        b"\x7fELF\x02\x01\x01" + b"\0" * 9 + bytes(range(64)) * 8,
    ],
)
def test_binaries_are_refused_with_their_name_and_a_reason(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match=r"logo\.xyz") as caught:
        decode("logo.xyz", data)
    assert caught.value.details["reason"] == "binary"


def test_texts_beyond_the_limit_are_refused_with_a_clear_message() -> None:
    with pytest.raises(InvalidArgumentError, match=r"dump\.txt.*20000001.*20000000") as caught:
        decode("dump.txt", b"x" * (MAX_BYTES + 1))
    assert caught.value.details["reason"] == "too_large"
