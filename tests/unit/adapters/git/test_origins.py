from pathlib import Path

import pytest

from contextfind.adapters.git.origins import is_bare, looks_remote, origin_at, origin_of
from contextfind.domain.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("url", "name", "shown"),
    [
        ("https://example.org/team/kettle.git", "kettle", "https://example.org/team/kettle.git"),
        (
            "https://ann:secret@example.org:8443/kettle/",
            "kettle",
            "https://example.org:8443/kettle/",
        ),
        ("http://example.org/%E5%9B%9E%E6%BB%9A", "回滚", "http://example.org/%E5%9B%9E%E6%BB%9A"),
        ("ssh://git@example.org/kettle", "kettle", "ssh://example.org/kettle"),
        ("git://example.org/kettle", "kettle", "git://example.org/kettle"),
        ("git@example.org:team/kettle.git", "kettle", "example.org:team/kettle.git"),
        ("example.org:kettle", "kettle", "example.org:kettle"),
        ("file:///srv/kettle.git", "kettle", "file:///srv/kettle.git"),
    ],
)
def test_addresses_of_repositories(url: str, name: str, shown: str) -> None:
    origin = origin_of(url)
    assert (origin.url, origin.name, origin.shown) == (url, name, shown)
    assert looks_remote(url)


@pytest.mark.parametrize(
    "text",
    [
        "-oProxyCommand=touch /tmp/x",
        "--upload-pack=touch",
        "ext::sh -c touch",
        "ext::sh",
        "fd::17",
        "::x",
        "ssh://-oProxyCommand=touch/x",
        "ssh://-oProxyCommand@example.org/x",
        "-x@example.org:y",
        "example.org:-x",
        "ftp://example.org/x",
        "javascript://example.org/x",
        "https:///x",
        "https://example.org",
        "https://example.org/..",
        "https://example.org:port/x",
        "file://example.org/x",
        "https://example.org/a b",
        "https://example.org/a\nb",
        "kettle",
        "",
    ],
)
def test_what_git_is_never_given(text: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match="expected a directory, or an address"
    ) as refused:
        origin_of(text)
    assert refused.value.details["field"] == "repository"


def test_a_refusal_shows_no_password() -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        origin_of("ftp://ann:secret@example.org/x")
    assert "secret" not in str(refused.value) + str(refused.value.details)


def test_a_bare_repository_of_this_machine(tmp_path: Path) -> None:
    bare = tmp_path / "my kettle.git"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    assert not is_bare(bare)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert is_bare(bare)
    origin = origin_at(bare)
    assert (origin.name, origin.url) == ("my kettle", f"file://{tmp_path}/my%20kettle.git")
