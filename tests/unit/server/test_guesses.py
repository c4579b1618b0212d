import pytest

from contextfind.domain.errors import ResourceExhaustedError
from contextfind.server import guesses
from contextfind.server.guesses import Guesses, peer_of


def is_refused(book: Guesses, peer: str, digest: str = "d") -> bool:
    try:
        book.check(peer, digest)
    except ResourceExhaustedError:
        return True
    return False


def guessed_out(peer: str) -> Guesses:
    book = Guesses(5, lambda: 0.0)
    for _ in range(5):
        assert not is_refused(book, peer)
        book.wrong(peer)
    return book


def test_an_address_with_too_many_wrong_keys_is_refused_and_no_other() -> None:
    book = guessed_out("10.0.0.1")
    assert is_refused(book, "10.0.0.1")
    assert not is_refused(book, "10.0.0.2")


def test_a_key_that_was_good_from_there_is_looked_at_all_the_same() -> None:
    book = guessed_out("10.0.0.1")
    book.right("10.0.0.1", "good")
    book.right("10.0.0.2", "good elsewhere")
    assert not is_refused(book, "10.0.0.1", "good")
    assert is_refused(book, "10.0.0.1", "good elsewhere")


def test_after_a_while_one_more_guess_is_allowed() -> None:
    now = [0.0]
    book = Guesses(60, lambda: now[0])
    for _ in range(60):
        book.wrong("a")
    assert is_refused(book, "a")
    now[0] = 1.0
    assert not is_refused(book, "a")


def test_the_good_keys_remembered_are_bounded() -> None:
    book = guessed_out("a")
    for number in range(guesses.CAPACITY + 1):
        book.right("a", f"key {number}")
    assert is_refused(book, "a", "key 0")
    assert not is_refused(book, "a", "key 1")


@pytest.mark.parametrize(
    ("client", "peer"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3::4", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::1", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:3::1", 1), "2001:db8:1:3::/64"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (("testclient", 1), "testclient"),
        (None, ""),
    ],
)
def test_a_peer_is_an_address_and_of_ipv6_a_network(client: object, peer: str) -> None:
    assert peer_of({"type": "http", "client": client}) == peer
