import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidUriError
from contextfind.domain.uri import MAX_LENGTH, ROOT, Uri


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://x",
        "resources/a",
        "viking:/resources",
        "viking://temp/x",
        "viking://resources//a",
        "viking://resources/./a",
        "viking://resources/../user/bob",
        "viking://resources/%2e%2e/user",
        "viking://resources/.%2E/user",
        "viking://resources/a\nb",
        "viking://resources/a\x00b",
        "viking://resources/\ud800",
        "viking://resources/" + "a" * MAX_LENGTH,
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(InvalidUriError) as caught:
        Uri.parse(text)
    assert caught.value.details["reason"]


@pytest.mark.parametrize(
    "name",
    [
        "发布流程（终稿）.md",
        "résumé v2.txt",
        "メモ#1.md",
        "a b+c&d.md",
        "🚀.md",
        "[x] 100%.md",
        "...",
        "a%2fb",
    ],
)
def test_unicode_names_come_out_as_they_went_in(name: str) -> None:
    uri = Uri.parse(f"viking://resources/{name}")
    assert uri.name == name
    assert Uri.parse(uri.text) == uri


def test_trailing_slashes_are_dropped_and_the_root_is_the_root() -> None:
    assert Uri.parse("viking://resources/a//") == Uri.parse("viking://resources/a")
    assert Uri.parse("viking://") == ROOT


def test_decomposed_names_are_composed() -> None:
    assert Uri.parse("viking://resources/re\u0301sume\u0301").name == "r\u00e9sum\u00e9"


def test_a_tilde_is_the_callers_own_tree_and_needs_a_caller() -> None:
    assert Uri.parse("viking://~/memories", "ann").text == "viking://user/ann/memories"
    with pytest.raises(InvalidUriError):
        Uri.parse("viking://~/memories")


def test_the_name_of_the_user_may_be_left_out_before_what_every_user_has():
    for own in ("memories", "resources", "skills/csv", "sessions/x"):
        assert Uri.parse(f"viking://user/{own}", "ann").text == f"viking://user/ann/{own}"
    assert Uri.parse("viking://user/bob/memories", "ann").text == "viking://user/bob/memories"
    assert Uri.parse("viking://user/memories", "memories").text == "viking://user/memories"
    assert Uri.parse("viking://user/memories").text == "viking://user/memories"  # nobody asks
    assert Uri.parse("viking://resources/memories", "ann").text == "viking://resources/memories"


def test_a_tilde_does_not_make_an_address_longer_than_any_other() -> None:
    own = "viking://~/" + "a" * (MAX_LENGTH - len("viking://~/"))
    with pytest.raises(InvalidUriError, match="longer than"):
        Uri.parse(own, "ann")
    longest = Uri.parse(own[: -len("user/ann") + 1], "ann")
    assert len(longest.text) == MAX_LENGTH
    assert Uri.parse(longest.text) == longest


def test_a_neighbour_with_the_same_beginning_is_not_below() -> None:
    atlas = Uri.parse("viking://resources/atlas")
    assert Uri.parse("viking://resources/atlas/a.md").is_under(atlas)
    assert atlas.is_under(atlas)
    assert atlas.is_under(ROOT)
    assert not Uri.parse("viking://resources/atlas2").is_under(atlas)


def test_ancestors_end_at_the_scope_root() -> None:
    deep = Uri.parse("viking://user/ann/memories/a/b.md")
    assert [up.text for up in deep.ancestors()] == [
        "viking://user/ann/memories/a",
        "viking://user/ann/memories",
        "viking://user/ann",
    ]
    assert Uri.parse("viking://resources").ancestors() == ()
    assert Uri.parse("viking://user").ancestors() == ()


def test_the_owner_is_the_user_whose_tree_it_is() -> None:
    assert Uri.parse("viking://user/ann/x").owner == "ann"
    assert Uri.parse("viking://resources/user/ann").owner == ""


@given(st.text(min_size=1, max_size=20))
def test_every_name_is_kept_or_refused_never_changed_into_another_path(name: str) -> None:
    try:
        uri = Uri.parse("viking://resources").child(name)
    except InvalidUriError:
        return
    assert Uri.parse(uri.text) == uri
    assert uri.is_under(Uri.parse("viking://resources"))
    assert uri != Uri.parse("viking://resources") or not name.strip("/")
