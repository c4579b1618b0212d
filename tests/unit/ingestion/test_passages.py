import pytest

from contextfind.domain.documents import Document, Section
from contextfind.domain.records import Passage
from contextfind.domain.uri import Uri
from contextfind.ingestion.parsing.reader import read_document
from contextfind.ingestion.passages import PassageRules, context_line, cut, moved_line, place_of
from contextfind.ingestion.splitting import weight

RULES = PassageRules()
PLACE = "projects > atlas > release"
LONG = "The release is checked before it goes out to anybody. "


def passages(text: str, name: str = "release.md") -> tuple[Passage, ...]:
    return cut(read_document(name, text.encode()), PLACE, RULES)


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("viking://resources/projects/atlas/release.md", "projects > atlas > release"),
        ("viking://resources/my_docs/release-notes-v2.tar.gz", "my docs > release notes v2.tar"),
        ("viking://user/ann/memories/prefs.md", "memories > prefs"),
        ("viking://agent/skills/pdf-fill/SKILL.md", "skills > pdf fill > SKILL"),
        ("viking://resources/项目/回滚 步骤.md", "项目 > 回滚 步骤"),
        ("viking://resources/v1.2/.env", "v1.2 > .env"),
        ("viking://resources/---", "---"),
        ("viking://resources", ""),
        ("viking://user/ann", ""),
        ("viking://", ""),
    ],
)
def test_a_place_is_said_as_a_person_would(uri: str, place: str) -> None:
    assert place_of(Uri.parse(uri)) == place


def test_a_short_file_is_one_passage_as_it_was_written() -> None:
    text = "# Release\n\nFirst.\n* a\n* b\n\n## Undo\n\n\nLast."
    (only,) = passages(text + "\n")
    assert only.text == text
    assert only.context == "projects > atlas > release > Release"
    assert only.heading == "Release"
    assert only.ordinal == 0


def test_the_context_names_place_title_and_headings() -> None:
    text = f"---\ntitle: Handbook of Operations\n---\n# Undo\n\n{LONG * 10}\n\n## Steps\n\n{LONG * 10}\n"
    last = passages(text)[-1]
    assert last.context == "projects > atlas > release > Handbook of Operations > Undo > Steps"
    assert last.heading == "Undo > Steps"
    assert last.indexed_text.startswith(last.context + "\n")


def test_a_title_that_says_nothing_new_is_left_out() -> None:
    assert (
        context_line("atlas > release notes", "Release Notes", [], 200) == "atlas > release notes"
    )
    assert context_line("atlas", "Undo", ["Undo", "Steps"], 200) == "atlas > Undo > Steps"
    assert context_line("", "回滚", [], 200) == "回滚"


def test_the_context_is_bounded_and_keeps_what_is_nearest() -> None:
    line = context_line(" > ".join(f"folder{i}" for i in range(100)), "", ["A", "B"], 200)
    assert weight(line) <= 200
    assert line.endswith("folder99 > A > B")
    endless = context_line("", "", ["很" * 500], 200)
    assert weight(endless) <= 200
    assert endless.endswith("很…")


def test_an_empty_file_is_found_by_its_name() -> None:
    (only,) = passages("")
    assert (only.text, only.context) == ("", PLACE)


def test_neighbouring_blocks_share_a_passage_up_to_the_target() -> None:
    found = passages("# A\n\n" + "\n\n".join([LONG * 4] * 12))
    assert len(found) == 4
    assert all(500 < weight(passage.text) <= RULES.target for passage in found)


def test_a_heading_goes_with_what_follows() -> None:
    found = passages(f"# Top\n\n## Part\n\n{LONG * 14}\n\n## Other\n\n{LONG * 14}\n")
    assert [passage.heading for passage in found] == ["Top > Part", "Top > Other"]
    assert found[0].text.startswith("# Top\n\n## Part\n\nThe release")


def test_tiny_neighbours_share_a_passage_under_their_parent() -> None:
    tiny = "\n\n".join(f"## Q{i}\n\nThe answer is {i}." for i in range(60))
    found = passages(f"# FAQ\n\n{LONG * 4}\n\n{tiny}\n")
    shared = found[1]
    assert shared.heading == "FAQ"
    assert shared.text.startswith("## Q0\n\nThe answer is 0.\n\n## Q1")
    assert 500 < weight(shared.text) <= RULES.target
    assert len(found) < 6


