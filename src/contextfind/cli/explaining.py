"""How a find came to its hits, on the screen: first how to read it, then the walk as a tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from contextfind.client.findings import Provenance, Step

_SCHEME = "viking://"
_SIGNS = {"keep": ("+ ", "green"), "cut": ("- ", "red")}
_OPENED = "(n) directory, opened as the n-th: its score then, and why"
_HITS = "+ shown  - cut, by the rule that is named"
_SUMMARIES = ".abstract.md and .overview.md are what a directory says of itself"
_SCORES = "scores go from 0 to 1: below .35 noise, from .45 plausible, from .6 strong"


def walk_tree(told: Provenance) -> RenderableType:
    """Return where was looked, how scores are made, and the tree with what was opened, kept and cut."""
    top = _Folder(_SCHEME)
    opened = 0
    for step in told.thinking_trace.events:
        uri = step.uri
        if uri is None:
            continue
        segments = [part for part in uri.removeprefix(_SCHEME).split("/") if part]
        if step.event == "open":
            opened += 1
            top.at(segments).opened = (opened, step)
        else:
            top.at(segments[:-1]).hits.append((segments[-1], step))
    tree = Tree(_label(top))
    _grow(tree, top)
    return Group(_preface(told), tree)


@dataclass(slots=True)
class _Folder:
    """A directory of the tree: when it was opened, its hits, and the directories in it by name."""

    name: str
    opened: tuple[int, Step] | None = None
    hits: list[tuple[str, Step]] = field(default_factory=list)
    folders: "dict[str, _Folder]" = field(default_factory=dict)

    def at(self, segments: Sequence[str]) -> "_Folder":
        """Return the directory at a path below this one; made where there is none."""
        folder = self
        for segment in segments:
            folder = folder.folders.setdefault(segment, _Folder(f"{segment}/"))
        return folder

    def shortened(self) -> "_Folder":
        """Return this directory, joined with the one in it where there is nothing else to say of it."""
        folder = self
        while folder.opened is None and not folder.hits and len(folder.folders) == 1:
            (inner,) = folder.folders.values()
            folder = _Folder(folder.name + inner.name, inner.opened, inner.hits, inner.folders)
        return folder


def _preface(told: Provenance) -> Table:
    """Return a few lines for somebody who sees such a tree for the first time."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for title, lines in (
        ("how it was found", [told.query]),
        ("index", told.thinking_trace.index_plans),
        ("walk", list(_figures(told))),
        ("scores", [*told.thinking_trace.formulas, _SCORES]),
        ("signs", list(_legend(told))),
    ):
        for number, line in enumerate(lines):
            table.add_row("" if number else title, Text(line))
    return table


def _figures(told: Provenance) -> Iterator[str]:
    trace = told.thinking_trace
    figures = trace.statistics
    yield (
        f"{figures['directories_searched']} directories opened, best first, "
        f"in {figures['convergence_rounds']} rounds; {figures['candidates_collected']} candidates"
    )
    yield from (step.reason for step in trace.events if step.event == "end")


def _legend(told: Provenance) -> Iterator[str]:
    yield _OPENED
    yield _HITS
    addresses = [step.uri or "" for step in told.thinking_trace.events]
    if any(address.endswith(("/.abstract.md", "/.overview.md")) for address in addresses):
        yield _SUMMARIES


def _grow(tree: Tree, folder: _Folder) -> None:
    """Hang the hits of a directory under it, as they rank, and then the directories in it, by name."""
    for name, step in folder.hits:
        tree.add(Text.assemble(_SIGNS[step.event], name, *_told(step)))
    for _, inner in sorted(folder.folders.items()):
        short = inner.shortened()
        _grow(tree.add(_label(short)), short)


def _label(folder: _Folder) -> Text:
    if folder.opened is None:
        return Text.assemble((folder.name, "bold"), ("  not opened", "dim"))
    number, step = folder.opened
    return Text.assemble((f"({number}) ", "cyan"), (folder.name, "bold"), *_told(step))


def _told(step: Step) -> tuple[str, tuple[str, str]]:
    score = "" if step.score is None else f"  {step.score:.3f}"
    return score, (f"  {step.reason}", "dim")
