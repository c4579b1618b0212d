"""Adding skills: texts, files, and zips with several of them."""

import io
import zipfile
from collections.abc import Mapping, Sequence

import pytest

from contextfind.adapters.memory.sources import MemorySource
from contextfind.domain.errors import (
    ContextFindError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from contextfind.domain.skills import SHARED_SKILLS, own_skills
from contextfind.domain.uri import Uri
from contextfind.ingestion import skill_parcels
from contextfind.ingestion.skill_parcels import packed, unpacked
from contextfind.ingestion.skills import SkillBatch, SkillWriter
from contextfind.ports import JobState
from tests.households import ANN, BEN, Household, household

OWN = own_skills("ann")
CSV = "---\nname: csv\ndescription: Make a CSV report.\n---\n# How\n\nLike this.\n"
PDF = "---\nname: pdf\ndescription: 从 PDF 提取表格\n---\n# 做法\n"


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def writer_of(home: Household) -> SkillWriter:
    return SkillWriter(home.writer._desk, home.writer, home.adding, home.uploads)


async def add(
    home: Household, files: Mapping[str, str | bytes], root: Uri = OWN, name: str = "my.zip"
) -> SkillBatch:
    """Upload a zip, add its skills and wait until all can be found."""
    upload = await home.uploads.put(ANN, name, zipped(files))
    batch = await writer_of(home).add_upload(ANN, root, upload)
    for one in batch.added:
        assert one.job is not None
        job = await home.jobs.finished(ANN, one.job.id, 10)
        assert job.state is JobState.COMPLETED, job.error
    await home.settled()
    return batch


async def files_below(home: Household, uri: Uri) -> Sequence[str]:
    listing = await home.browser.tree(ANN, uri, 9, 100)
    return [e.uri.text.removeprefix(uri.folder) for e in listing.entries if not e.is_directory]


async def test_a_text_is_there_when_the_call_returns_and_describes_its_directory() -> None:
    async with household() as home:
        batch = await writer_of(home).write(ANN, SHARED_SKILLS, "\n" + CSV)
        (one,) = batch.added
        assert (one.uri.text, one.others, one.job) == ("viking://agent/skills/csv", 0, None)
        assert await home.browser.read(BEN, one.uri.child("SKILL.md")) == CSV
        await home.settled()
        assert await home.browser.abstract(BEN, one.uri) == "csv: Make a CSV report."


async def test_parts_are_a_skill_too() -> None:
    async with household() as home:
        parts = {"name": "csv", "description": "Make a CSV report.", "content": "# How\n"}
        (one,) = (await writer_of(home).write(ANN, OWN, parts)).added
        assert one.uri.text == "viking://user/ann/skills/csv"
        text = await home.browser.read(ANN, one.uri.child("SKILL.md"))
        assert text == "---\nname: csv\ndescription: Make a CSV report.\n---\n\n# How\n"


async def test_a_text_replaces_the_skill_and_leaves_the_files_beside_it() -> None:
    async with household() as home:
        await add(home, {"csv/SKILL.md": CSV, "csv/more.md": "# More\n"})
        await writer_of(home).write(ANN, OWN, CSV.replace("Like this", "Like that"))
        assert await files_below(home, OWN) == ["csv/SKILL.md", "csv/more.md"]
        text = await home.browser.read(ANN, OWN.child("csv/SKILL.md"))
        assert "Like that" in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no front matter", "no front matter"),
        ("---\ndescription: x\n---\n", "no name"),
        ("---\nname: x\n---\n", "no description"),
        ("---\nname: a/b\ndescription: x\n---\n", "without '/'"),
    ],
)
async def test_a_text_that_is_no_skill_is_refused_and_nothing_is_written(
    text: str, says: str
) -> None:
    async with household() as home:
        with pytest.raises(InvalidArgumentError, match=says) as caught:
            await writer_of(home).write(ANN, OWN, text)
        assert caught.value.details["field"] == "data"
        with pytest.raises(NotFoundError):
            await home.browser.stat(ANN, OWN)


