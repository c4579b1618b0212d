import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.documents import ABSTRACT_LENGTH, OVERVIEW_LENGTH
from contextfind.ingestion.parsing.reader import read_document
from contextfind.ingestion.summarising import (
    ChildNote,
    directory_abstract,
    directory_overview,
    file_abstract,
    shorten,
)


def abstract(text: str, name: str = "notes.md") -> str:
    return file_abstract(read_document(name, text.encode()), name)


def test_a_description_is_the_abstract() -> None:
    assert (
        abstract("---\ndescription: All about releases.\n---\n# T\n\nText.\n")
        == "All about releases."
    )


def test_a_skill_is_named_and_described() -> None:
    text = "---\nname: pdf-fill\ndescription: Fill in PDF forms.\n---\n# Other\n"
    assert abstract(text, "SKILL.md") == "pdf-fill: Fill in PDF forms."


def test_title_and_first_telling_sentences_are_the_abstract() -> None:
    text = (
        "# Atlas\n\n[![build](https://x/b.svg)](https://x) ![logo](l.png)\n\n<!-- hidden -->\n\n---\n\n"
        "```sh\npip install atlas\n```\n\n| a |\n|---|\n| 1 |\n\n"
        "**Atlas** maps [the world](http://x). It draws a street in `4` milliseconds. "
    )
    found = abstract(text)
    assert found == "Atlas maps the world. It draws a street in 4 milliseconds."
    assert len(found) <= ABSTRACT_LENGTH


def test_chinese_sentences_end_where_they_end() -> None:
    found = abstract(
        "# 回滚手册\n\n" + "发布前先检查健康状态。他说：“失败了。”然后执行回滚步骤！" * 20
    )
    assert found.startswith("回滚手册：发布前先检查健康状态。他说：“失败了。”然后执行回滚步骤！")
    assert len(found) <= ABSTRACT_LENGTH
    assert found[-1] in "。！”"


def test_what_matters_is_told_before_what_comes_next() -> None:
    found = abstract(
        "# Backup of the parcel database\n\n"
        "The parcel database is backed up every night. Who would not like that? "
        "A coffee machine stands on the third floor, next to the plants and the sofa. "
        "Restoring the parcel database from its backup took 74 minutes last time. "
        "Copyright 2024, all rights reserved.\n\n"
        "## Copies\n\nTable of contents\n\nFull copies of the parcel database are kept for 12 weeks."
    )
    assert found == (
        "Backup of the parcel database: The parcel database is backed up every night. Restoring the "
        "parcel database from its backup took 74 minutes last time. Full copies of the parcel "
        "database are kept for 12 weeks."
    )


def test_nothing_is_told_twice() -> None:
    found = abstract(
        "We plan the tours of all couriers at night. " * 30 + "It rains at times. " * 9
    )
    assert found == "We plan the tours of all couriers at night."


def test_abbreviations_and_initials_end_no_sentence() -> None:
    found = abstract("Use a tool, e.g. make, as J. Smith told us in the first week.\n\nOk.")
    assert found == "Use a tool, e.g. make, as J. Smith told us in the first week."


def test_a_text_without_markup_has_its_first_line_as_title() -> None:
    found = abstract("Get started\n\n\nMake your first call to the service now.\n", "a.txt")
    assert found == "Get started: Make your first call to the service now."


def test_items_of_a_list_are_told_apart() -> None:
    found = abstract(
        "# Figures\n\n- full copies of all the data on Sunday\n- small copies of changed data daily\n"
    )
    assert found == (
        "Figures: full copies of all the data on Sunday; small copies of changed data daily"
    )


@pytest.mark.parametrize(
    "text",
    [
        "배송 데이터베이스는 매일 밤 백업됩니다. 복구에는 칠십사 분이 걸렸습니다.",
        "配送データベースは毎晩バックアップされる。復旧には七十四分かかった。",
        "База данных посылок копируется каждую ночь. Восстановление заняло 74 минуты.",
    ],
)
def test_other_scripts_are_told_as_they_stand(text: str) -> None:
    assert abstract(text) == text


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="ab 字。、.!?\n-*#`|[]()<>:1", max_size=400))
def test_every_text_has_an_abstract_within_the_limit(text: str) -> None:
    found = abstract(text)
    assert 0 < len(found) <= ABSTRACT_LENGTH
    assert "\n" not in found


