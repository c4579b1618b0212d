"""From one deployment to a file to another deployment: the same, whatever holds it."""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from contextfind.domain.errors import ConflictError, InvalidArgumentError, NotFoundError
from contextfind.domain.records import Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import digest_of, draft_file, placeholders
from contextfind.ingestion.passages import PassageRules
from contextfind.ports import Commit, RecordCopy
from contextfind.ports.store import Change
from contextfind.transfer import exporting, writer
from contextfind.transfer.entries import Entry, Header, Member, Tenant, copy_of
from contextfind.transfer.exporting import Choice
from contextfind.transfer.reader import ExportReader
from contextfind.transfer.writer import ExportWriter
from tests.builders import NOON, make_record, unit
from tests.strategies import last_changes, logs
from tests.unit.transfer.vaults import (
    EVERYTHING,
    Vault,
    disk_vault,
    memory_vault,
    record_lines,
)

RULES = PassageRules()


@pytest.fixture(params=["memory", "disk"])
async def vault(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Vault]:
    if request.param == "memory":
        yield memory_vault()
        return
    async with disk_vault(tmp_path) as made:
        yield made


async def put(
    vault: Vault, path: str, data: bytes = b"# Tea\n\nBrew it.\n", account: str = "acme"
) -> None:
    """Write a file with its directories, as a request would."""
    uri = Uri.parse(f"viking://{path}")
    drafted = draft_file(uri, data, ("lang=en",), RULES)
    await vault.blobs.put(drafted.blobs)
    above = uri.ancestors()
    ensure = tuple(draft for folder in above for draft in placeholders(folder))
    await vault.store.commit(
        Commit(account, NOON, put=drafted.drafts, ensure=ensure, stale=above[:1])
    )


async def embed(vault: Vault) -> None:
    """Give every text a vector."""
    texts = await vault.store.pending(999)
    await vault.store.add_vectors([(text.digest, unit(len(text.text))) for text in texts])


async def filled(vault: Vault) -> Vault:
    """Return the vault with two accounts, three trees and a removed user."""
    await vault.identities.add_account("acme", "ann", NOON)
    await vault.identities.add_user("acme", "ben", "user", NOON)
    await vault.identities.add_user("acme", "cid", "user", NOON)
    await vault.identities.remove_user("acme", "cid", NOON)
    await vault.identities.add_account("bolt", "dan", NOON)
    for path in ("resources/docs/a.md", "resources/docs/b.md", "user/ben/memories/c.md"):
        await put(vault, path, f"# {path}\n\nAbout it.".encode())
    await put(vault, "user/cid/memories/d.md")
    await put(vault, "agent/notes/e.md", account="bolt")
    await put(vault, "resources/page.html", b"<h1>Page</h1><p>Converted to Markdown.</p>")
    await embed(vault)
    await vault.store.touch([1, 1])  # type: ignore[list-item]
    return vault


async def test_a_deployment_comes_out_as_it_went_in(vault: Vault) -> None:
    data = await (await filled(memory_vault())).exported()
    brought = await vault.takes(data)
    assert await vault.exported() == data
    assert brought.written == brought.totals.records == len(record_lines(data))
    assert await vault.store.pending(9) == []
    assert [account.id for account in await vault.identities.accounts()] == ["acme", "bolt"]
    assert [(user.id, user.role) for user in await vault.identities.users("acme")] == [
        ("ann", "admin"),
        ("ben", "user"),
    ]


async def test_a_long_deployment_crosses_pages_and_blocks(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "PAGE", 3)
    monkeypatch.setattr(writer, "BLOCK_RECORDS", 4)
    data = await (await filled(memory_vault())).exported()
    await vault.takes(data)
    assert await vault.exported() == data


async def test_bringing_it_again_changes_nothing(vault: Vault) -> None:
    data = await (await filled(memory_vault())).exported()
    await vault.takes(data)
    before = await vault.store.position()
    assert (await vault.takes(data)).written == 0
    assert await vault.store.position() == before


async def test_the_name_of_a_removed_user_stays_taken(vault: Vault) -> None:
    await vault.takes(await (await filled(memory_vault())).exported())
    with pytest.raises(Exception, match="was removed and its tree is kept"):
        await vault.identities.add_user("acme", "cid", "user", NOON)


async def test_who_is_there_keeps_role_and_who_was_removed_stays_away(vault: Vault) -> None:
    await vault.identities.add_account("acme", "eve", NOON)
    await vault.identities.add_user("acme", "ann", "user", NOON)
    await vault.identities.add_user("acme", "ben", "user", NOON)
    await vault.identities.remove_user("acme", "ben", NOON)
    await vault.takes(await (await filled(memory_vault())).exported())
    assert [(user.id, user.role) for user in await vault.identities.users("acme")] == [
        ("ann", "user"),
        ("eve", "admin"),
    ]


@pytest.mark.parametrize(
    ("users", "left"),
    [([], []), ([Member("zed", "user", NOON)], [("zed", "user")])],
)
async def test_an_account_without_admins_stays_without(
    vault: Vault, users: list[Member], left: list[tuple[str, str]]
) -> None:
    stream = io.BytesIO()
    with ExportWriter(stream, Header(NOON)) as out:
        out.tenant(Tenant("acme", NOON, users))
    await vault.takes(stream.getvalue())
    assert [(user.id, user.role) for user in await vault.identities.users("acme")] == left


