import time

import pytest

from contextfind.domain.errors import InvalidArgumentError
from contextfind.ingestion.selection import Selection


def test_everything_ordinary_is_kept_by_default() -> None:
    selection = Selection()
    for path in ("a.md", "docs/回滚 步骤.md", "src/build/x.py", "LICENSE", "a b#c/+&[x].txt"):
        assert selection.keeps(path)


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".idea",
        ".hg",
        ".mypy_cache",
        ".own",
    ],
)
def test_directories_of_tools_are_pruned_at_any_depth(name: str) -> None:
    selection = Selection()
    assert selection.prune(name)
    assert selection.prune(f"a/b/{name}")
    assert not selection.keeps(f"a/{name}/x/readme.md")


@pytest.mark.parametrize(
    "name",
    [
        ".DS_Store",
        "Thumbs.db",
        ".gitignore",
        ".abstract.md",
        ".overview.md",
        ".env",
        "~$plan.docx",
        "desktop.ini",
    ],
)
def test_control_files_and_dot_files_are_left_out(name: str) -> None:
    assert not Selection().keeps(name)
    assert not Selection().keeps(f"a/{name}")


def test_include_takes_only_what_matches() -> None:
    selection = Selection(include=["*.md", "docs/**/x.txt"])
    assert selection.keeps("a/b.md")
    assert selection.keeps("docs/q/x.txt")
    assert not selection.keeps("x.txt")
    assert not selection.keeps("a.py")


def test_no_include_and_an_empty_one_take_everything() -> None:
    for include in (None, (), [], ""):
        assert Selection(include=include).keeps("a.py")


def test_an_include_that_names_a_dot_lets_dot_files_in() -> None:
    selection = Selection(include=[".github/**", ".env.example"])
    assert not selection.prune(".github")
    assert selection.keeps(".github/workflows/ci.yml")
    assert selection.keeps(".env.example")
    assert not selection.keeps(".secret/x")
    assert not Selection(include=["*"]).keeps(".env")


def test_include_wins_neither_over_tools_nor_over_control_files_nor_gitignore() -> None:
    selection = Selection(
        include=[".git/**", ".DS_Store", "secret.md"], gitignores={"": "secret.md\n"}
    )
    assert not selection.keeps(".git/config")
    assert not selection.keeps(".DS_Store")
    assert not selection.keeps("secret.md")


def test_exclude_always_wins() -> None:
    selection = Selection(
        include=["*.md"], exclude=["draft-*.md", "old/"], gitignores={"": "!draft-1.md"}
    )
    assert not selection.keeps("a/draft-1.md")
    assert not selection.keeps("old/a.md")
    assert selection.prune("old")
    assert selection.keeps("a/final.md")


@pytest.mark.parametrize("given", ["build, docs/old,", ["build", "/docs/old/"]])
def test_ignored_directories_are_names_or_paths(given: str | list[str]) -> None:
    selection = Selection(ignore_dirs=given)
    assert selection.prune("build")
    assert selection.prune("a/build")
    assert selection.prune("docs/old")
    assert not selection.prune("a/docs/old")
    assert selection.keeps("build.md")
    assert selection.keeps("docs/build")


def test_patterns_may_be_one_text_with_commas() -> None:
    selection = Selection(include="*.md, *.txt")
    assert selection.keeps("a.txt")
    assert not selection.keeps("a.py")


def test_gitignore_rules_count_as_in_git() -> None:
    selection = Selection(
        gitignores={"": "*.log\n# comment\n\n!keep.log\n/top.md\nout/\ndata/*\n!data/keep.md\n"}
    )
    assert not selection.keeps("a/b.log")
    assert selection.keeps("a/keep.log")
    assert not selection.keeps("top.md")
    assert selection.keeps("a/top.md")
    assert selection.prune("a/out")
    assert selection.keeps("out")
    assert selection.keeps("data/keep.md")
    assert not selection.keeps("data/other.md")


def test_the_nearest_gitignore_decides() -> None:
    selection = Selection(gitignores={"": "*.tmp\n", "a": "!b.tmp\n/c.md\n", "a/d": "b.tmp\n"})
    assert selection.keeps("a/b.tmp")
    assert not selection.keeps("a/d/b.tmp")
    assert not selection.keeps("x/b.tmp")
    assert not selection.keeps("a/c.md")
    assert selection.keeps("a/d/c.md")
    assert selection.keeps("c.md")


def test_nothing_comes_back_from_an_ignored_directory() -> None:
    selection = Selection(gitignores={"": "out/\n!out/keep.md\n", "out": "!keep.md\n"})
    assert not selection.keeps("out/keep.md")


def test_gitignore_lines_that_git_would_not_understand_are_passed_over() -> None:
    selection = Selection(gitignores={"": "\ufeff*.log\r\n[z-a]\n!\nbad\\\n*a*b*c*d*e*f*\n*.tmp\n"})
    assert not selection.keeps("a.log")
    assert not selection.keeps("a.tmp")
    assert selection.keeps("a.md")


def test_chinese_patterns_work() -> None:
    selection = Selection(exclude=["草稿*"], ignore_dirs="旧版")
    assert not selection.keeps("文档/草稿1.md")
    assert selection.prune("文档/旧版")
    assert selection.keeps("文档/回滚.md")


@pytest.mark.parametrize(
    "pattern", ["!a", "[z-a]", "a[", "a\\", "", "  ", "/", "x" * 2_000, "*a*a*a*a*a"]
)
@pytest.mark.parametrize("field", ["include", "exclude"])
def test_a_bad_pattern_is_refused_by_name(field: str, pattern: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Selection(**{field: [pattern]})
    assert field in str(caught.value)
    assert caught.value.details["field"] == field


def test_a_name_that_begins_with_a_hash_can_be_a_pattern() -> None:
    assert not Selection(exclude=["#notes.md"]).keeps("#notes.md")


def test_a_hostile_pattern_and_name_cannot_hold_up_the_server() -> None:
    selection = Selection(exclude=["*a*a*a*ab"])
    start = time.process_time()
    assert selection.keeps("a" * 200)
    assert time.process_time() - start < 2
