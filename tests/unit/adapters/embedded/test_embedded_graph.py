import logging
from pathlib import Path

import numpy as np
import pytest

from contextfind.adapters.embedded.graph import (
    Net,
    available,
    build_graph,
    load_net,
    nodes_of,
    save_net,
)
from contextfind.domain.records import Matrix
from tests.builders import unit, units

DIMENSION = 16


def build(vectors: Matrix) -> Net:
    graph = build_graph(vectors, [(0, len(vectors))], lambda _: True)
    assert graph is not None
    return graph.nets[0]


def test_equal_vectors_are_one_node_and_all_of_them_are_found() -> None:
    vectors = units([1] * 500 + list(range(2, 302)) + [1] * 500, DIMENSION)
    graph = build(vectors)
    assert graph.nodes == 301
    found = graph.nearest(unit(1, DIMENSION), 1)
    assert found.tolist() == [*range(500), *range(800, 1_300)]


def test_every_vector_is_found_by_itself_among_many_equal_ones() -> None:
    vectors = units([1] * 400 + list(range(2, 402)), DIMENSION)
    graph = build(vectors)
    for row in range(400, 800):
        assert row in graph.nearest(vectors[row], 32)


def test_nodes_are_numbered_by_first_appearance() -> None:
    assert nodes_of(units([5, 3, 5, 4, 3], DIMENSION)).tolist() == [0, 1, 0, 2, 1]


def test_vectors_that_only_look_alike_to_the_marks_are_nodes_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "contextfind.adapters.embedded.graph._marks_of",
        lambda vectors: np.zeros(len(vectors), np.uint64),
    )
    vectors = units([5, 5, 3, 3, 4], DIMENSION)
    assert nodes_of(vectors).tolist() == [0, 0, 1, 1, 2]


def test_the_nodes_are_told_again() -> None:
    vectors = units([5, 3, 5, 4, 3], DIMENSION)
    assert build(vectors).node_of.tolist() == nodes_of(vectors).tolist()


def test_asking_for_more_than_there_is_gives_all() -> None:
    graph = build(units(range(20), DIMENSION))
    found = graph.nearest(unit(0, DIMENSION), 10_000).tolist()
    assert found[0] == 0
    assert sorted(found) == list(range(20))


def test_each_range_has_a_net_of_its_own() -> None:
    vectors = units([*range(40), *range(30)], DIMENSION)
    graph = build_graph(vectors, [(0, 40), (45, 70)], lambda _: True)
    assert graph is not None
    assert graph.vectors == 65
    assert graph.over(40) is None
    net = graph.over(45)
    assert net is not None
    assert net.nearest(unit(7, DIMENSION), 1).tolist() == [47]
    assert set(net.nearest(unit(7, DIMENSION), 99).tolist()) == set(range(45, 70))


def test_building_stops_when_told() -> None:
    heard: list[int] = []

    def told(nodes: int) -> bool:
        heard.append(nodes)
        return nodes == 0

    assert build_graph(units(range(1_500), DIMENSION), [(0, 1_500)], told) is None
    assert heard == [0, 1_000]


def test_the_same_vectors_give_the_same_graph() -> None:
    vectors = units(range(300), DIMENSION)
    question = unit(1_000, DIMENSION)
    assert (
        build(vectors).nearest(question, 40).tolist()
        == build(vectors).nearest(question, 40).tolist()
    )


def test_a_saved_graph_answers_alike(tmp_path: Path) -> None:
    vectors = units([*range(200), 3, 3], DIMENSION)
    graph = build(vectors)
    save_net(graph, tmp_path / "links")
    again = load_net(tmp_path / "links", 0, graph.node_of, DIMENSION)
    for seed in range(20):
        question = unit(seed, DIMENSION)
        assert again.nearest(question, 30).tolist() == graph.nearest(question, 30).tolist()


def test_a_graph_of_other_vectors_is_refused(tmp_path: Path) -> None:
    save_net(build(units(range(50), DIMENSION)), tmp_path / "links")
    with pytest.raises(ValueError, match="another number of nodes"):
        load_net(tmp_path / "links", 0, np.arange(60, dtype=np.int32), DIMENSION)
    (tmp_path / "short").write_bytes(b"no links")
    with pytest.raises(ValueError, match="no graph"):
        load_net(tmp_path / "short", 0, np.arange(60, dtype=np.int32), DIMENSION)


def test_most_of_the_nearest_are_found() -> None:
    vectors = units(range(3_000), DIMENSION)
    graph = build(vectors)
    shares = []
    for seed in range(5_000, 5_020):
        question = unit(seed, DIMENSION)
        true = set(np.argsort(-(vectors @ question))[:10].tolist())
        shares.append(len(true & set(graph.nearest(question, 128).tolist())) / 10)
    assert np.mean(shares) > 0.95


def test_a_missing_library_is_said_once_and_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert available()
    assert caplog.text == ""
    assert not available(None)
    assert "hnswlib is not installed" in caplog.text
