"""`remember`: a memory of one's own, written down at once."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from contextfind.client import AlreadyExistsError
from contextfind.sessions.memory_files import FOLDERS, Memory, MemoryKind, as_file, folded, slug
from contextfind.toolbox.storing import SECONDS, stored
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool, shortened

_TITLE = 80  # characters of a title that is made of the text
_NAME = (
    100  # characters of a file's name: bytes are three times as many in Chinese, and 255 the most
)
_MOST = 100  # messages the server takes in one request


class Message(BaseModel):
    """Something that was said."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]


class RememberArguments(Arguments):
    """What is to be remembered: a text, or a piece of a conversation."""

    text: Annotated[
        str,
        Field(description="The fact, wish or lesson, in sentences that stand for themselves."),
    ] = ""
    kind: Annotated[
        MemoryKind,
        Field(
            description="preference: how the user likes things. fact: what is so. event: what happens on "
            "a day. case: a problem and what solved it."
        ),
    ] = MemoryKind.FACT
    title: Annotated[
        str, Field(description="A few words; the same kind and title is the same memory.")
    ] = ""
    messages: Annotated[
        list[Message],
        Field(
            description="Instead of text, where the server has a language model that finds what is worth "
            "remembering in it: messages of the conversation.",
            max_length=_MOST,
        ),
    ] = Field(default_factory=list)


async def _remember(desk: Desk, asked: RememberArguments) -> Told:
    if bool(asked.text.strip()) == bool(asked.messages):
        return Told("expected exactly one of text and messages", wrong=True)
    if asked.messages:
        return await _archived(desk, asked.messages)
    memory = _memory_of(desk, asked)
    name = slug(memory.title)[:_NAME].strip("-")
    if not name:
        return Told("title needs letters or digits: it becomes the memory's name", wrong=True)
    if asked.kind is MemoryKind.EVENT:
        name = f"{desk.today().isoformat()}-{name}"
    uri = f"viking://~/memories/{FOLDERS[asked.kind]}/{name}.md"
    return await _kept(desk, uri, memory)


async def _kept(desk: Desk, uri: str, memory: Memory) -> Told:
    """Write a memory down; what an older one of the same name says stays, above it."""
    data = {"uri": uri}
    new = desk.client.write(uri, as_file(memory), "create", timeout=SECONDS)
    try:
        return Told(f"Remembered at {uri}. {await stored(new)}", data)
    except AlreadyExistsError:
        known = await desk.client.read(uri)
    if folded(memory.text) in folded(known):
        return Told(f"That is remembered already, at {uri}.", data)
    more = f"\n{memory.day}\n\n{memory.text}\n"
    found = await stored(desk.client.write(uri, more, "append", timeout=SECONDS))
    told = f"Added to the memory at {uri}; edit it if something in it is no longer so. {found}"
    return Told(told, data)


def _memory_of(desk: Desk, asked: RememberArguments) -> Memory:
    text = asked.text.strip()
    title = shortened(asked.title, _TITLE) or shortened(text.split("\n")[0], _TITLE)
    return Memory(asked.kind, title, text, desk.today())


async def _archived(desk: Desk, messages: list[Message]) -> Told:
    session = await desk.client.create_session()
    said: list[dict[str, Any]] = [message.model_dump() for message in messages]
    await desk.client.add_messages(session.session_id, said)
    committed = await desk.client.commit_session(session.session_id, 0)
    data = {"session_id": session.session_id, "task_id": committed.task_id}
    return Told(
        f"Archived in session {session.session_id} ({len(messages)} message(s)). A language model of the server "
        "makes memories of it in the background; without one, only what is remembered as text is found later.",
        data,
    )


REMEMBER = Tool(
    "remember",
    "Remember",
    "Keep something about the user, or a lesson, for later conversations: wishes, facts, dates, "
    "decisions, problems and what solved them. Take it when the user says 'remember this', or says "
    "something that matters next time. Look with `find` first, so that nothing is kept twice.",
    RememberArguments,
    _remember,
    writes=True,
    again=False,
)
