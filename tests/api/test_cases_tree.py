"""Small inputs that broke systems of this kind: what writing, adding, reading and removing make of them.

The number in a name is that of the case in docs/compatibility.md.
"""
# ruff: noqa: N802 - the numbers are written as there

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio
from pydantic import ValidationError

from contextfind.config.model import EmbeddingSettings, ServerSettings
from tests.api.caller import error_of, result_of
from tests.api.living import WRITE, Tenant, Town, living, packed, town
from tests.backends import lose_body
from tests.stubs.embedder import stub_embedder
from tests.unit.ingestion.test_parsing_office import pdf

pytestmark = pytest.mark.asyncio(loop_scope="module")

ODD_NAMES = [
    "发布流程（终稿）.md",
    "résumé v2.txt",
    "メモ#1.md",
    "a b+c&d.md",
    "🚀 launch.md",
    "[x] 50%.md",
]
numbers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("cases")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def ann(place) -> Tenant:
    """The only user of an account of its own: an empty tree."""
    return await place.tenant(f"tree{next(numbers)}")


async def below(tenant: Tenant, uri: str) -> list[str]:
    """Return the files below an address."""
    listed = await tenant.get("fs/ls", uri=uri, recursive="true")
    return [line["uri"] for line in result_of(listed) if not line["isDir"]]


async def test_R023_the_tilde_means_the_caller_everywhere(ann):
    await ann.write("viking://~/memories/a.md", "quokka")
    full = "viking://user/ann/memories"
    assert await ann.uris(query="quokka", target_uri="viking://~/memories", level=2) == [
        f"{full}/a.md"
    ]
    listed = result_of(await ann.get("fs/ls", uri="viking://~/memories"))
    assert [line["uri"] for line in listed] == [f"{full}/a.md"]
    read = await ann.get("content/read", uri="viking://~/memories/a.md")
    assert result_of(read) == "quokka"


@pytest.mark.parametrize(
    "uri",
    [
        "viking://temp/x",
        "http://x",
        "viking://resources/../user/bob",
        "viking://resources/%2e%2e/user",
        "viking://resources/a/%2E./b",
        "viking://resources/a//b",
        "viking://resources/a\x85b",
        "viking://resources/a\nb",
    ],
)
async def test_R026_what_is_no_address_is_refused_by_every_route(ann, uri):
    answers = [
        await ann.find(query="x", target_uri=uri),
        await ann.get("content/read", uri=uri),
        await ann.get("fs/ls", uri=uri),
        await ann.post(WRITE, {"uri": uri, "content": "x"}),
    ]
    for answer in answers:
        message = error_of(answer, 400, "INVALID_URI")["message"]
        assert len(message) < 200
        assert "{" not in message


async def test_R026_removing_what_is_not_there_is_no_error_and_a_directory_is_not_read(ann):
    assert (await ann.remove("viking://resources/none"))["estimated_deleted_count"] == 0
    await ann.write("viking://resources/d/a.md", "x")
    read = await ann.get("content/read", uri="viking://resources/d")
    assert "is a directory" in error_of(read, 400, "INVALID_ARGUMENT")["message"]


async def test_R052_what_was_removed_is_nowhere_any_more(ann):
    await ann.write("viking://resources/docs/plans/secret-plan.md", "the zirconium plan")
    await ann.write("viking://resources/docs/open.md", "the open plan")
    await ann.settled()
    assert await ann.uris(query="zirconium", level=2)
    await ann.remove("viking://resources/docs/plans")
    removed = "viking://resources/docs/plans"
    assert not [uri for uri in await ann.uris(query="zirconium") if uri.startswith(removed)]
    await ann.settled()
    answer = await ann.find(query="zirconium", read_content=True, limit=100)
    assert "zirconium" not in answer.text
    for uri in await ann.uris(query="zirconium", limit=100):
        result_of(await ann.get("fs/stat", uri=uri))


