"""A method of both clients, made of one description."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from contextfind.client.flow import Flow

T = TypeVar("T")
P = ParamSpec("P")


class Blocking:
    """A client whose methods return when it is done."""

    def perform(self, flow: Flow[T]) -> T:
        """Return what the flow returns."""
        raise NotImplementedError


class Awaiting:
    """A client whose methods are awaited."""

    async def perform(self, flow: Flow[T]) -> T:
        """Return what the flow returns."""
        raise NotImplementedError


class Method(Generic[P, T]):
    """Turns a description, `(…) -> Flow[T]`, into a method: `(…) -> T` or `(…) -> awaitable T`."""

    def __init__(self, describe: Callable[P, Flow[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    if TYPE_CHECKING:

        @overload
        def __get__(self, client: None, kind: type) -> Callable[P, Flow[T]]: ...
        @overload
        def __get__(self, client: Blocking, kind: type) -> Callable[P, T]: ...
        @overload
        def __get__(self, client: Awaiting, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: Blocking | Awaiting | None, kind: type) -> Any:
        describe = self._describe
        if client is None:
            return describe  # for help(): the signature and its words

        @wraps(describe)
        def call(*given: P.args, **named: P.kwargs) -> Any:
            return client.perform(describe(*given, **named))

        return call