def test_long_texts_are_told_in_time() -> None:
    began = time.thread_time()
    abstract(("A depot sends many parcels to Hamburg. " * 50 + "\n\n") * 500)
    abstract("(" * 100_000)
    abstract("每天夜里备份包裹数据库" * 20_000)
    directory_abstract(
        "x", [ChildNote(f"{i}.md", "数据库备份恢复" * 40, False) for i in range(500)]
    )
    assert time.thread_time() - began < 3


def test_no_word_is_cut() -> None:
    words = "alpha beta gamma delta " * 40
    found = abstract(words, "a.txt")
    assert found.endswith("…")
    assert len(found) <= ABSTRACT_LENGTH
    assert set(found[:-1].split()) == {"alpha", "beta", "gamma", "delta"}


def test_code_is_its_purpose_and_what_it_defines() -> None:
    assert (
        abstract('"""Release things."""\n\ndef go():\n    pass\n', "a.py")
        == "Release things. def go"
    )
    assert (
        abstract("class A:\n    def b(self): ...\n\ndef c(): ...\n", "a.py")
        == "a.py: class A, def c"
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("empty.md", "", "empty.md"),
        ("a.csv", "城市,人口\n北京,1\n", "a.csv: 城市,人口 北京,1"),
        ("a.json", '{"a": "\\u56de\\u6eda"}', 'a.json: {"a": "回滚"}'),
        ("a.yaml", "server: 1\nlog: 2\n", "a.yaml: server, log"),
        ("a.md", "# T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "T: a b 1 2"),
    ],
)
def test_files_without_sentences_say_what_is_in_them(name: str, text: str, expected: str) -> None:
    assert abstract(text, name) == expected


def test_shortened_text_is_on_one_line_and_within_the_limit() -> None:
    assert shorten("a\n b", 10) == "a b"
    assert shorten("hello wonderful world", 17) == "hello wonderful…"
    assert shorten("x" * 50, 10) == "x" * 9 + "…"
    assert shorten("发布前先检查健康状态", 6) == "发布前先检…"


CHILDREN = [
    ChildNote("deploy.md", "Rollout of services, step by step", False),
    ChildNote("rollback.md", "How a rollout is undone", False),
    ChildNote("images", "3 files: a, b, c", True),
]
CHINESE = [
    ChildNote("发布.md", "发布步骤：先检查健康状态", False),
    ChildNote("回滚.md", "回滚步骤与健康状态检查", False),
    ChildNote("图片", "3 个文件", True),
]


def test_a_directory_says_what_it_holds() -> None:
    assert directory_abstract("ops", CHILDREN) == (
        "ops: Rollout of services, step by step; How a rollout is undone."
        " 2 files, 1 folder: images/, deploy.md, rollback.md"
    )


def test_a_chinese_directory_says_it_in_chinese() -> None:
    found = directory_abstract("运维", CHINESE)
    assert found.startswith("运维：发布步骤；回滚步骤与健康状态检查。")
    assert "2 个文件、1 个目录：图片/、发布.md、回滚.md" in found


def test_a_directory_of_many_says_what_they_share() -> None:
    children = [
        ChildNote(f"{i:02}.md", f"Depot {i}: parcels leave the warehouse at {i} o'clock.", False)
        for i in range(20)
    ]
    assert directory_abstract("depots", children).startswith(
        "depots: warehouse, parcels, clock, depot, leave. 20 files: 00.md, 01.md"
    )


def test_a_name_of_several_characters_is_told_whole() -> None:
    children = [
        ChildNote(f"{i}.md", f"{i}世纪：费斯特出版公司在{i}年前后出书", False) for i in range(20)
    ]
    assert "费斯特出版公司" in directory_abstract("历史", children)


def test_a_directory_tells_what_its_directories_are_about() -> None:
    inner = directory_abstract("ops", CHILDREN)
    outer = directory_abstract("all", [ChildNote("ops", inner, True)])
    assert outer == "all: Rollout of services, step by step. 1 folder: ops/"


