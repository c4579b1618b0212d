"""Whatever a file looks like: it is read or refused, and no text is lost on the way to passages."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidArgumentError
from contextfind.ingestion.parsing.reader import read_document
from contextfind.ingestion.passages import PassageRules, cut
from contextfind.ingestion.splitting import PROSE, VERBATIM, pieces, weight
from contextfind.ingestion.summarising import file_abstract

RULES = PassageRules(
    target=120, longest=200, tiny=40, context=60
)  # small, so that little is enough

_LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "# Top",
            "## Part",
            "### 小节",
            "Title",
            "=====",
            "-----",
            "---",
            "- item",
            "  - inner item",
            "1. first",
            "> quoted",
            "```",
            "~~~",
            "    indented",
            "| a | b |",
            "|---|---|",
            "| 1 | 二 |",
            "<div>",
            "[ref]: http://x",
            "class Foo:",
            "    def bar(self):",
            "def baz():",
            "        return 1",
            "@wrapped",
            "# comment",
            "func Go() {",
            "}",
            '"""',
        ]
    ),
    st.text(alphabet="abc XYZ.,;:!?。！？；发布回滚“”#*`|<>-=_()[]{}\t\"'\\", max_size=300),
    st.text(st.characters(exclude_categories=["Cc"]), max_size=40),
)
_TEXTS = st.lists(_LINES, max_size=40).map("\n".join)
_NAMES = st.sampled_from(
    ["a.md", "a.txt", "a.rst", "a.py", "a.go", "a.ts", "a.log", "a.adoc", "LICENSE"]
)
_ALL_NAMES = st.sampled_from(
    [
        "a.md",
        "a.py",
        "a.json",
        "a.yaml",
        "a.toml",
        "a.csv",
        "a.xml",
        "a.html",
        "a.ipynb",
        "a.jsonl",
        "a.tex",
        "a.pdf",
        "a.docx",
        "a.sql",
        "Makefile",
        "a",
    ]
)


def _letters(text: str) -> Counter[str]:
    return Counter(character for character in text if not character.isspace())


@given(_NAMES, _TEXTS)
@settings(max_examples=300, deadline=None)
def test_every_character_that_is_no_blank_is_in_some_passage(name: str, text: str) -> None:
    document = read_document(name, text.encode("utf-8", "surrogatepass"))
    shown = Counter[str]()
    for passage in cut(document, "p", RULES):
        shown.update(_letters(passage.text))
    missing = _letters(document.text) - shown
    assert not missing


@given(_NAMES, _TEXTS)
@settings(max_examples=150, deadline=None)
def test_passages_are_numbered_bounded_and_the_same_every_time(name: str, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    found = cut(read_document(name, data), "place > of > it", RULES)
    assert [passage.ordinal for passage in found] == list(range(len(found)))
    assert found
    for passage in found:
        assert weight(passage.text) <= RULES.longest + 4  # blank lines between blocks
        assert weight(passage.context) <= RULES.context
    assert found == cut(read_document(name, data), "place > of > it", RULES)


@given(
    _ALL_NAMES,
    st.one_of(st.binary(max_size=400), _TEXTS.map(lambda text: text.encode("utf-8", "replace"))),
)
@settings(max_examples=400, deadline=None)
def test_any_bytes_under_any_name_are_read_or_refused_politely(name: str, data: bytes) -> None:
    try:
        document = read_document(name, data)
    except InvalidArgumentError as refusal:
        assert name in str(refusal)  # noqa: PT017 - both outcomes are right
        return
    assert cut(document, "p", RULES)
    assert len(file_abstract(document, name)) <= 256
    document.text.encode()  # nothing that cannot be stored


@given(
    st.text(alphabet="ab .。\n发", max_size=2_000),
    st.integers(2, 300),
    st.sampled_from([PROSE, VERBATIM, ()]),
)
@settings(max_examples=200, deadline=None)
def test_pieces_join_to_the_text_and_keep_the_limit(text: str, limit: int, cuts: tuple[()]) -> None:
    found = pieces(text, limit, cuts)
    assert "".join(found) == text
    assert all(weight(piece) <= limit for piece in found)


@given(
    st.text(
        alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=1, max_size=60
    ),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
@settings(max_examples=100, deadline=None)
def test_chinese_text_survives_every_unicode_encoding(text: str, encoding: str) -> None:
    assert read_document("a.txt", text.encode(encoding)).text == text
