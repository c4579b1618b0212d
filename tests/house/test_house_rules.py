"""Rules of the house that no linter knows."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.reading import ROOT, SOURCE, functions, modules

MODULE_LINES = 400
FUNCTION_LINES = 50
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("module", modules(), ids=name_of)
class TestEveryModule:
    def test_is_short(self, module: Path) -> None:
        lines = module.read_text(encoding="utf-8").count("\n")
        assert lines <= MODULE_LINES, f"{lines} lines; cut it along what it does"

    def test_has_short_functions(self, module: Path) -> None:
        long = {name: lines for name, lines in functions(module) if lines > FUNCTION_LINES}
        assert not long

    def test_says_what_it_is(self, module: Path) -> None:
        assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))

    def test_has_a_name_one_can_point_at(self, module: Path) -> None:
        assert module.stem not in VAGUE_NAMES
        assert module.parent.name not in VAGUE_NAMES

    def test_imports_at_the_top(self, module: Path) -> None:
        tree = ast.parse(module.read_text(encoding="utf-8"))
        inside = [
            ast.unparse(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Import | ast.ImportFrom)
        ]
        assert not inside

    def test_leaves_nothing_for_later(self, module: Path) -> None:
        left = re.findall(r"\b(?:TODO|FIXME|XXX|HACK|INTERIM)\b.*", module.read_text("utf-8"))
        assert not left


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
