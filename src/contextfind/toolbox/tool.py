"""What a tool is: its words, its arguments, what it does at somebody's desk, and what it tells."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

from contextfind.client import AsyncClient


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one caller's tools work.

    client: speaks to the server with the caller's key. local: whether paths that the caller names are
    paths of the machine this runs on, and theirs to read. today: the day, for what is remembered.
    """

    client: AsyncClient
    local: bool
    today: Callable[[], date]


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answers: a text for the model, and the same as data where there is structure in it.

    wrong: nothing of it worked, and the text says why.
    """

    text: str
    data: Mapping[str, Any] | None = None
    wrong: bool = False


class Arguments(BaseModel):
    """What a tool is called with; null is as good as left out.

    Fields that a tool does not know have no effect, and are named to the caller.
    """

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def without_nulls(cls, given: object) -> object:
        """Leave out what models send as null for what they do not want to say."""
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None}

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names of fields that had no effect."""
        return tuple(sorted(self.model_extra or ()))


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool as a model sees it, and what it does.

    description: for the model: what it gets, and when to take another tool. run: raises ClientError.
    writes: it changes what is stored. destroys: some of that is gone then. again: twice is as once.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    run: Callable[[Desk, A], Awaitable[Told]] = field(repr=False)
    writes: bool = False
    destroys: bool = False
    again: bool = True

    async def called(self, desk: Desk, given: Mapping[str, Any]) -> Told:
        """Return what the tool tells.

        Raises:
            ValidationError: the arguments are none of this tool.
            ClientError: the server refused, or is not there.

        """
        arguments = self.arguments.model_validate(given)
        told = await self.run(desk, arguments)
        if not arguments.ignored:
            return told
        names = ", ".join(arguments.ignored)
        return Told(f"{told.text}\n(without effect, not known: {names})", told.data, told.wrong)


def shortened(text: str, most: int) -> str:
    """Return a text on one line, of at most so many characters, with an ellipsis where it is cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
