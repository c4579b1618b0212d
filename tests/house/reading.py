"""What the checks of the house read: the repository's own files."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "contextfind"
READMES = (ROOT / "README.md", ROOT / "README_CN.md")


def modules() -> list[Path]:
    """Return every module of the package."""
    return sorted(path for path in SOURCE.rglob("*.py") if "__pycache__" not in path.parts)


def rooms() -> list[str]:
    """Return every package below contextfind, as `adapters/sqlite`, if it holds any code."""
    folders = {path.parent for path in modules() if path.parent != SOURCE}
    return sorted(folder.relative_to(SOURCE).as_posix() for folder in folders)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of lines of every function of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def pages() -> list[Path]:
    """Return every page a reader of the repository may open."""
    top = [ROOT / name for name in ("README.md", "README_CN.md", "CHANGELOG.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def code_blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a page in one language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def make_targets() -> set[str]:
    """Return the targets the Makefile offers."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^\.PHONY: ([a-z-]+)$", text, re.MULTILINE))
