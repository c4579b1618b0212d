"""What an identity may see: made here, in one place, and never expressed as a filter."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from contextfind.domain.errors import PermissionDeniedError
from contextfind.domain.identity import Identity
from contextfind.domain.records import Record
from contextfind.domain.uri import ROOT, Uri


@dataclass(frozen=True, slots=True)
class Scope:
    """An account, a user, and the parts of the tree a question is about.

    targets: no address lies below another one; an empty tuple means nothing at all.
    """

    account: str
    user: str
    targets: tuple[Uri, ...]

    def allows(self, record: Record) -> bool:
        """Whether the record may be shown; the reference for every engine."""
        return (
            record.account == self.account
            and record.owner in ("", self.user)
            and any(record.uri.is_under(target) for target in self.targets)
        )


def visible_to(identity: Identity, targets: Sequence[Uri] | None = None) -> Scope:
    """Return what `identity` may see below `targets`; None = everything it may see.

    Raises:
        PermissionDeniedError: a target in another user's tree, or an identity without a tenant.

    """
    if identity.role == "root":
        raise PermissionDeniedError(
            "the root key is bound to no tenant and cannot touch data; create a user key with "
            "POST /api/v1/admin/accounts (or contextfind keys create) and use that one"
        )
    wanted = [ROOT] if targets is None else list(targets)
    for target in wanted:
        check_reach(identity, target)
    return Scope(identity.account, identity.user, _outermost(wanted))


def check_reach(identity: Identity, uri: Uri) -> None:
    """Refuse an address in another user's tree.

    Raises:
        PermissionDeniedError: `uri` belongs to somebody else, or the identity has no tenant.

    """
    if identity.role == "root":
        visible_to(identity)
    if uri.owner not in ("", identity.user):
        raise PermissionDeniedError(
            f"{uri.text!r} lies in another user's tree; your own is viking://user/{identity.user}",
            {"uri": uri.text, "resource": uri.text},
        )


def _outermost(targets: Sequence[Uri]) -> tuple[Uri, ...]:
    """Drop what lies below another target; time grows with their number, not with its square."""
    unique = set(targets)
    return tuple(uri for uri in sorted(unique) if not _inside_one_of(uri, unique))


def _inside_one_of(uri: Uri, directories: AbstractSet[Uri]) -> bool:
    above = uri.parent
    while above is not None and above not in directories:
        above = above.parent
    return above is not None
