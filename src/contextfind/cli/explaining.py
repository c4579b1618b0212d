"""The walk of a find as a tree on the screen."""

from rich.text import Text
from rich.tree import Tree

from contextfind.client.answers import Provenance, Step

_SIGNS = {"keep": ("+ ", "green"), "cut": ("- ", "dim")}


def walk_tree(told: Provenance) -> Tree:
    """Return the directories in the order they were opened, each with the hits kept (+) and cut (-)."""
    statistics = told["thinking_trace"]["statistics"]
    figures = (
        f"{statistics['directories_searched']} directories, "
        f"rounds: {statistics['convergence_rounds']}, "
        f"candidates: {statistics['candidates_collected']}"
    )
    root = Tree(Text.assemble(("the walk ", "bold"), (figures, "dim")))
    branches: dict[str, Tree] = {}
    for step in told["thinking_trace"]["events"]:
        uri = step["uri"]
        if uri is None:
            root.add(Text(step["reason"], "dim"))
        elif step["event"] == "open":
            branches[uri] = root.add(_line(step, uri))
        else:
            parent, _, name = uri.rpartition("/")
            branch = branches.get(parent)
            if branch is None:
                label = Text.assemble(parent, (" not opened", "dim"))
                branch = branches[parent] = root.add(label)
            branch.add(Text.assemble(_SIGNS[step["event"]], _line(step, name)))
    return root


def _line(step: Step, name: str) -> Text:
    score = "" if step["score"] is None else f"{step['score']:.3f} "
    return Text.assemble(score, name, " ", (step["reason"], "dim"))