def test_sections_that_say_enough_stay_apart() -> None:
    found = passages("\n\n".join(f"# Part {i}\n\n{LONG * 5}" for i in range(4)))
    assert [passage.heading for passage in found] == ["Part 0", "Part 1", "Part 2", "Part 3"]


def test_long_prose_is_cut_between_sentences() -> None:
    found = passages(LONG * 60)
    assert all(passage.text.endswith("anybody.") for passage in found)
    assert all(passage.text.startswith("The release") for passage in found)


def test_chinese_prose_is_cut_between_sentences_and_counts_double() -> None:
    found = passages(
        "发布前先检查健康状态，然后执行回滚步骤。他说：“失败了。”请联系值班人员！" * 60
    )
    assert len(found) > 5
    assert all(passage.text[-1] in "。！”" for passage in found)
    assert all(len(passage.text) <= 350 for passage in found)


def test_code_stays_whole_up_to_the_longest() -> None:
    code = "```python\n" + "\n\n".join(f"value_{i} = compute({i})" for i in range(40)) + "\n```"
    assert RULES.target < weight(code) < RULES.longest
    found = passages(f"{LONG * 10}\n\n{code}\n\n{LONG * 10}\n")
    assert code in [passage.text for passage in found]


def test_a_longer_code_block_is_cut_between_lines() -> None:
    lines = [f"value_{i} = compute({i}); call. Then more" for i in range(100)]
    found = passages("```\n" + "\n".join(lines) + "\n```\n")
    shown = [line for passage in found for line in passage.text.split("\n")]
    assert shown == ["```", *lines, "```"]


def test_a_long_table_repeats_its_header() -> None:
    rows = [f"| step {i} | 值班人员 {i} |" for i in range(100)]
    header = "| step | who |\n|------|-----|"
    found = passages("\n".join([header, *rows]))
    assert len(found) > 3
    assert all(passage.text.startswith(header + "\n|") for passage in found)
    assert [row for p in found for row in p.text.split("\n")[2:]] == rows


def test_a_long_list_is_cut_between_items() -> None:
    items = [f"- item {i}. It has two sentences\n  and a second line." for i in range(60)]
    found = passages("\n".join(items))
    assert len(found) > 3
    assert all(passage.text.startswith("- item") for passage in found)


def test_one_endless_word_is_cut_hard() -> None:
    found = passages("x" * 5_000)
    assert "".join(passage.text for passage in found) == "x" * 5_000
    assert all(len(passage.text) <= RULES.target for passage in found)


def test_functions_are_passages_with_their_class_in_front() -> None:
    body = "".join(f"        step_{i} = self.compute({i})\n" for i in range(12))
    text = "class Release:\n" + "\n".join(f"    def part_{i}(self):\n{body}" for i in range(3))
    found = passages(text, "release.py")
    assert [passage.heading for passage in found] == [
        "class Release > def part_0",
        "class Release > def part_1",
        "class Release > def part_2",
    ]
    assert found[1].text.startswith("    def part_1(self):\n        step_0")


def test_json_is_found_by_the_characters_it_means() -> None:
    (only,) = passages('{\n  "a": "\\u56de\\u6eda"\n}\n', "a.json")
    assert "回滚" in only.text


def test_a_document_without_sections_has_a_passage() -> None:
    assert len(cut(Document("", "", ()), "", RULES)) == 1
    assert len(cut(Document("", "", (Section(("A",), ()),)), "", RULES)) == 1


def test_equal_input_gives_equal_passages() -> None:
    text = f"# A\n\n{LONG * 40}\n"
    assert passages(text) == passages(text)


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("a/b.md", "a/c.md", "a > b > Title > Part", "a > c > Title > Part"),
        ("a/b.md", "x/y/b.md", "a > b", "x > y > b"),
        ("a/b-c.md", "d.md", "a > b c > H > I", "d > H > I"),
        ("long/a/b.md", "c/b.md", "b > Heading", "c > b > Heading"),  # its beginning was left out
        ("a/b.md", "c/b.md", "something else", "something else"),
        ("a/b.md", "c/b.md", "a > bad > H", "a > bad > H"),
    ],
)
def test_a_context_line_moves_with_its_file(old, new, line, expected):
    root = Uri("viking://resources")
    assert moved_line(root.child(old), root.child(new), line, 200) == expected


def test_a_moved_line_is_as_short_as_any_other():
    here, there = Uri("viking://resources/a.md"), Uri("viking://resources/" + "x" * 150 + "/b.md")
    assert moved_line(here, there, "a > " + "h" * 60, 200) == "b > " + "h" * 60
