import time

import pytest

from contextfind.domain.errors import PermissionDeniedError
from contextfind.domain.identity import Identity
from contextfind.domain.scope import visible_to
from contextfind.domain.uri import ROOT, Uri
from tests.builders import make_record

ANN = Identity("acme", "ann")


def test_everything_means_the_shared_tree_and_ones_own() -> None:
    scope = visible_to(ANN)
    assert scope.allows(make_record(uri="viking://resources/a.md"))
    assert scope.allows(make_record(uri="viking://user/ann/a.md"))
    assert not scope.allows(make_record(uri="viking://user/ben/a.md"))
    assert not scope.allows(make_record(uri="viking://resources/a.md", account="bolt"))


def test_no_target_means_nothing() -> None:
    assert not visible_to(ANN, []).allows(make_record(uri="viking://resources/a.md"))


def test_targets_are_a_union_without_what_lies_below_another_one() -> None:
    a, below, b = (Uri.parse(f"viking://resources/{name}") for name in ("a", "a/x", "b"))
    assert visible_to(ANN, [below, b, a, a]).targets == (a, b)
    assert visible_to(ANN, [a, ROOT]).targets == (ROOT,)


def test_another_users_tree_is_refused_by_name() -> None:
    with pytest.raises(PermissionDeniedError, match="viking://user/ann"):
        visible_to(ANN, [Uri.parse("viking://user/ben/memories")])


def test_an_admin_does_not_read_other_users_either() -> None:
    with pytest.raises(PermissionDeniedError):
        visible_to(Identity("acme", "boss", "admin"), [Uri.parse("viking://user/ann")])


def test_the_root_key_touches_no_data_and_is_told_the_way() -> None:
    with pytest.raises(PermissionDeniedError, match="user key"):
        visible_to(Identity("", "", "root"))


def test_a_name_that_begins_like_another_is_not_below_it() -> None:
    a, longer = (Uri.parse(f"viking://resources/{name}") for name in ("a", "ab"))
    assert visible_to(ANN, [longer, a]).targets == (a, longer)


def test_very_many_targets_take_no_time() -> None:
    many = [Uri.parse(f"viking://resources/d{number}/x") for number in range(20_000)]
    started = time.thread_time()
    assert len(visible_to(ANN, many).targets) == len(many)
    assert time.thread_time() - started < 2
