import os
import socket
from pathlib import Path

import pytest

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.startup import checked_sources, listening


def test_a_path_is_found_below_resources_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "my docs").mkdir()
    (tmp_path / "a.md").write_text("x", encoding="utf-8")
    sources = checked_sources([tmp_path / "my docs", tmp_path / "a.md"])
    assert [source.uri.text for source in sources] == [
        "viking://resources/my docs",
        "viking://resources/a.md",
    ]
    assert all(source.path.is_absolute() for source in sources)


def test_a_dotted_path_has_the_name_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert checked_sources([tmp_path / "docs" / "."])[0].name == "docs"


def test_the_same_path_twice_is_one(tmp_path: Path) -> None:
    assert len(checked_sources([tmp_path, tmp_path])) == 1


@pytest.mark.parametrize(
    ("path", "said"), [("nowhere", "there is no"), ("/", "no name"), ("a\nb", "control character")]
)
def test_what_cannot_be_indexed_is_refused(tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "a\nb").mkdir()
    with pytest.raises(Complaint, match=said) as caught:
        checked_sources([tmp_path / path])
    assert caught.value.exit_code is ExitCode.USAGE
    assert "\n" not in str(caught.value)


def test_two_paths_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "docs", tmp_path / "b" / "docs"]
    for path in paths:
        path.mkdir(parents=True)
    with pytest.raises(Complaint, match="would both be viking://resources/docs"):
        checked_sources(paths)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_path_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    with pytest.raises(Complaint, match="cannot read"):
        checked_sources([closed])


def test_a_port_in_use_is_named_with_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Complaint, match=f"port {port} .* --port {port + 1}") as caught:
            listening("127.0.0.1", port)
    assert caught.value.exit_code is ExitCode.OCCUPIED


def test_an_address_of_another_machine_is_a_wrong_configuration() -> None:
    with pytest.raises(Complaint, match=r"cannot listen on 192\.0\.2\.1") as caught:
        listening("192.0.2.1", 1933)
    assert caught.value.exit_code is ExitCode.USAGE


def test_port_zero_takes_a_free_one() -> None:
    with listening("127.0.0.1", 0) as listener:
        assert listener.getsockname()[1] > 0


def test_a_listening_socket_lets_answers_leave_without_delay() -> None:
    with listening("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