async def test_R055_a_hit_whose_body_cannot_be_read_stays_without_it(tmp_path):
    async with living(tmp_path) as http:
        me = Tenant(http)
        await me.fill({f"viking://resources/{n}.md": f"quince {n} " * 99 for n in "ab"})
        await asyncio.to_thread(lose_body, tmp_path, ("quince a " * 99).encode())
        asked = {"query": "quince", "level": 2}
        hits = await me.hits(**asked, read_content=True)
        contents = {hit["uri"][-4:]: hit.get("content", "")[:8] for hit in hits}
        assert contents == {"a.md": "", "b.md": "quince b"}
        assert ["content" in hit for hit in hits if hit["uri"].endswith("a.md")] == [False]
        assert len(await me.hits(**asked)) == 2


async def test_R080_what_is_left_out_is_left_out_with_and_without_git(ann):
    files = {"notes/a.md": "a", "att/x.bin.md": "x", "att/y.md": "y", "notes/z.bin.md": "z"}
    rules = {"ignore_dirs": "att", "exclude": "*.bin.md"}
    for name, more in (("plain", {}), ("git", {".git/config": "[core]", ".gitignore": ""})):
        to = f"viking://resources/{name}"
        await ann.upload("d.zip", packed({**files, **more}), to=to, **rules)
        assert [uri for uri in await below(ann, to) if ".gitignore" not in uri] == [
            f"{to}/notes/a.md"
        ]


async def test_R082_summaries_end_at_the_roots_of_the_scopes(ann, caplog):
    await ann.write("viking://resources/top.md", "quince")
    await ann.write("viking://~/top.md", "my quince")
    await ann.settled()
    assert await ann.uris(query="quince", level=2) == [
        "viking://resources/top.md",
        "viking://user/ann/top.md",
    ]
    refused = await ann.post(WRITE, {"uri": "viking://user/top.md", "content": "x"})
    error_of(refused, 403, "PERMISSION_DENIED")
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


# who asks


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5"])  # noqa: S104 - refused
async def test_R124_a_server_that_others_can_reach_needs_a_key(host):
    with pytest.raises(ValidationError, match=r"server\.api_key .*listen on 127\.0\.0\.1"):
        ServerSettings(host=host)
    assert ServerSettings(host=host, api_key="k").host == host
    assert ServerSettings(host="127.0.0.1").api_key == ""


async def test_R128_a_path_of_the_server_is_refused_and_an_upload_is_its_owners(place):
    alice, bob = await place.account("r128", ["alice", "bob"])
    refused = await alice.post("/api/v1/resources", {"path": "/etc/passwd"})
    assert "temp_upload" in error_of(refused, 403, "PERMISSION_DENIED")["message"]
    sent = await alice.http.post(
        "/api/v1/resources/temp_upload", files={"file": ("a.md", b"text")}, headers=dict(alice.key)
    )
    body = {"temp_file_id": result_of(sent)["temp_file_id"], "wait": True}
    error_of(await bob.post("/api/v1/resources", body), 404, "NOT_FOUND")
    assert result_of(await alice.post("/api/v1/resources", body))["status"] == "success"


# languages, encodings, names


async def test_R069_odd_characters_neither_stop_a_file_nor_hide_what_follows(ann):
    text = "start <|endoftext|> then \x00 and then quokkamark at the end"
    await ann.write("viking://resources/odd.md", text)
    (hit,) = await ann.hits(query="quokkamark", level=2, read_content=True)
    assert "quokkamark" in hit["content"]
    raw = b'{"uri":"viking://resources/half.md","content":"half \\ud800 of it","wait":true}'
    headers = {**ann.key, "content-type": "application/json"}
    sent = await ann.http.post(WRITE, content=raw, headers=headers)
    message = error_of(sent, 400, "INVALID_ARGUMENT")["message"]
    assert message.startswith("content is 'half \\ud800 of it'; expected whole characters")


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_R144_names_come_out_as_they_went_in_and_work_when_sent_back(ann, name):
    uri = f"viking://resources/名前 & more/{name}"
    await ann.write(uri, f"quokka in {name}")
    await ann.settled()
    assert await below(ann, "viking://resources") == [uri]
    assert await ann.uris(query="quokka", level=2) == [uri]
    assert await ann.uris(query="quokka", level=2, target_uri=uri) == [uri]
    for hit in await ann.hits(query="quokka", limit=100):
        assert await ann.uris(query="quokka", target_uri=hit["uri"])
        result_of(await ann.get("content/read", uri=hit["uri"]))
    await ann.remove(uri)
    assert await ann.uris(query="quokka", level=2) == []


