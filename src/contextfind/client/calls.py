"""The two clients, and the methods they share; what each does is said where it is described."""

from types import TracebackType
from typing import Self, TypeVar

import httpx

from contextfind.client import (
    adding,
    admin,
    assembling,
    browsing,
    conversing,
    matching,
    searching,
    skills,
    standing,
)
from contextfind.client.flow import Flow
from contextfind.client.method import Awaiting, Blocking, Method
from contextfind.client.performing import AwaitingPerformer, BlockingPerformer
from contextfind.client.retrying import RETRIES
from contextfind.client.surroundings import Surroundings
from contextfind.client.wire import DEFAULT_URL, TIMEOUT, Address

T = TypeVar("T")


class Calls:
    """Every call of the API, described once."""

    find = Method(searching.find)
    search = Method(searching.search)
    context = Method(assembling.context)
    grep = Method(matching.grep)
    glob = Method(matching.glob)

    add_resource = Method(adding.add_resource)
    upload = Method(adding.upload)
    add_upload = Method(adding.add_upload)
    write = Method(browsing.write)
    batch_write = Method(browsing.batch_write)
    mkdir = Method(browsing.mkdir)
    rm = Method(browsing.rm)
    mv = Method(browsing.mv)
    attrs = Method(browsing.attrs)
    set_tags = Method(browsing.set_tags)

    read = Method(browsing.read)
    download = Method(browsing.download)
    abstract = Method(browsing.abstract)
    overview = Method(browsing.overview)
    ls = Method(browsing.ls)
    tree = Method(browsing.tree)
    stat = Method(browsing.stat)

    create_session = Method(conversing.create_session)
    get_session = Method(conversing.get_session)
    list_sessions = Method(conversing.list_sessions)
    delete_session = Method(conversing.delete_session)
    add_message = Method(conversing.add_message)
    add_messages = Method(conversing.add_messages)
    session_context = Method(conversing.session_context)
    commit_session = Method(conversing.commit_session)
    session_archives = Method(conversing.session_archives)
    session_archive = Method(conversing.session_archive)

    add_skill = Method(skills.add_skill)
    list_skills = Method(skills.list_skills)
    get_skill = Method(skills.get_skill)
    delete_skill = Method(skills.delete_skill)
    find_skills = Method(skills.find_skills)

    health = Method(standing.health)
    ready = Method(standing.ready)
    status = Method(standing.status)
    observe = Method(standing.observe)
    memory_stats = Method(standing.memory_stats)
    consistency = Method(standing.consistency)
    task = Method(standing.task)
    tasks = Method(standing.tasks)
    cancel_task = Method(standing.cancel_task)
    wait = Method(standing.wait)
    wait_task = Method(standing.wait_task)

    accounts = Method(admin.accounts)
    add_account = Method(admin.add_account)
    users = Method(admin.users)
    add_user = Method(admin.add_user)
    remove_user = Method(admin.remove_user)
    set_role = Method(admin.set_role)
    renew_key = Method(admin.renew_key)
    keys = Method(admin.keys)
    add_key = Method(admin.add_key)
    rotate_key = Method(admin.rotate_key)
    revoke_key = Method(admin.revoke_key)


class Client(Calls, Blocking):
    """A connection to one server with one key; its methods return when it is done.

    It runs no event loop, so it works inside a running one too (where it blocks that loop), and
    several threads may share it. Every method raises ClientError and no other error of the network.
    Sockets are kept open between calls: use it as a context manager, or call `close`.

    timeout: seconds for one call, retries included. retries: further attempts of calls that may be
    sent twice, after a broken connection or 429, 502, 503, 504. transport, around: instead of the
    network, and of time and chance, for tests.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        *,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
        around: Surroundings | None = None,
    ) -> None:
        self._address = Address.checked(url, api_key, timeout, retries)
        self._performer = BlockingPerformer(self._address, around or Surroundings(), transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the sockets; closing twice is fine."""
        self._performer.close()

    @property
    def url(self) -> str:
        """Where the server is, as it was given."""
        return self._address.text

    def perform(self, flow: Flow[T]) -> T:
        """Return what a description of a call comes to."""
        return self._performer.perform(flow)


class AsyncClient(Calls, Awaiting):
    """The same as `Client`, with methods to be awaited."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        *,
        retries: int = RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
        around: Surroundings | None = None,
    ) -> None:
        self._address = Address.checked(url, api_key, timeout, retries)
        self._performer = AwaitingPerformer(self._address, around or Surroundings(), transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the sockets; closing twice is fine."""
        await self._performer.close()

    @property
    def url(self) -> str:
        """Where the server is, as it was given."""
        return self._address.text

    async def perform(self, flow: Flow[T]) -> T:
        """Return what a description of a call comes to."""
        return await self._performer.perform(flow)
