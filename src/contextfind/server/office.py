"""What a route about administration works with."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from contextfind.domain.identity import Identity
from contextfind.server.audit import Objects
from contextfind.server.auth import check_administers
from contextfind.server.house import House
from contextfind.server.premises import Caller, Premises, TheHouse, ThePremises


@dataclass(frozen=True, slots=True)
class Office:
    """Who asks, the house, what the server works by, and what the audit line says it is about."""

    premises: Premises
    house: House
    caller: Identity
    on: dict[str, str]

    def check_rules(self, account: str | None) -> None:
        """Refuse a caller who does not rule an account (None = all of them).

        Raises:
            PermissionDeniedError: the key has no such right.

        """
        check_administers(self.premises.keeper, self.caller, account)


async def office_of(premises: ThePremises, house: TheHouse, caller: Caller, on: Objects) -> Office:
    """Return the office of one request."""
    return Office(premises, house, caller, on)


TheOffice = Annotated[Office, Depends(office_of)]
