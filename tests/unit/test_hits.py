"""Hits in columns read like a sequence."""

from contextfind.domain.records import Level, RecordId
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Hit, Hits

DOCS = "viking://resources"


def hit(number: int, uri: str, level: Level = Level.DETAIL, cosine: float | None = 0.5) -> Hit:
    return Hit(RecordId(number), Uri(uri), level, 3, cosine, 0.25, 1.0, cosine, 0.125)


def test_a_table_gives_back_the_hits_it_was_made_of() -> None:
    hits = [
        hit(1, ROOT.text, Level.ABSTRACT),
        hit(2, DOCS, Level.OVERVIEW, None),
        hit(3, f"{DOCS}/a/b.md"),
    ]
    table = Hits.of(hits)
    assert list(table) == hits
    assert table[1:] == hits[1:]
    assert table.leaves.tolist() == [False, False, True]
    assert table.known == 1.0


def test_no_hits_are_an_empty_table() -> None:
    assert list(Hits.of([])) == []
    assert Hits.of([]).known == 0.0


def test_tables_are_joined_in_tree_order_with_names_and_levels_where_folders_are_shared() -> None:
    first = [
        hit(1, f"{DOCS}/a/b.md"),
        hit(2, f"{DOCS}/a/d", Level.OVERVIEW),
        hit(3, f"{DOCS}/b/x.md"),
    ]
    second = [
        hit(4, f"{DOCS}/a/a.md"),
        hit(5, f"{DOCS}/a/d", Level.ABSTRACT),
        hit(6, f"{DOCS}/c/y.md"),
    ]
    joined = Hits.joined([Hits.of(first), Hits.of(second)])
    assert [one.id for one in joined] == [4, 1, 5, 2, 3, 6]
    assert list(joined) == sorted(
        [*first, *second], key=lambda one: (one.uri.parent, one.uri.name, one.level)
    )
    assert joined.names[-1:] == ["y.md"]


def test_tables_that_follow_each_other_are_joined_as_they_are() -> None:
    first = [hit(1, f"{DOCS}/a/d", Level.OVERVIEW, None), hit(2, f"{DOCS}/a/x.md")]
    second = [hit(3, "viking://user/ann/a.md"), hit(4, "viking://user/ann/b.md")]
    joined = Hits.joined([Hits.of(first), Hits.of(second)])
    assert list(joined) == [*first, *second]
    assert list(joined.names) == ["d", "x.md", "a.md", "b.md"]