async def test_R144_two_spellings_of_one_name_are_one_address(ann):
    await ann.write("viking://resources/re\u0301sume\u0301.md", "quokka")
    assert await ann.uris(query="quokka", level=2) == ["viking://resources/r\u00e9sum\u00e9.md"]


async def test_R145_names_and_texts_in_chinese_encodings_are_read(ann):
    text = "# 发布流程\n\n先停止流量, 再执行回滚步骤, 最后通知值班人员检查监控面板。\n"
    files = {
        "AAAA/BBBB.md": text.encode("gb18030"),
        "bom.md": text.replace("流程", "手册").encode("utf-8-sig"),
        "wide.md": text.replace("流程", "计划").encode("utf-16"),
    }
    name = "发布/流程.md".encode("gb18030")  # zipfile itself writes UTF-8 only
    archive = packed(files).replace(b"AAAA/BBBB.md", name)
    await ann.upload("中文.zip", archive, to="viking://resources/zh")
    gbk, bom, wide = (
        f"viking://resources/zh/{name}" for name in ("发布/流程.md", "bom.md", "wide.md")
    )
    assert sorted(await below(ann, "viking://resources/zh")) == sorted([bom, gbk, wide])
    assert set(await ann.uris(query="回滚步骤", level=2)) == {gbk, bom, wide}
    for query, uri in (("发布流程", gbk), ("发布手册", bom), ("发布计划", wide)):
        hits = await ann.hits(query=query, level=2, read_content=True)
        assert hits[0]["uri"] == uri
        assert hits[0]["content"].startswith("# 发布")


async def test_R146_a_chinese_pdf_is_found_like_its_markdown(ann):
    pages = ("发布前先检查容量", "回滚步骤：先停止流量再恢复数据库")
    files = {"手册.pdf": pdf(*pages), "手册.md": "\n\n".join(("手册", *pages))}
    more = {f"other{n}.md": f"别的内容第{n}号" for n in range(5)}
    await ann.upload("d.zip", packed({**files, **more}), to="viking://resources/pdf")
    top = await ann.uris(query="回滚步骤", level=2, limit=3)
    assert {"viking://resources/pdf/手册.pdf", "viking://resources/pdf/手册.md"} <= set(top)


async def test_R095_the_same_file_added_twice_at_once_is_one_resource(ann):
    files = {"notes.md": "The heron stands still."}
    root = "viking://resources/notes"
    await asyncio.gather(*(ann.upload("d.zip", packed(files), to=root) for _ in range(2)))
    assert await below(ann, "viking://resources") == [f"{root}/notes.md"]
    assert await ann.uris(query="heron", level=2) == [f"{root}/notes.md"]


async def test_R147_the_summary_of_a_chinese_folder_is_chinese(ann):
    text = "# 发布流程\n\n先灰度发布, 再全量发布, 失败时执行回滚步骤。\n"
    await ann.write("viking://resources/中文资料/发布流程.md", text)
    await ann.settled()
    for level in ("abstract", "overview"):
        shown = result_of(await ann.get(f"content/{level}", uri="viking://resources/中文资料"))
        assert "发布流程" in shown
        assert "file" not in shown


async def test_R149_the_embedder_is_sent_real_characters(tmp_path):
    with stub_embedder() as stub:
        remote = EmbeddingSettings(provider="openai", model="m", api_base=stub.base_url)
        async with living(tmp_path, embedding=remote) as http:
            me = Tenant(http)
            await me.upload(
                "d.json",
                '{"标题":"\\u56de\\u6eda\\u6b65\\u9aa4"}'.encode(),
                to="viking://resources/d.json",
            )
            assert "viking://resources/d.json" in await me.uris(query="回滚步骤", level=2)
        sent = [text for request in stub.requests for text in request.texts]
    assert any("回滚步骤" in text and "标题" in text for text in sent)
    assert not any("\\u" in text for text in sent)
