"""Which line of source code begins a definition, and what it is called; by pattern, per language."""

import re
from collections.abc import Callable
from dataclasses import dataclass

_LONGEST_LINE = 300  # characters; longer lines are generated, and would cost the patterns time

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|async|"
    r"override|virtual|inline|unsafe|open|data|partial|declare|const|local|friend|extern|"
    r"pub(?:\([\w:]+\))?)\s+)*"
)
_CONTAINERS = (
    "class|struct|interface|trait|impl|enum|namespace|module|object|protocol|extension|record|"
    "union|contract|library|mod|defmodule|defprotocol|defimpl"
)
_FUNCTIONS = (
    "def|fn|func|fun|function|sub|procedure|proc|macro|defp|defmacro|type|typealias|message|service|"
    "rpc|event|modifier|macro_rules|actor|query|mutation|input|scalar|directive"
)
_OPENS = frozenset(_CONTAINERS.split("|"))
_WORDS = re.compile(
    rf"{_MODIFIERS}(?P<kind>{_CONTAINERS}|{_FUNCTIONS})"
    r"\b!?\s*(?P<rest>[^\s{].*)"
)
_GO_METHOD = re.compile(r"func\s+\((?P<receiver>[^()]*)\)\s*(?P<name>\w+)")
_NAME = re.compile(r"[\w$.:'@\"-]*[\w$?!\"]")
_CALL_LIKE = re.compile(  # return type, name, parameters, no semicolon: a C, Java or JS function
    r"(?:[\w$<>\[\],.*&:~?@]+\s+)*[*&]*(?P<name>[\w$~:#]+)\s*\([^;{}=\"']*\)?"
    r"\s*(?:(?:const|noexcept|override|throws\s[\w., ]+|:\s*[\w<>\[\]| .]+)\s*)?\{?"
)
_NO_FUNCTION = re.compile(
    r"(?:return|if|else|for|foreach|while|switch|case|catch|do|try|new|throw|await|yield|using|lock|"
    r"assert|delete|typedef|@|#|\*|//)\W?"
)
_ARROW = re.compile(
    r"(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)[^=]{0,100}="
    r"\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]{1,60})?=>|[\w$]+\s*=>)"
)
_SHELL = re.compile(r"(?:function\s+)?(?P<name>[\w.:-]+)\s*\(\)\s*\{?.*")
_MAKE = re.compile(r"(?P<name>[\w./%$() -]+?)\s*::?(?![=:]).*")
_SQL = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)*"
    r"(?P<kind>table|view|function|procedure|trigger|index|type|schema|sequence)\s+"
    r"(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_HCL = re.compile(
    r"(?P<kind>resource|data|variable|module|output|provider|locals|terraform)\b(.*)\{"
)
_DOCKER = re.compile(r"(?P<kind>FROM)\s+(?P<name>\S.*)")


@dataclass(frozen=True, slots=True)
class Definition:
    """label: as it is shown (`class Foo`). container: definitions inside it count as well."""

    label: str
    container: bool = False


Finder = Callable[[str], Definition | None]


def by_keyword(line: str) -> Definition | None:
    """Find `class Foo`, `def bar`, `fn baz`, `func (r *R) Name`…; `line` without indentation."""
    if len(line) > _LONGEST_LINE:
        return None
    method = _GO_METHOD.match(line)
    if method:
        receiver = method["receiver"].split()[-1:] or ["?"]
        return Definition(f"func {receiver[0].lstrip('*')}.{method['name']}")
    match = _WORDS.match(line)
    if match is None:
        return None
    kind, rest = match["kind"], match["rest"]
    if kind == "impl":
        return Definition("impl " + rest.partition("{")[0].strip(), container=True)
    name = _NAME.match(rest)
    if name is None or rest.startswith(("=", ":", ".")):
        return None
    return Definition(f"{kind} {name[0]}", container=kind in _OPENS)


def braces(line: str) -> Definition | None:
    """Find what `by_keyword` finds, and functions without a keyword: C, C++, Java, C#, JavaScript."""
    if len(line) > _LONGEST_LINE:
        return None
    found = by_keyword(line)
    if found is not None:
        return found
    arrow = _ARROW.match(line)
    if arrow:
        return Definition(arrow["name"])
    if line.endswith((";", ",")) or "(" not in line or _NO_FUNCTION.match(line):
        return None
    match = _CALL_LIKE.fullmatch(line)
    return Definition(f"{match['name']}()") if match else None


def shell(line: str) -> Definition | None:
    """Find `name() {` and `function name`."""
    return _named(_SHELL, line) or by_keyword(line)


def makefile(line: str) -> Definition | None:
    """Find targets."""
    return _named(_MAKE, line)


def sql(line: str) -> Definition | None:
    """Find CREATE statements."""
    match = _SQL.match(line[:_LONGEST_LINE])
    return Definition(f"{match['kind'].lower()} {match['name']}") if match else None


def hcl(line: str) -> Definition | None:
    """Find Terraform blocks."""
    match = _HCL.match(line[:_LONGEST_LINE])
    return Definition(" ".join((match["kind"] + match[2]).split())) if match else None


def dockerfile(line: str) -> Definition | None:
    """Find build stages."""
    match = _DOCKER.match(line[:_LONGEST_LINE])
    return Definition(f"FROM {match['name']}") if match else None


def nothing(_line: str) -> Definition | None:
    """Find none: languages without definitions worth a heading (style sheets, batch files)."""
    return None


def _named(pattern: re.Pattern[str], line: str) -> Definition | None:
    match = pattern.fullmatch(line) if len(line) <= _LONGEST_LINE else None
    return Definition(match["name"]) if match else None
