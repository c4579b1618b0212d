"""Small git repositories, made by git itself."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SOMEBODY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{role}_NAME": "Ann" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ann@example.org" for role in ("AUTHOR", "COMMITTER")},
}


def run_git(folder: Path, *words: str) -> None:
    """Run git in a folder with no settings but its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(  # noqa: S603 - words of the tests
        ["git", "-c", "init.defaultBranch=main", *words],  # noqa: S607 - whichever git there is
        cwd=folder,
        check=True,
        capture_output=True,
        env=environment | _SOMEBODY,
    )


def make_repository(folder: Path, *versions: Mapping[str, str]) -> Path:
    """Make a repository with one commit per version, and return its folder."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "-q")
    for number, files in enumerate(versions):
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-q", "-m", f"Version {number}")
    return folder


def make_bare(folder: Path, of: Path) -> Path:
    """Make a bare copy of a repository, and return its folder."""
    run_git(of, "clone", "-q", "--bare", str(of), str(folder))
    return folder