async def test_skills_are_written_nowhere_else() -> None:
    async with household() as home:
        writer = writer_of(home)
        with pytest.raises(PermissionDeniedError):
            await writer.write(ANN, own_skills("ben"), CSV)
        with pytest.raises(InvalidArgumentError, match="target_uri"):
            await writer.write(ANN, Uri("viking://resources"), CSV)
        upload = await home.uploads.put(ANN, "my.zip", zipped({"SKILL.md": CSV}))
        with pytest.raises(PermissionDeniedError):
            await writer.add_upload(ANN, own_skills("ben"), upload)
        with pytest.raises(NotFoundError):
            await writer.add_upload(BEN, own_skills("ben"), upload)


async def test_every_skill_of_a_zip_is_added_below_its_own_name() -> None:
    async with household() as home:
        batch = await add(
            home,
            {
                "bundle/one/SKILL.md": CSV,
                "bundle/one/scripts/run.py": "print('csv')\n",
                "bundle/.hidden/two/skill.md": PDF,
                "bundle/README.md": "# Bundle\n",
                "__MACOSX/bundle/one/SKILL.md": "junk",
            },
            SHARED_SKILLS,
        )
        assert [(one.uri.name, one.others) for one in batch.added] == [("pdf", 0), ("csv", 1)]
        assert batch.refused == []
        assert batch.outside == ["bundle/README.md"]
        assert await files_below(home, SHARED_SKILLS) == [
            "csv/SKILL.md",
            "csv/scripts/run.py",
            "pdf/SKILL.md",
        ]
        hits = await home.find("提取表格", BEN, limit=1)
        assert hits[0].uri.is_under(SHARED_SKILLS.child("pdf"))


async def test_a_bad_skill_of_a_zip_stops_no_other_and_is_reported() -> None:
    async with household() as home:
        batch = await add(
            home,
            {
                "a/SKILL.md": CSV,
                "b/SKILL.md": "---\nname: b\n---\n",
                "c/SKILL.md": CSV,
                "d/SKILL.md": b"\x00\x01\x02" * 33,
                "e/SKILL.md": "",
                "f/SKILL.md": PDF,
            },
        )
        assert [one.uri.name for one in batch.added] == ["csv", "pdf"]
        reasons = {one.path: one.reason for one in batch.refused}
        assert list(reasons) == ["b/SKILL.md", "c/SKILL.md", "d/SKILL.md", "e/SKILL.md"]
        assert "no description" in reasons["b/SKILL.md"]
        assert "another skill of the upload is named 'csv'" in reasons["c/SKILL.md"]
        assert "cannot be read" in reasons["d/SKILL.md"]
        assert "no front matter" in reasons["e/SKILL.md"]


async def test_a_zip_without_a_good_skill_is_refused_whole_and_kept() -> None:
    async with household() as home:
        bad = {f"{name}/SKILL.md": "# no\n" for name in "abcdefg"}
        upload = await home.uploads.put(ANN, "bad.zip", zipped(bad))
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match=r"a/SKILL.md: .* and 2 more") as caught:
                await writer_of(home).add_upload(ANN, OWN, upload)
            failed = caught.value.details["failed"]
            assert isinstance(failed, list)
            assert len(failed) == 7


async def test_a_good_upload_is_used_up() -> None:
    async with household() as home:
        upload = await home.uploads.put(ANN, "my.zip", zipped({"SKILL.md": CSV}))
        await writer_of(home).add_upload(ANN, OWN, upload)
        with pytest.raises(NotFoundError):
            await writer_of(home).add_upload(ANN, OWN, upload)


async def test_a_zip_replaces_the_skill_of_its_name_with_all_its_files() -> None:
    async with household() as home:
        await add(home, {"SKILL.md": CSV, "old.md": "# Old\n"}, name="first.zip")
        await home.writer.write(ANN, OWN.child("csv/mine.md"), "# Mine\n", "create")
        await add(home, {"csv/SKILL.md": CSV, "csv/new.md": "# New\n"}, name="second.zip")
        assert await files_below(home, OWN) == ["csv/SKILL.md", "csv/mine.md", "csv/new.md"]


async def test_skills_of_one_zip_leave_those_of_another_alone() -> None:
    async with household() as home:
        await add(home, {"a/SKILL.md": CSV}, name="skills.zip")
        await add(home, {"b/SKILL.md": PDF}, name="skills.zip")
        assert await files_below(home, OWN) == ["csv/SKILL.md", "pdf/SKILL.md"]


