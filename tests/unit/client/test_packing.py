import os
import zipfile
from pathlib import Path

from contextfind.client.packing import Choice, Packed, pack


def plant(root: Path, *paths: str) -> Path:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {path}", encoding="utf-8")
    return root


def packed(root: Path, into: Path, choice: Choice | None = None) -> tuple[Packed, list[str]]:
    told: list[tuple[int, int]] = []
    done = pack(
        root, into, choice or Choice(), lambda n, total: told.append((n, total)), lambda: False
    )
    with zipfile.ZipFile(into) as archive:
        names = sorted(archive.namelist())
    assert told[-1] == (len(names) + len(done.unread), len(names) + len(done.unread))
    return done, names


def test_every_file_is_there_under_its_own_path(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md", "b/回滚 步骤.md", "b/c/d.txt")
    done, names = packed(root, tmp_path / "z.zip")
    assert names == ["a.md", "b/c/d.txt", "b/回滚 步骤.md"]
    assert done.files == 3
    with zipfile.ZipFile(tmp_path / "z.zip") as archive:
        assert archive.read("b/回滚 步骤.md").decode() == "content of b/回滚 步骤.md"


def test_control_directories_are_left_out(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md", ".git/config", "x/node_modules/m.js")
    assert packed(root, tmp_path / "z.zip")[1] == ["a.md"]


def test_gitignore_holds_where_it_stands(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.log", "sub/b.log", "sub/c.md")
    (root / "sub" / ".gitignore").write_text("*.log\n", encoding="utf-8")
    names = packed(root, tmp_path / "z.zip")[1]
    assert {"a.log", "sub/c.md"} <= set(names)
    assert "sub/b.log" not in names


def test_include_exclude_and_ignored_directories_narrow_the_choice(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md", "b.txt", "drafts/c.md", "d.draft.md")
    choice = Choice(("*.md",), ("*.draft.md",), ("drafts",))
    assert packed(root, tmp_path / "z.zip", choice)[1] == ["a.md"]


def test_links_are_left_out(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md")
    secret = plant(tmp_path / "elsewhere", "secret.txt")
    (root / "link.txt").symlink_to(secret / "secret.txt")
    (root / "linked").symlink_to(secret)
    assert packed(root, tmp_path / "z.zip")[1] == ["a.md"]


def test_what_is_gone_before_its_turn_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md", "b.md")

    def take_away(done: int, _: int) -> None:
        if done == 1:
            (root / "b.md").unlink()

    done = pack(root, tmp_path / "z.zip", Choice(), take_away, lambda: False)
    assert done.files == 1
    assert done.unread == {"b.md": "No such file or directory"}


def test_old_files_are_packed_too(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md")
    os.utime(root / "a.md", (0, 0))
    assert packed(root, tmp_path / "z.zip")[1] == ["a.md"]


def test_stops_between_two_files_when_told(tmp_path: Path) -> None:
    root = plant(tmp_path / "docs", "a.md", "b.md", "c.md")
    answers = iter([False, True])
    done = pack(root, tmp_path / "z.zip", Choice(), lambda *_: None, lambda: next(answers))
    assert done.files == 1
