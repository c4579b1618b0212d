from pathlib import Path

import pytest

from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.domain.uri import Uri
from contextfind.ingestion.selection import Selection
from contextfind.pipeline.sources import documents, repositories

RESOURCES = Uri("viking://resources")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("a")
    return tmp_path / "docs"


@pytest.mark.parametrize("kind", [str, Path])
def test_one_path_or_many_each_below_the_parent(docs: Path, kind: type, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (one,) = documents(kind(docs), RESOURCES, data)
    assert (one.path, one.uri, one.exclude) == (docs, RESOURCES.child("docs"), ())
    both = documents((kind(path) for path in (docs, docs / "a.md")), RESOURCES.child("x"), data)
    assert [source.uri.text for source in both] == [
        "viking://resources/x/docs",
        "viking://resources/x/a.md",
    ]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for read in (documents, repositories):
        with pytest.raises(NotFoundError, match="gone"):
            read([tmp_path / "gone"], RESOURCES, tmp_path / "data")


def test_two_of_one_name_are_refused_and_one_twice_is_one(docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "more/docs"
    other.mkdir(parents=True)
    with pytest.raises(InvalidArgumentError, match="would both be viking://resources/docs"):
        documents([docs, other], RESOURCES, tmp_path / "data")
    with pytest.raises(InvalidArgumentError, match="would both be viking://resources/docs"):
        repositories(
            [docs, "https://ann:secret@example.org/docs.git"], RESOURCES, tmp_path / "data"
        )
    assert len(documents([docs, docs], RESOURCES, tmp_path / "data")) == 1


def test_the_root_has_no_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="has no name"):
        documents("/", RESOURCES, tmp_path / "data")


def test_the_data_of_the_pipeline_is_left_out_and_nothing_else(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "in/my [data]").mkdir(parents=True)
    (source,) = documents(work, RESOURCES, work / "in/my [data]")
    selection = Selection(exclude=source.exclude)
    assert not selection.keeps("in/my [data]/blobs/a")
    assert selection.keeps("in/my d/a.md")
    assert selection.keeps("deeper/in/my [data]/a.md")


def test_the_data_itself_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "data/blobs").mkdir(parents=True)
    for path in (tmp_path / "data", tmp_path / "data/blobs"):
        with pytest.raises(InvalidArgumentError, match="keeps its own data"):
            documents(path, RESOURCES, tmp_path / "data")


def test_directories_are_taken_as_they_are_and_addresses_are_cloned(
    docs: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "kettle.git"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    given = [docs, bare, "https://example.org/heron.git", "git@example.org:wren"]
    found = repositories(given, RESOURCES, tmp_path / "data")
    assert [source.uri.name for source in found] == ["docs", "kettle", "heron", "wren"]
    assert [source.path for source in found] == [docs, None, None, None]
    assert [source.origin.url for source in found if source.origin] == [
        bare.as_uri(),
        "https://example.org/heron.git",
        "git@example.org:wren",
    ]


@pytest.mark.parametrize("text", ["-oProxyCommand=x", "ext::sh -c x", "ftp://example.org/x"])
def test_dangerous_addresses_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        repositories(text, RESOURCES, tmp_path / "data")