async def test_one_account_can_be_written_alone(vault: Vault) -> None:
    data = await (await filled(vault)).exported(replace(EVERYTHING, account="bolt"))
    assert record_lines(data)
    assert all(b'"account":"bolt"' in line for line in record_lines(data))
    assert data.count(b'{"account":{') == 1
    assert ExportReader(io.BytesIO(data)).header.account == "bolt"


async def test_an_account_that_is_not_there_is_named(vault: Vault) -> None:
    with pytest.raises(NotFoundError, match="there is no account 'nobody'"):
        await vault.exported(Choice("nobody"))


async def test_without_vectors_the_embedder_has_to_be_asked_again(vault: Vault) -> None:
    data = await (await filled(memory_vault())).exported(replace(EVERYTHING, vectors=False))
    assert b'"vector"' not in data
    assert ExportReader(io.BytesIO(data)).header.dimension == 0
    await vault.takes(data)
    assert len(await vault.store.pending(99)) > 0
    await embed(vault)
    assert record_lines(await vault.exported()) == record_lines(
        await (await filled(memory_vault())).exported()
    )


async def test_vectors_of_another_embedder_are_left_behind(vault: Vault) -> None:
    await vault.takes(await (await filled(memory_vault())).exported(), "hash:words:8:r2")
    assert (await vault.store.counts())["vectors"] == 0


async def test_what_is_elsewhere_stays_and_at_the_same_place_the_file_wins(vault: Vault) -> None:
    await put(vault, "resources/docs/a.md", b"other")
    await put(vault, "resources/docs/own.md", b"own")
    data = await (await filled(memory_vault())).exported()
    await vault.takes(data)
    kept = {line for line in record_lines(await vault.exported()) if b"own.md" not in line}
    assert set(record_lines(data)) <= kept
    assert b"own.md" in await vault.exported()


async def test_directories_that_the_file_leaves_out_are_made_and_summarised(vault: Vault) -> None:
    draft = draft_file(Uri.parse("viking://resources/a/b/c.md"), b"tea", None, RULES)
    stream = io.BytesIO()
    with ExportWriter(stream, Header(NOON)) as out:
        out.entry(Entry(copy_of("acme", draft.drafts[0], NOON), draft.blobs[0]))
    brought = await vault.takes(stream.getvalue())
    stale = [place.uri.text for place in await vault.store.stale(9)]
    assert stale == ["viking://resources/a/b", "viking://resources/a", "viking://resources"]
    assert (brought.totals.records, brought.written) == (1, 7)


async def test_a_damaged_file_leaves_whole_blocks(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BLOCK_RECORDS", 4)
    data = await (await filled(memory_vault())).exported()
    lines = data.splitlines(keepends=True)
    number = max(n for n, line in enumerate(lines) if line.startswith(b'{"record"'))
    lines[number] = lines[number].replace(b"about", b"abuot").replace(b"lang", b"lagn")
    with pytest.raises(InvalidArgumentError, match="are damaged"):
        await vault.takes(b"".join(lines))
    whole = record_lines(data)
    assert record_lines(await vault.exported()) == whole[: len(whole) // 4 * 4]
    await vault.takes(data)
    assert await vault.exported() == data


async def test_a_file_in_the_way_of_a_directory_stops_the_import(vault: Vault) -> None:
    await put(vault, "resources/docs", b"a file")
    with pytest.raises(ConflictError, match="viking://resources/docs"):
        await vault.takes(await (await filled(memory_vault())).exported())


async def test_a_lost_body_is_named(vault: Vault) -> None:
    copy = RecordCopy(make_record(content="ab" * 32), (), ())
    await vault.store.restore([copy])
    with pytest.raises(NotFoundError, match=r"the body of 'viking://resources/a\.md'"):
        await vault.exported()


async def test_an_original_must_be_what_its_record_says(vault: Vault) -> None:
    copy = RecordCopy(replace(make_record(), source=digest_of(b"one")), (), ())
    stream = io.BytesIO()
    with ExportWriter(stream, Header(NOON)) as out:
        out.entry(Entry(copy, None, b"two"))
    with pytest.raises(InvalidArgumentError, match="the original of"):
        await vault.takes(stream.getvalue())


def _copies(log: Sequence[Change]) -> list[RecordCopy]:
    """Return copies of what a random log leaves, but nothing below or at the address of a file."""
    found = {
        (change.record.account, change.record.uri, change.record.level): RecordCopy(
            change.record,
            change.passages,
            [None] * len(change.passages) if change.vectors is None else list(change.vectors),
        )
        for change in last_changes(log).values()
        if change.record is not None
    }
    files = {(account, uri) for account, uri, level in found if level is Level.DETAIL}
    return [
        copy
        for (account, uri, level), copy in found.items()
        if not any((account, above) in files for above in _above(uri))
        and (level is Level.DETAIL or (account, uri) not in files)
    ]


def _above(uri: Uri) -> list[Uri]:
    found = []
    while uri.parent is not None:
        uri = uri.parent
        found.append(uri)
    return found


@settings(max_examples=25, deadline=None)
@given(logs(60))
def test_random_trees_survive_the_way_through_a_file(log: Sequence[Change]) -> None:
    async def check() -> None:
        first, second = memory_vault(), memory_vault()
        await first.store.restore(_copies(log))
        data = await first.exported()
        with tempfile.TemporaryDirectory() as directory:
            async with disk_vault(Path(directory)) as disk:
                await disk.takes(data)
                there = await disk.exported()
        await second.takes(there)
        told = set(record_lines(data))
        assert told <= set(record_lines(there))  # and the directories that the log left out
        assert record_lines(await second.exported()) == record_lines(there)

    asyncio.run(check())