def test_titles_that_repeat_names_and_rows_of_data_are_no_news() -> None:
    children = [
        ChildNote("next-steps.md", "Next steps: Read the guide to limits. Then act.", False),
        ChildNote("rows.csv", "rows.csv: city,people,cars Hamburg,1,2", False),
    ]
    assert directory_abstract("x", children) == (
        "x: Read the guide to limits. 2 files: next-steps.md, rows.csv"
    )


def test_a_readme_leaves_room_for_the_rest() -> None:
    readme = "All about Atlas. It plans tours. " + "Much more is said about it here. " * 6
    children = [*CHILDREN, ChildNote("README.md", readme, False)]
    found = directory_abstract("ops", children)
    assert found.startswith("All about Atlas. It plans tours.")
    assert "3 files, 1 folder: images/, README.md, deploy.md, rollback.md" in found


def test_a_readme_speaks_for_its_directory() -> None:
    for name in ("README.md", "readme_CN.md", "index.html", "_index.md", "README"):
        children = [*CHILDREN, ChildNote(name, "Everything about running Atlas.", False)]
        assert directory_abstract("ops", children).startswith("Everything about running Atlas. ")


def test_a_readme_goes_before_an_index() -> None:
    children = [ChildNote("index.md", "Index.", False), ChildNote("README.md", "Readme.", False)]
    assert directory_abstract("x", children).startswith("Readme.")


def test_a_skill_directory_is_described_by_its_skill() -> None:
    children = [*CHILDREN, ChildNote("SKILL.md", "pdf-fill: Fill in PDF forms.", False)]
    assert directory_abstract("pdf-fill", children) == "pdf-fill: Fill in PDF forms."


def test_an_empty_directory_has_an_abstract() -> None:
    assert directory_abstract("x", []) == "x: empty"
    assert directory_overview("x", []) == "# x\n\nx: empty\n"


def test_an_overview_lists_the_children_directories_first() -> None:
    assert directory_overview("ops", CHILDREN) == (
        "# ops\n\nops: Rollout of services, step by step; How a rollout is undone."
        " 2 files, 1 folder: images/, deploy.md, rollback.md\n\n"
        "- **images/** — 3 files: a, b, c\n"
        "- **deploy.md** — Rollout of services, step by step\n"
        "- **rollback.md** — How a rollout is undone\n"
    )


def test_long_lists_are_cut_with_a_count() -> None:
    children = [
        ChildNote(f"file{i:03}.md", "words and more words " * 20, False) for i in range(300)
    ]
    overview = directory_overview("big", children)
    shown = overview.count("- **")
    assert len(overview) <= OVERVIEW_LENGTH
    assert shown >= 35  # lines are shorter where there are many
    assert overview.endswith(f"- … and {300 - shown} more\n")
    assert "项" in directory_overview(
        "大", [ChildNote(f"文件{i}", "内容" * 200, False) for i in range(300)]
    )


def test_the_order_of_the_children_does_not_matter() -> None:
    children = [*CHILDREN, *CHINESE, ChildNote("index.md", "Door.", False)]
    for seed in range(5):
        shuffled = random.Random(seed).sample(children, len(children))  # noqa: S311 - data
        assert directory_abstract("x", shuffled) == directory_abstract("x", children)
        assert directory_overview("x", shuffled) == directory_overview("x", children)


def test_summaries_stay_within_their_limits_whatever_the_names_are() -> None:
    children = [ChildNote("很长的名字" * 50 + str(i), "摘要" * 500, i % 2 == 0) for i in range(50)]
    assert len(directory_abstract("n" * 2_000, children)) <= ABSTRACT_LENGTH
    assert len(directory_overview("n" * 2_000, children)) <= OVERVIEW_LENGTH


def test_a_line_of_comments_without_an_end_is_looked_through_once() -> None:
    began = time.thread_time()
    assert abstract("# Title " + "<!--" * 20_000 + "\n\nIt draws a street.\n").startswith("Title")
    assert time.thread_time() - began < 2
