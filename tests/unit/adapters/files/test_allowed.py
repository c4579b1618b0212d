"""Paths of the server's own machine."""

from pathlib import Path

import pytest

from contextfind.adapters.files.allowed import AllowedPaths
from contextfind.domain.errors import NotFoundError, PermissionDeniedError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "docs").mkdir(parents=True)
    (tmp_path / "root" / "a.md").write_bytes(b"a")
    (tmp_path / "rooted").mkdir()
    (tmp_path / "secret").write_bytes(b"s")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "root" / "loop").symlink_to(tmp_path / "root" / "loop")
    return tmp_path / "root"


def test_what_lies_below_a_root_is_a_source(root: Path) -> None:
    paths = AllowedPaths([root])
    assert not paths.source(str(root / "docs")).single
    assert not paths.source(str(root)).single
    assert paths.source(str(root / "docs" / ".." / "a.md")).single


@pytest.mark.parametrize(
    "path",
    ["../secret", "link", "../rooted", "docs/../../secret", "/etc/passwd", "a\0b", "~none/x"],
)
def test_what_leads_out_is_refused_with_the_way_to_upload(root: Path, path: str) -> None:
    asked = path if path.startswith(("/", "~")) else f"{root}/{path}"
    with pytest.raises(PermissionDeniedError, match=r"/api/v1/resources/temp_upload.*temp_file_id"):
        AllowedPaths([root]).source(asked)


def test_without_roots_nothing_is_allowed(root: Path) -> None:
    with pytest.raises(PermissionDeniedError):
        AllowedPaths([]).source(str(root / "a.md"))


def test_what_is_not_there_is_not_found(root: Path) -> None:
    with pytest.raises(NotFoundError):
        AllowedPaths([root]).source(str(root / "none"))
