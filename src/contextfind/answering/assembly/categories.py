"""Which category an address belongs to, whose it is, and where a category lies in the tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.domain.errors import InvalidUriError
from contextfind.domain.filters import Filter, Not, Or, Under
from contextfind.domain.uri import Uri

EVENTS, ENTITIES, PREFERENCES = "events", "entities", "preferences"
EXPERIENCES, RESOURCES, SKILLS, MEMORIES = "experiences", "resources", "skills", "memories"
CATEGORIES = (EVENTS, ENTITIES, PREFERENCES, EXPERIENCES, RESOURCES, SKILLS, MEMORIES)

# Directories below `memories`; what this server's own memories are called comes second.
FOLDERS: Mapping[str, Sequence[str]] = {
    EVENTS: ("events",),
    ENTITIES: ("entities", "facts"),
    PREFERENCES: ("preferences",),
    EXPERIENCES: ("experiences", "cases"),
}
_CATEGORY_OF = {folder: name for name, folders in FOLDERS.items() for folder in folders}

# How many entries of each a kind of work wants: known to the clients that name a purpose.
PURPOSES: Mapping[str, Mapping[str, int]] = {
    "coding": {
        EVENTS: 1,
        ENTITIES: 2,
        PREFERENCES: 1,
        EXPERIENCES: 1,
        RESOURCES: 3,
        SKILLS: 2,
    },
    "chat": {
        EVENTS: 3,
        ENTITIES: 3,
        PREFERENCES: 1,
        EXPERIENCES: 1,
        RESOURCES: 1,
        SKILLS: 1,
    },
}

SELF, ACTOR_PEER, OTHER_PEER = "self", "actor_peer", "other_peer"
ORIGINS = (ACTOR_PEER, SELF, OTHER_PEER)

# Taken off the score of what another peer of the user left: clients expect it to come behind one's own.
PENALTIES: Mapping[str, float] = {
    EVENTS: 0.1,
    ENTITIES: 0.1,
    PREFERENCES: 0.02,
    EXPERIENCES: 0.02,
    RESOURCES: 0.02,
    SKILLS: 0.02,
    MEMORIES: 0.1,
}

_AGENT = Uri("viking://agent")
_PEERS = "peers"
_SHELVES = frozenset({MEMORIES, SKILLS, RESOURCES, "sessions"})
_LONGEST_PEER = (
    200  # characters, so that categories have an address below it; clients make them of paths
)
_WITHIN_OWN = 2  # segments of viking://user/NAME
_WITHIN_PEER = 4  # and of viking://user/NAME/peers/PEER


@dataclass(frozen=True, slots=True)
class Place:
    """What an address is: its category, whose, and whether it is only a way to other things."""

    category: str
    peer: str
    navigation: bool


def place_of(uri: Uri) -> Place:
    """Return what an address is, by its place in the tree alone.

    Roots (`viking://resources`, a user's own, a peer's) and their `memories` and `skills` are navigation.
    """
    peer, inside = _inside(uri)
    shelf = inside[0] if inside and uri.segments[0] != "resources" else ""
    navigation = not inside or (len(inside) == 1 and shelf in _SHELVES)
    return Place(_category(shelf, inside), peer, navigation)


def _inside(uri: Uri) -> tuple[str, tuple[str, ...]]:
    """Return the peer in whose part of the tree it lies, if any, and the segments below its root."""
    parts = uri.segments
    if not parts or parts[0] != "user":
        return "", parts[1:]
    if len(parts) > _WITHIN_OWN and parts[2] == _PEERS:
        peer = parts[3] if len(parts) >= _WITHIN_PEER else ""
        return peer, parts[_WITHIN_PEER:]
    return "", parts[_WITHIN_OWN:]


def _category(shelf: str, inside: tuple[str, ...]) -> str:
    if shelf == MEMORIES:
        return _CATEGORY_OF.get(inside[1], MEMORIES) if len(inside) > 1 else MEMORIES
    return SKILLS if shelf == SKILLS else RESOURCES


def origin_of(place: Place, actor: str) -> str:
    """Return whose it is: the caller's own (or the account's), the acting peer's, another peer's."""
    if not place.peer:
        return SELF
    return ACTOR_PEER if place.peer == actor else OTHER_PEER


@dataclass(frozen=True, slots=True)
class Household:
    """Where the categories of one user lie.

    peers: those whose parts of the tree are looked through.
    """

    user: str
    peers: Sequence[str] = ()

    @property
    def roots(self) -> tuple[Uri, ...]:
        """The user's own tree, the one that agents share, and those of the peers."""
        own = Uri(f"viking://user/{self.user}")
        return (own, _AGENT, *(own.child(f"{_PEERS}/{peer}") for peer in self.peers))

    def where(self, category: str) -> Filter:
        """Return the condition that a record belongs to a category."""
        if category in FOLDERS:
            return self._below(*(f"{MEMORIES}/{folder}" for folder in FOLDERS[category]))
        if category == SKILLS:
            return self._below(SKILLS)
        if category == RESOURCES:
            return Not(self._below(MEMORIES, SKILLS))
        return self._below(MEMORIES)

    def _below(self, *paths: str) -> Filter:
        return Or(tuple(Under(root.child(path)) for root in self.roots for path in paths))


def peers_of(user: str) -> Uri:
    """Return the directory in which the peers of a user have theirs."""
    return Uri(f"viking://user/{user}/{_PEERS}")


def is_peer(name: str, user: str) -> bool:
    """Whether a peer could be called so: one segment of an address, and not a long one."""
    if len(name) > _LONGEST_PEER:
        return False
    try:
        return peers_of(user).child(name).name == name
    except InvalidUriError:
        return False
