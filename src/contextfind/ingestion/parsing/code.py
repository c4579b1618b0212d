"""Source code: a section per definition, the comments above it included, every line kept."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextfind.domain.documents import Document, Section
from contextfind.ingestion.parsing.definitions import Finder, by_keyword
from contextfind.ingestion.parsing.outline import Heading, lines_of, outline

_MAX_TREE = 2_000_000  # characters of Python that are parsed; the tree takes about 100 times that
_LONGEST_LINE = 20_000  # generated data in one line makes the parser's stack deep
_COMMENT = re.compile(r"\s*(?:#(?!include|define|if|endif|pragma)|//|/\*|\*|--|;;|@\w|\[\w+.*\]$)")
_CLOSER = re.compile(r"[})\]]|end\b|else\b|elif\b|fi\b|done\b|esac\b|catch\b|finally\b|except\b")
_DECORATION = re.compile(r"^[\s#/*;!%-]+|[\s*/#-]+$")
_TELLS_NOTHING = re.compile(
    r"copyright|licen[sc]e|spdx|^!|coding[:=]|eslint|@ts-|noqa", re.IGNORECASE
)
_PREAMBLE = 40  # lines that are looked at for what the file says about itself
_DEEPEST = 2  # levels of headings: a class and its methods; what is inside a method stays whole

_Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class _Open:
    indent: int
    rank: int
    container: bool


def read_python(path: str, text: str) -> Document:
    """Return Python by its syntax tree; what does not parse is read like any other code."""
    lines = lines_of(text)
    tree = _tree(text, lines)
    if tree is None:
        return read_code(path, text, by_keyword)
    headings = [
        Heading(start, start, rank, label)
        for start, rank, label in _python_definitions(tree, lines)
    ]
    says = (ast.get_docstring(tree) or "").strip().partition("\n\n")[0]
    return _document(text, lines, headings, " ".join(says.split()))


def read_code(_path: str, text: str, find: Finder) -> Document:
    """Return code by the look of its lines; `find` knows the definitions of the language."""
    lines = lines_of(text)
    return _document(text, lines, list(_definitions(lines, find)), "")


def _document(
    text: str, lines: Sequence[str], headings: Sequence[Heading], description: str
) -> Document:
    sections = outline([], lines, headings)
    verbatim = tuple(Section(part.headings, part.blocks, verbatim=True) for part in sections)
    return Document("", text, verbatim, description or _preamble(lines))


def _tree(text: str, lines: Sequence[str]) -> ast.Module | None:
    if len(text) > _MAX_TREE or max(map(len, lines)) > _LONGEST_LINE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in somebody's code are not our business
            return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python_definitions(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for node in tree.body:
        if not isinstance(node, _Tree):
            continue
        yield _first_line(node, lines), 1, _label(node)
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, _Tree):
                    yield _first_line(inner, lines), 2, _label(inner)


def _first_line(node: _Tree, lines: Sequence[str]) -> int:
    start = min([node.lineno, *(part.lineno for part in node.decorator_list)]) - 1
    return _with_comments(lines, start, 0)


def _label(node: _Tree) -> str:
    return f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}"


def _definitions(lines: Sequence[str], find: Finder) -> Iterator[Heading]:
    """Walk the lines with a stack of open definitions; indentation says which of them enclose one."""
    stack: list[_Open] = []
    last = 0
    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip())
        if stack and indent > stack[-1].indent and not stack[-1].container:
            continue
        stack = [above for above in stack if above.indent < indent] if _ends(bare) else stack
        found = find(bare)
        inside = [above for above in stack if above.indent < indent]
        if found is None or len(inside) >= _DEEPEST or not all(a.container for a in inside):
            continue
        start = _with_comments(lines, number, last)
        last = number + 1
        yield Heading(start, start, len(inside) + 1, found.label)
        stack = [*inside, _Open(indent, len(inside) + 1, found.container)]


def _ends(bare: str) -> bool:
    """Whether a line at a definition's own indentation leaves it (a closing brace does not)."""
    return _CLOSER.match(bare) is None


def _with_comments(lines: Sequence[str], start: int, floor: int) -> int:
    """Return the first line of the comments and annotations directly above `start`."""
    while start > floor and _COMMENT.match(lines[start - 1][:200]):
        start -= 1
    return start


def _preamble(lines: Sequence[str]) -> str:
    """Return the first comment that says something about the file, on one line; may be empty."""
    said: list[str] = []
    for line in lines[:_PREAMBLE]:
        bare = line.strip()[:500]
        text = _DECORATION.sub("", bare) if _COMMENT.match(bare) or bare.startswith("#!") else ""
        if bare and not text and not _COMMENT.match(bare):
            break
        if text and not _TELLS_NOTHING.search(text):
            said.append(text)
        elif said:
            break
    return " ".join(said)
