"""`add_resource`: files and directories into the tree."""

from typing import Annotated

from pydantic import Field

from contextfind.client import ClientError
from contextfind.client.adding import AddOptions
from contextfind.client.answers import Added
from contextfind.client.envelope import API, result
from contextfind.client.exchange import Request
from contextfind.client.flow import ask
from contextfind.toolbox.failing import failure_text
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool

_SECONDS = 45.0  # that are waited for with `wait`; hosts give a call about a minute
_ELSEWHERE = (
    "Files of the user's own machine: contextfind add PATH there, or `contextfind mcp` as the MCP server. "
    "A text that you have: the tool write."
)


class AddArguments(Arguments):
    """What is to be added, and where it is to lie."""

    path: Annotated[
        str,
        Field(
            min_length=1,
            description="A file, a directory or a zip: of the user's machine where this MCP server runs "
            "there, else of the server's, where that allows it.",
        ),
    ]
    to: Annotated[
        str,
        Field(description="The address it gets; empty: viking://resources/ and its name."),
    ] = ""
    tags: Annotated[
        list[str], Field(description="key=value each, for every file.", max_length=20)
    ] = Field(default_factory=list)
    wait: Annotated[
        bool,
        Field(description="Answer when all of it can be found, or after 45 s at the latest."),
    ] = False


async def _add(desk: Desk, asked: AddArguments) -> Told:
    options: AddOptions = {}
    if asked.to:
        options["to"] = asked.to
    if asked.tags:
        options["tags"] = asked.tags
    try:
        added = await _begun(desk, asked.path, options)
    except OSError as error:
        return Told(f"{asked.path!r} cannot be read: {error.strerror or error}", wrong=True)
    except ClientError as error:
        if desk.local or error.code not in ("UNIMPLEMENTED", "PERMISSION_DENIED"):
            raise
        return Told(f"{failure_text(error)}\n{_ELSEWHERE}", wrong=True)
    return await _told(desk, added, wait=asked.wait)


async def _begun(desk: Desk, path: str, options: AddOptions) -> Added:
    if desk.local and "://" not in path:
        return await desk.client.add_resource(path, **options)
    body = {"path": path, **options}
    return await desk.client.perform(
        ask(Request("POST", f"{API}/resources", result(Added), body=body))
    )


async def _told(desk: Desk, added: Added, *, wait: bool) -> Told:
    data = {"root_uri": added.root_uri, "task_id": added.task_id}
    if wait and added.task_id:
        try:
            await desk.client.wait_task(added.task_id, _SECONDS)
        except ClientError as error:
            if error.code != "DEADLINE_EXCEEDED":
                raise
        else:
            return Told(f"Added at {added.root_uri}; all of it can be found.", data)
    return Told(
        f"Being added at {added.root_uri}, in the background; what is done can be found already.",
        data,
    )


ADD_RESOURCE = Tool(
    "add_resource",
    "Add files",
    "Add a file, a directory (documents, code) or a zip to what can be found, below viking://resources. "
    "Adding the same again takes in what changed. For a text that you wrote yourself take `write`.",
    AddArguments,
    _add,
    writes=True,
)
