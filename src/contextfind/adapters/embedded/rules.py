"""The numbers the index works by; each was measured, tests lower them to reach every path."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexRules:
    """When rows are scanned, walked as a graph, merged and written.

    exact_below: so many candidate rows are always scanned (at most .4 ms at 384 dimensions).
    graph_from: a group of a segment with so many vectors gets a net of neighbours; below, a scan is as fast.
    graph_floor: neighbours asked of a graph of up to 100,000 nodes (recall .99); grows with the root
        of its size (recall falls with size, time hardly rises).
    oversample: neighbours asked per wanted one, divided by the share of candidates in the group. On 100,000 vectors
        drawn to be hard, 100 wanted: 3 finds 98 % of the first ten and 85 % of all, 5 finds 99 % and
        92 %, 8 finds 100 % and 97 % (3.1, 4.5, 5.5 ms a probe).
    read_cost, gather_cost, neighbour_cost: microseconds for a row among adjacent ones, for a row picked
        out, for a neighbour asked of a graph, at 384 dimensions; only their ratios matter.
    merge_ratio: a segment at least so many times larger than the next one is left alone.
    small_rows: segments smaller than this are always merged; it costs a few ms.
    merge_at_once: so many rows are merged right after they came (60 ms of processor time), more of them
        behind the searches.
    quiet_ratio: when no more rows come in, a segment at least so many times larger than all smaller ones
        together is left alone. 2, 4, 9: a row is drawn 5, 9, 16 times while half a million trickle onto a
        million, and 3.0, 2.4, 1.9 segments on average have a graph, each of which costs every find.
    quiet_rows, quiet_seconds: while more rows than that come in such a time, no graph is drawn: it would
        soon be thrown away. One thread draws some 600 to 4,000 rows a second, and a segment lives until
        half as many rows as it has came after it.
    rewrite_dead: share of dead records that makes a segment worth writing again.
    write_after: so many rows followed since the last snapshot start a new one.
    graphs: whether there are any; without them every answer is exact.
    """

    exact_below: int = 4_000
    graph_from: int = 10_000
    graph_floor: int = 128
    oversample: int = 3
    read_cost: float = 0.05
    gather_cost: float = 0.2
    neighbour_cost: float = 3.0
    merge_ratio: int = 2
    small_rows: int = 1_000
    merge_at_once: int = 4_000
    quiet_ratio: int = 4
    quiet_rows: int = 500
    quiet_seconds: float = 1.0
    rewrite_dead: float = 0.3
    write_after: int = 20_000
    graphs: bool = True
