"""What a session was shown: turns, other sessions, other users, bounds."""

from contextfind.answering.assembly.ledger import MOST_TURNS, Ledger
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from tests.households import ANN, BEN, OTHER

A, B, C = (Uri(f"viking://resources/{name}") for name in "abc")


def test_what_the_last_turns_showed_cools() -> None:
    ledger = Ledger()
    assert ledger.cooling(ANN, "s", 5) == frozenset()
    assert [ledger.note(ANN, "s", [one]) for one in (A, B, C)] == [1, 2, 3]
    assert ledger.cooling(ANN, "s", 1) == {C}
    assert ledger.cooling(ANN, "s", 2) == {B, C}
    assert ledger.cooling(ANN, "s", 9) == {A, B, C}
    assert ledger.note(ANN, "s", []) == 4
    assert ledger.cooling(ANN, "s", 1) == frozenset()


def test_sessions_and_users_are_apart() -> None:
    ledger = Ledger()
    ledger.note(ANN, "s", [A])
    for who, session in ((ANN, "t"), (BEN, "s"), (OTHER, "s"), (Identity("s", "acme"), "ann")):
        assert ledger.cooling(who, session, 9) == frozenset()
    ledger.forget(BEN, "s")
    assert ledger.cooling(ANN, "s", 9) == {A}
    ledger.forget(ANN, "s")
    assert ledger.cooling(ANN, "s", 9) == frozenset()


def test_it_stays_small() -> None:
    ledger = Ledger(most_sessions=2, most_addresses=2)
    ledger.note(ANN, "s", [A, B, C])
    assert ledger.cooling(ANN, "s", 9) == {B, C}
    ledger.note(ANN, "t", [A])
    ledger.note(ANN, "s", [])
    ledger.note(ANN, "u", [A])
    assert ledger.cooling(ANN, "t", 9) == frozenset()
    assert ledger.cooling(ANN, "s", 9) == {B, C}
    for _ in range(MOST_TURNS):
        ledger.note(ANN, "s", [])
    assert ledger.cooling(ANN, "s", 10 * MOST_TURNS) == frozenset()
