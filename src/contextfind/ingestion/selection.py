"""Which files of a tree are taken in."""

import re
from collections.abc import Iterable, Mapping, Sequence

from pathspec import GitIgnoreSpec

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.records import ABSTRACT_NAME, OVERVIEW_NAME

# Machine-made or private to a tool; nobody looks for knowledge in them.
PRUNED = (
    ".git .hg .svn .bzr .jj CVS node_modules bower_components __pycache__ __MACOSX .venv venv .tox .nox"
    " .idea .vscode .vs .eggs .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis"
    " .ipynb_checkpoints .gradle .terraform .next .nuxt .svelte-kit .Trash .Trashes"
)
# Never content, whatever is included: what systems and tools leave behind, and our own shown names.
CONTROL = (
    f".DS_Store .localized Thumbs.db ehthumbs.db desktop.ini .gitignore .gitattributes .gitmodules"
    f" .gitkeep .keep {ABSTRACT_NAME} {OVERVIEW_NAME}"
)
_OFFICE_LOCK = "~$"
_MOST_STARS = 4  # per pattern; each more multiplies the time that a hostile name takes
_STARS = re.compile(r"\*+")
_LONGEST = 1_000  # characters of a pattern


class Selection:
    """What `include`, `exclude`, `ignore_dirs` and .gitignore files leave of a tree. Pure.

    All patterns have the form of .gitignore lines (`*.md`, `docs/**/draft-?.txt`, `/top`), without `!`.

    include: None or empty takes everything; else a file must match one of them. A pattern that names
        something with a dot (`.github/**`, `.env.example`) also lets in such dot-files, which are left out
        by default. It does not win over .gitignore, PRUNED and CONTROL names.
    exclude: always wins. A pattern that matches a directory leaves out all below it.
    ignore_dirs: names (`build`: at any depth) or paths (`docs/old`), as a list or one text with commas.
    gitignores: the text of each .gitignore by its directory ("" is the top); nested ones and `!` count as
        in git, with or without a repository. Lines that git would not understand are passed over.

    Raises:
        InvalidArgumentError: a pattern that is empty, negated or malformed; the message names it.

    """

    def __init__(
        self,
        include: Sequence[str] | str | None = (),
        exclude: Sequence[str] | str | None = (),
        ignore_dirs: Sequence[str] | str | None = (),
        gitignores: Mapping[str, str] | None = None,
    ) -> None:
        included = _listed(include)
        self._include = _spec("include", included) if included else None
        dotted = [pattern for pattern in included if _names_hidden(pattern)]
        self._dotted = _spec("include", dotted)
        self._exclude = _spec("exclude", _listed(exclude))
        directories = [name.strip("/") + "/" for name in _listed(ignore_dirs)]
        self._ignored = _spec("ignore_dirs", directories)
        self._rules = {
            directory.strip("/"): _lenient(text) for directory, text in (gitignores or {}).items()
        }
        self._pruned: dict[str, bool] = {"": False}

    def prune(self, dir_path: str) -> bool:
        """Whether a directory (relative path) and all below it are left out."""
        path = dir_path.strip("/")
        known = self._pruned.get(path)
        if known is None:
            known = self.prune(path.rpartition("/")[0]) or self._is_pruned(path)
            self._pruned[path] = known
        return known

    def keeps(self, path: str) -> bool:
        """Whether a file (relative path) is taken in; false when a directory above is pruned."""
        directory, _, name = path.rpartition("/")
        if _is_one_of(name, CONTROL) or name.startswith(_OFFICE_LOCK) or self.prune(directory):
            return False
        if self._exclude.match_file(path) or self._is_gitignored(path):
            return False
        if self._include is not None and not self._include.match_file(path):
            return False
        return not _is_hidden(path) or self._dotted.match_file(path)

    def _is_pruned(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if _is_one_of(name, PRUNED) or (name.startswith(".") and not self._dotted.patterns):
            return True
        folder = path + "/"
        return (
            self._ignored.match_file(folder)
            or self._exclude.match_file(folder)
            or self._is_gitignored(folder)
        )

    def _is_gitignored(self, path: str) -> bool:
        """Ask the nearest .gitignore first; the first one that has a word on it decides."""
        directory = path.rstrip("/").rpartition("/")[0]
        while True:
            rules = self._rules.get(directory)
            inside = path[len(directory) + 1 :] if directory else path
            verdict = None if rules is None else rules.check_file(inside).include
            if verdict is not None:
                return verdict
            if not directory:
                return False
            directory = directory.rpartition("/")[0]


def _listed(value: Sequence[str] | str | None) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [part.strip() for part in value]


def _is_one_of(name: str, names: str) -> bool:
    return f" {name} " in f" {names} " and " " not in name


def _is_hidden(path: str) -> bool:
    return any(segment.startswith(".") for segment in path.split("/"))


def _names_hidden(pattern: str) -> bool:
    return _is_hidden(pattern.lstrip("/"))


def _spec(field: str, patterns: Iterable[str]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([_checked(field, pattern) for pattern in patterns])


def _checked(field: str, pattern: str) -> str:
    """Return a pattern as a .gitignore line that means something."""
    line = "\\" + pattern if pattern.startswith("#") else pattern
    reason = _fault(pattern) or ("" if _is_rule(line) else "is no pattern that can match")
    if reason:
        raise InvalidArgumentError(
            f"{field}: {pattern!r} {reason}; expected the form of a .gitignore line, like '*.md' "
            "or 'docs/**'",
            {"field": field, "value": pattern},
        )
    return line


def _is_rule(line: str) -> bool:
    try:
        patterns = GitIgnoreSpec.from_lines([line]).patterns
    except (ValueError, re.error):
        return False
    return any(pattern.include is not None for pattern in patterns)


def _fault(pattern: str) -> str | None:
    if not pattern.strip("/ "):
        return "is empty"
    if pattern.startswith("!"):
        return "is negated, which has no meaning here"
    if _is_heavy(pattern):
        return f"is too long, or has more than {_MOST_STARS} stars"
    return None


def _is_heavy(line: str) -> bool:
    return len(line) > _LONGEST or len(_STARS.findall(line)) > _MOST_STARS


def _lenient(text: str) -> GitIgnoreSpec:
    """Return the rules of a .gitignore, without the lines that are none."""
    lines = text.removeprefix("\ufeff").splitlines()
    return GitIgnoreSpec.from_lines(
        [line for line in lines if not _is_heavy(line) and _is_rule(line)]
    )
