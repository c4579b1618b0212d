"""A client command: its options for the server, its errors, its event loop."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

import typer

from contextfind.cli.complaint import Complaint, about
from contextfind.cli.screen import complain
from contextfind.client import DEFAULT_URL, AsyncClient, ClientError

Output = Literal["table", "json"]
SERVER_PANEL = "Server and output"


@dataclass(frozen=True, slots=True)
class Connection:
    """What a client command works with; `as_json`: the answer is read by a program."""

    client: AsyncClient
    as_json: bool


Command = Callable[..., Coroutine[Any, Any, None]]  # its first argument is a Connection


def client_command(
    app: typer.Typer, name: str, options: Callable[..., None] | None = None
) -> Callable[[Command], Command]:
    """Return a decorator that makes a coroutine function a command of `app`.

    The command takes the function's own arguments and --url, --key, --output, --json; what the
    client or the function complains about becomes one line and an exit code.
    `name` is all that is typed (`keys list`); `app` knows it by its last word.
    options: a function whose parameters are options, too; the command gets them as keywords (`**`).
    """

    def register(command: Command) -> Command:
        def run(**given: Any) -> None:
            shared = {word: given.pop(word) for word in _SHARED}
            _run(command, name, shared, given)

        own = [p for p in _parameters(command)[1:] if p.kind is not p.VAR_KEYWORD]
        hints = get_type_hints(command, include_extras=True)
        if options is not None:
            own += _parameters(options)
            hints |= get_type_hints(options, include_extras=True)
        run.__doc__ = command.__doc__
        run.__annotations__ = {word: hints[word] for word in (p.name for p in own)} | _SHARED_HINTS
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*(p.replace(kind=p.KEYWORD_ONLY) for p in own), *_SHARED.values()]
        )
        app.command(name.rpartition(" ")[2])(run)
        return command

    return register


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _run(command: Command, name: str, shared: dict[str, Any], given: dict[str, Any]) -> None:
    as_json = shared["json"] or shared["output"] == "json"

    async def talk() -> None:
        # a person decides whether to try again, and does not want to wait for the bad news
        async with AsyncClient(shared["url"], shared["key"], retries=0) as client:
            await command(Connection(client, as_json), **given)

    try:
        asyncio.run(talk())
    except ClientError as error:
        _end(about(error, name), as_json=as_json)
    except Complaint as complaint:
        _end(complaint, as_json=as_json)


def _end(complaint: Complaint, *, as_json: bool) -> None:
    complain(complaint, as_json=as_json)
    raise typer.Exit(complaint.exit_code)


def _shared_options(
    *,
    url: Annotated[
        str,
        typer.Option(
            envvar=["CONTEXTFIND_URL", "OPENVIKING_URL"],
            help="Where the server is.",
            rich_help_panel=SERVER_PANEL,
        ),
    ] = DEFAULT_URL,
    key: Annotated[
        str | None,
        typer.Option(
            envvar=["CONTEXTFIND_API_KEY", "OPENVIKING_API_KEY"],
            help="Your key; not needed in dev mode.",
            rich_help_panel=SERVER_PANEL,
        ),
    ] = None,
    output: Annotated[
        Output,
        typer.Option(
            "--output", "-o", help="For people or programs.", rich_help_panel=SERVER_PANEL
        ),
    ] = "table",
    json: Annotated[
        bool,
        typer.Option("--json", help="The same as --output json.", rich_help_panel=SERVER_PANEL),
    ] = False,
) -> None:
    """Carry the options that every client command has; never called."""


_SHARED = dict(inspect.signature(_shared_options).parameters)
_SHARED_HINTS = {word: parameter.annotation for word, parameter in _SHARED.items()}
