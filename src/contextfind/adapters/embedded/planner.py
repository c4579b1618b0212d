"""How to find the nearest candidates: scan them, or walk the graph and drop what is no candidate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.adapters.embedded.rules import IndexRules

_CACHED = 7_000  # candidates whose vectors fit the cache: gathering costs less than half
_TYPICAL = 100_000  # nodes for which `graph_floor` was measured
_FLOOR_GROWTH = 4  # at most so many times the floor: 512 at 1.6 million nodes
_LARGE = 300_000  # from here on recall needs twice the oversampling
_WIDER = 4
_ENOUGH = 1.5  # times as many candidates expected as wanted: they do not lie evenly


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be found where.

    candidates: vectors that may be answers. span: vectors from the first candidate to the last one.
    wanted: records. nodes: of the graph, 0 = there is none.
    """

    candidates: int
    span: int
    wanted: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Skip:
    """There is nothing to be found."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Score every candidate."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Ask the graph for its `count` nearest nodes."""

    count: int


Plan = Skip | Scan | Neighbours


def plan(task: Task, rules: IndexRules, had: int = 0) -> Plan:
    """Return the cheapest way that finds all there is to find.

    had: neighbours that the net has given for this question already; where enough of them must be candidates,
        the nearest of those are the nearest of all, and nothing is asked again.
    """
    if task.candidates == 0:
        return Skip()
    if task.nodes == 0:
        return Scan()
    share = min(task.candidates / task.nodes, 1.0)
    if had * share >= _ENOUGH * task.wanted:
        return Neighbours(had)
    if task.candidates <= rules.exact_below:
        return Scan()
    growth = math.sqrt(max(task.nodes / _TYPICAL, 1.0))
    floor = int(rules.graph_floor * min(growth, _FLOOR_GROWTH))
    oversample = rules.oversample * (2 if task.nodes > _LARGE else 1)
    return _affordable(task, rules, max(floor, math.ceil(oversample * task.wanted / share)))


def widen(task: Task, asked: Neighbours, rules: IndexRules) -> Scan | Neighbours:
    """Return what to do when the graph gave too few: ask four times as many while that is cheaper."""
    if asked.count >= task.nodes:
        return Scan()
    return _affordable(task, rules, asked.count * _WIDER)


def told(taken: Sequence[tuple[Task, Plan]]) -> str:
    """Return in words what was done for one probe in all its patches.

    It counts candidates only: how large a graph is depends on what other people stored.
    """
    scanned = sum(task.candidates for task, step in taken if isinstance(step, Scan))
    near = sum(task.candidates for task, step in taken if isinstance(step, Neighbours))
    ways = []
    if near:
        ways.append(f"graph search among {near:,} vectors, the nearest scored exactly")
    if scanned:
        ways.append(f"exact scan of {scanned:,} vectors")
    return " and ".join(ways) or "no candidate has a vector"


def _affordable(task: Task, rules: IndexRules, count: int) -> Scan | Neighbours:
    count = min(count, task.nodes)
    gather = rules.gather_cost * (0.45 if task.candidates <= _CACHED else 1.0)
    scan = min(task.candidates * gather, task.span * rules.read_cost)
    return Scan() if scan <= count * rules.neighbour_cost else Neighbours(count)
