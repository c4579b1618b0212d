"""Rules of the house that no linter knows."""

import ast
import re
from pathlib import Path

from tests.house.reading import ROOT, SOURCE, functions, modules

MODULE_LINES = 400
FUNCTION_LINES = 50
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def test_modules_are_short() -> None:
    sizes = {name_of(one): one.read_text(encoding="utf-8").count("\n") for one in modules()}
    assert {name: lines for name, lines in sizes.items() if lines > MODULE_LINES} == {}


def test_functions_are_short() -> None:
    sizes = {f"{name_of(one)}:{name}": n for one in modules() for name, n in functions(one)}
    assert {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES} == {}


def test_every_module_says_what_it_is() -> None:
    assert [name_of(one) for one in modules() if not ast.get_docstring(tree_of(one))] == []


def test_modules_and_rooms_have_names_one_can_point_at() -> None:
    vague = [one for one in modules() if VAGUE_NAMES & {one.stem, one.parent.name}]
    assert vague == []


def test_imports_stand_at_the_top() -> None:
    inside = [
        f"{name_of(module)}: {ast.unparse(inner)}"
        for module in modules()
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert inside == []


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|INTERIM)\b.*")
    left = [(name_of(one), marks.findall(one.read_text("utf-8"))) for one in modules()]
    assert [found for found in left if found[1]] == []


def swallowing_handlers(module: Path) -> list[str]:
    """Return the handlers of a module that catch everything and do not raise it again."""
    found: list[str] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ExceptHandler):
            continue
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {"" if kind is None else ast.unparse(kind) for kind in kinds}
        tidies_up = ast.unparse(node.body[-1]) == "raise"
        if names & {"", "Exception", "BaseException"} and not tidies_up:
            found.append(f"{name_of(module)}:{node.lineno}")
    return found


def test_only_the_servers_last_resort_swallows_everything() -> None:
    broad = [place for module in modules() for place in swallowing_handlers(module)]
    assert [place for place in broad if not place.startswith("server/failures")] == []


def test_nothing_is_asserted_against_mocks() -> None:
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    mocked = [
        path.name
        for path in tests
        if re.search(r"unittest\.mock|MagicMock", path.read_text("utf-8"))
    ]
    assert mocked == []
