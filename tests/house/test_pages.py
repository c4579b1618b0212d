"""The documentation says what is there."""

import re
from pathlib import Path
from typing import NoReturn

import pytest

from contextfind.cli.lazy import OFFERS
from contextfind.server.app import create_app
from tests.house.reading import READMES, ROOT, SOURCE, code_blocks, make_targets, pages, rooms

# Written apart, so that this file names no registry either.
REGISTRIES = tuple(
    name.replace(" ", ".")
    for name in (
        "pypi org",
        "pythonhosted org",
        "docker io",
        "hub docker com",
        "ghcr io",
        "quay io",
        "npmjs",
        "huggingface co",
    )
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"(?:^|[`\s])make ([a-z][a-z-]*)(?=[`\s,.;:)]|$)", re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages(), ids=name_of)
class TestEveryPage:
    def test_links_lead_somewhere(self, page: Path) -> None:
        links = LINK.findall(page.read_text(encoding="utf-8"))
        local = [link for link in links if not re.match(r"[a-z]+:", link)]
        assert [link for link in local if not (page.parent / link).exists()] == []

    def test_names_no_registry(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8").lower()
        assert [host for host in REGISTRIES if host in text] == []

    def test_code_blocks_are_closed(self, page: Path) -> None:
        fences = re.findall(r"^```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) % 2 == 0

    def test_make_commands_exist(self, page: Path) -> None:
        code = re.findall(r"`[^`\n]+`", page.read_text(encoding="utf-8"))
        named = MAKE.findall("\n".join([*code, *code_blocks(page, "bash")]))
        assert set(named) <= make_targets()


def test_the_makefile_explains_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    explained = set(re.findall(r"^([a-z-]+):.*## \S", text, re.MULTILINE))
    assert explained == make_targets()


def test_the_ci_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in "\n".join(code_blocks(READMES[0], "bash"))
    assert re.search(r"^make .*\btest\b", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)


def commands_of(page: Path) -> list[str]:
    lines = "\n".join(code_blocks(page, "bash")).splitlines()
    return [re.sub(r"\s+#.*", "", line) for line in lines if line and not line.startswith("#")]


def test_both_readmes_show_the_same_commands() -> None:
    assert commands_of(READMES[0]) == commands_of(READMES[1])


def test_both_readmes_have_the_same_chapters() -> None:
    shapes = [re.findall(r"^#+ ", page.read_text("utf-8"), re.MULTILINE) for page in READMES]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_commands_of_the_program_exist(readme: Path) -> None:
    named = {
        words[1]
        for command in commands_of(readme)
        if (words := command.split())[0].endswith("contextfind") and len(words) > 1
    }
    assert named
    assert {word for word in named if not word.startswith("-")} <= set(OFFERS)


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_the_readme_lists_the_commands_of_the_program(readme: Path) -> None:
    rows = re.findall(r"^\| ((?:`[a-z]+` )+)\|", readme.read_text("utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"[a-z]+", " ".join(rows))) == sorted(OFFERS)


def test_the_architecture_page_has_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert [room for room in rooms() if f"`{room}`" not in text] == []


def test_the_architecture_page_names_only_what_is_there() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", text)
    assert [name for name in named if not _is_there(name)] == []


def _is_there(name: str) -> bool:
    places = (SOURCE / name, SOURCE / f"{name}.py", ROOT / name, ROOT / f"{name}.py")
    return any(place.exists() for place in places)


def glossary() -> dict[str, tuple[str, str]]:
    """Return term -> (meaning, place) of the glossary's table."""
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\*(?: .*?)? \| (.+?) \| `(.+?)` \|$", text, re.MULTILINE)
    return {term: (meaning, place) for term, meaning, place in rows}


def test_the_glossary_is_sorted_and_says_where_each_term_lives() -> None:
    terms = glossary()
    assert list(terms) == sorted(terms, key=str.lower)
    assert [place for _, place in terms.values() if not _is_there(place)] == []


@pytest.mark.parametrize(
    "term",
    [
        "Account",
        "Address",
        "Commit",
        "Evidence",
        "Filter",
        "Hit",
        "Identity",
        "Job",
        "Level",
        "Passage",
        "Probe",
        "Record",
        "Scope",
        "Score",
        "Shelf",
        "Tag",
        "Walk",
    ],
)
def test_the_glossary_explains(term: str) -> None:
    assert term in glossary()


def decisions() -> list[Path]:
    return sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(page.name[:4]) for page in decisions()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("page", decisions(), ids=name_of)
def test_a_decision_says_why_and_what_it_costs(page: Path) -> None:
    heads = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert heads == ["Decision", "Why", "Cost", "What would change it"]


def test_the_index_of_decisions_is_complete() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    assert LINK.findall(index) == [page.name for page in decisions()]


def routes() -> set[str]:
    """Return `METHOD /path` of every route the server has."""
    schema = create_app(_never_opened).openapi()["paths"]
    return {f"{method.upper()} {path}" for path, methods in schema.items() for method in methods}


def _never_opened() -> NoReturn:
    raise AssertionError("only the routes are looked at")


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_the_readme_lists_the_routes_that_are_built(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([A-Z]+ /\S*)` \|", text, re.MULTILINE))
    built = {
        route for route in routes() if "/admin/" not in route
    }  # one row stands for all of admin
    assert {route for route in listed if "/admin/" not in route} == built
    assert any("/admin/" in route for route in listed)
