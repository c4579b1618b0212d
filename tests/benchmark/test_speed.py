"""The parts of the speed benchmark do what their figures claim, on next to nothing."""

import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from contextfind.transfer.reader import ExportReader
from examples.serving import ServerFailedError
from tests.benchmark.clients import Clients, Load, sent
from tests.benchmark.enduring import FILE_BYTES, made_files
from tests.benchmark.finding import recall
from tests.benchmark.generated import DIMENSION, Library
from tests.benchmark.loading import NOTES, Loaded, Place, write_export
from tests.benchmark.watched import Keys, size_mib
from tests.benchmark.yardstick import HIT_BYTES, bare_route

BODY = json.dumps({"query": "x"})


def test_an_export_of_the_library_is_whole(tmp_path: Path) -> None:
    records = write_export(Library(300), tmp_path / "export")
    reader = ExportReader(io.BytesIO((tmp_path / "export").read_bytes()))
    blocks = list(reader.blocks())
    assert reader.header.dimension == DIMENSION
    assert sum(block.totals.records for block in blocks) == records
    assert sum(block.totals.vectors for block in blocks) == records
    assert sum(len(block.tenants) for block in blocks) == 10


def test_the_same_library_gives_the_same_export(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_export(Library(120), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_clients_send_every_body_and_time_each_answer() -> None:
    with bare_route() as bare:
        load = Load(bare.port, f"/find/{10 * HIT_BYTES}", [BODY] * 20, concurrency=8, keep=True)
        answers = sent(load)
        assert len(answers.ms) == 20
        assert answers.failed == 0
        assert all(len(json.loads(one)["result"]["resources"]) == 10 for one in answers.answers)
        assert answers.bytes_mean == pytest.approx(10 * HIT_BYTES, abs=60)
        assert bare.cpu_seconds() > 0
        assert 0 < min(answers.ms) <= 1000 * answers.seconds

        refused = sent(Load(bare.port, "/find/no-number", [BODY] * 3))
        assert refused.failed == 3

        with Clients(Load(bare.port, "/find/1", [BODY], concurrency=2, endless=True)) as clients:
            for _ in range(4):  # on a busy machine clients may need a while to begin
                sent(load)
            assert len(clients.result().ms) > 2


def test_recall_is_the_share_of_the_exact_hits() -> None:
    exact = {"plain": [["a", "b"], [], ["c", "d"]]}
    assert recall({"plain": [["b", "a"], ["x"], ["c", "e"]]}, exact) == {
        "plain": pytest.approx(2.5 / 3, abs=1e-4)
    }


def test_made_files_have_their_size_and_a_path_each() -> None:
    files = made_files(120)
    assert len({path for path, _ in files}) == 120
    assert all(0.9 * FILE_BYTES < len(data) <= FILE_BYTES for _, data in files)


def test_a_kept_directory_is_used_for_the_same_library_only(tmp_path: Path) -> None:
    loaded = Loaded(300, 350, 1.0, 2.0, 2.0, 90.0, 3.0)
    told = {"seed": 7, "keys": {"user": "u", "root": "r"}, "loaded": asdict(loaded)}
    assert Place.kept(tmp_path, 300, 7) is None
    (tmp_path / NOTES).write_text(json.dumps(told))
    assert Place.kept(tmp_path, 300, 7) == Place(tmp_path, Keys("u", "r"), loaded)
    with pytest.raises(ServerFailedError, match="holds 300 documents of seed 7"):
        Place.kept(tmp_path, 400, 7)


def test_the_size_of_a_directory_is_what_its_files_take(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_bytes(b"x" * (1 << 20))
    assert size_mib(tmp_path) >= 1
