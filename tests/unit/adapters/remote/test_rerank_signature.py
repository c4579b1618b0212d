"""The signature of Volcengine, computed here once more, step by step."""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta, timezone

import pytest

from contextfind.adapters.remote.volcengine import VolcengineSigner
from contextfind.domain.errors import ConfigError

HOST = "api-knowledgebase.mlp.cn-beijing.volces.com"
PATH = "/api/knowledge/service/rerank"
BODY = b'{"rerank_model":"m3-v2-rerank","datas":[{"query":"q","content":"c"}]}'
NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
SIGNED = "content-type;host;x-content-sha256;x-date"


def signer(now: datetime = NOON) -> VolcengineSigner:
    return VolcengineSigner("AKLTexample", "c2VjcmV0", clock=lambda: now)


def keyed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def test_the_signature_is_the_documented_chain() -> None:
    digest = hashlib.sha256(BODY).hexdigest()
    canonical = (
        "POST\n"
        "/api/knowledge/service/rerank\n"
        "\n"
        "content-type:application/json\n"
        "host:api-knowledgebase.mlp.cn-beijing.volces.com\n"
        f"x-content-sha256:{digest}\n"
        "x-date:20261130T120000Z\n"
        "\n"
        f"{SIGNED}\n"
        f"{digest}"
    )
    to_sign = (
        "HMAC-SHA256\n"
        "20261130T120000Z\n"
        "20261130/cn-north-1/air/request\n" + hashlib.sha256(canonical.encode()).hexdigest()
    )
    by_day = keyed(b"c2VjcmV0", "20261130")
    by_region = keyed(by_day, "cn-north-1")
    by_service = keyed(by_region, "air")
    key = keyed(by_service, "request")
    signature = keyed(key, to_sign).hex()
    assert signer().headers(HOST, PATH, BODY) == {
        "Content-Type": "application/json",
        "X-Date": "20261130T120000Z",
        "X-Content-Sha256": digest,
        "Authorization": "HMAC-SHA256 Credential=AKLTexample/20261130/cn-north-1/air/request, "
        f"SignedHeaders={SIGNED}, Signature={signature}",
    }


def test_any_change_of_the_request_changes_the_signature() -> None:
    def signature(host: str = HOST, path: str = PATH, body: bytes = BODY) -> str:
        return signer().headers(host, path, body)["Authorization"].rpartition("=")[2]

    others = {
        signature(host="example.com"),
        signature(path="/x"),
        signature(body=b"{}"),
        signer(NOON + timedelta(seconds=1))
        .headers(HOST, PATH, BODY)["Authorization"]
        .rpartition("=")[2],
    }
    assert len(others) == 4
    assert signature() not in others


def test_the_usual_port_is_not_signed_and_the_time_is_utc() -> None:
    plain = signer().headers(HOST, PATH, BODY)
    assert signer().headers(f"{HOST}:443", PATH, BODY) == plain
    assert signer().headers(f"{HOST}:8443", PATH, BODY) != plain
    in_beijing = NOON.astimezone(timezone(timedelta(hours=8)))
    assert signer(in_beijing).headers(HOST, PATH, BODY) == plain


@pytest.mark.parametrize("key", ["", "a\nb", "schlüssel"])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=r"rerank\.sk") as caught:
        VolcengineSigner("AK", key)
    assert not key or key not in str(caught.value)