async def test_a_single_file_is_a_skill_whatever_it_is_called() -> None:
    async with household() as home:
        upload = await home.uploads.put(ANN, "csv report.md", b"\xef\xbb\xbf" + CSV.encode())
        (one,) = (await writer_of(home).add_upload(ANN, OWN, upload)).added
        assert (one.uri.name, one.job) == ("csv", None)
        assert await home.browser.read(ANN, OWN.child("csv/SKILL.md")) == CSV


async def test_judging_writes_nothing_and_keeps_the_upload() -> None:
    async with household() as home:
        writer = writer_of(home)
        upload = await home.uploads.put(ANN, "my.zip", zipped({"a/SKILL.md": CSV}))
        for _ in range(2):
            (parcel,) = await writer.inspect(ANN, upload)
            assert (parcel.folder, parcel.file, parcel.head.name) == ("a", "a/SKILL.md", "csv")
        assert (await writer.judge("# no\n")).errors
        assert (await writer.judge(CSV)).errors == ()
        with pytest.raises(NotFoundError):
            await home.browser.stat(ANN, OWN)


async def test_a_skill_below_a_skill_is_part_of_it() -> None:
    async with household() as home:
        source = MemorySource(
            {
                "a/SKILL.md": CSV.encode(),
                "a/b/SKILL.md": PDF.encode(),
                "a/node_modules/x/SKILL.md": b"",
                "ab/SKILL.md": PDF.encode(),
            }
        )
        found = (await unpacked(home.writer._desk, source)).parcels
        assert [one.folder for one in found] == ["a", "ab"]
        assert [entry.path for entry in found[0].others] == ["a/b/SKILL.md"]


async def test_an_upload_without_a_skill_or_with_too_many_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(skill_parcels, "_MOST_SKILLS", 1)
    async with household() as home:
        with pytest.raises(InvalidArgumentError, match=r"no SKILL\.md in 'docs'"):
            await unpacked(home.writer._desk, MemorySource({"README.md": b"x"}))
        two = MemorySource({"a/SKILL.md": b"", "b/SKILL.md": b""})
        with pytest.raises(InvalidArgumentError, match="holds 2 skills; expected at most 1"):
            await unpacked(home.writer._desk, two)


async def test_a_skill_that_is_too_large_is_reported_and_the_others_are_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(skill_parcels, "_MOST_BYTES", 10)
    monkeypatch.setattr(skill_parcels, "LONGEST", 100)
    async with household() as home:
        batch = await add(
            home,
            {
                "a/SKILL.md": CSV,
                "a/more.md": "x" * 11,
                "b/SKILL.md": PDF + "x" * 100,
                "c/SKILL.md": CSV.replace("csv", "tsv"),
            },
        )
        assert [one.uri.name for one in batch.added] == ["tsv"]
        assert [one.path for one in batch.refused] == ["a/SKILL.md", "b/SKILL.md"]
        assert "11 bytes" in batch.refused[0].reason
        assert "at most 100" in batch.refused[1].reason


async def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_packed() -> None:
    lost = InvalidArgumentError("damaged in the zip")
    files: dict[str, bytes | ContextFindError] = {
        "a/SKILL.md": CSV.encode(),
        "a/lost.md": lost,
        "a/there.md": b"# There\n",
    }
    source = MemorySource(files)
    async with household() as home:
        (parcel,) = (await unpacked(home.writer._desk, source)).parcels
        data, refused = await packed(home.writer._desk, source, parcel)
    assert [(one.path, one.reason) for one in refused] == [("a/lost.md", "damaged in the zip")]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["SKILL.md", "there.md"]
        assert archive.read("SKILL.md").decode() == CSV


async def test_the_same_skill_again_changes_nothing() -> None:
    async with household() as home:
        files = {"csv/SKILL.md": CSV, "csv/more.md": "# More\n"}
        await add(home, files)
        (one,) = (await add(home, files)).added
        assert one.job is not None
        result = (await home.jobs.get(ANN, one.job.id)).result or {}
        assert (result["unchanged"], result["updated"], result["removed"]) == (2, 0, 0)
