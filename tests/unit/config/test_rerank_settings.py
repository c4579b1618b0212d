from collections.abc import Mapping
from contextlib import AsyncExitStack

import pytest

from contextfind.adapters.remote.rerank import HttpReranker
from contextfind.config.load import load_settings
from contextfind.config.rerank import RerankSettings
from contextfind.domain.errors import ConfigError
from contextfind.wiring.models import Switchboard, open_reranker

HERE = "http://127.0.0.1:9/v1"


def settings(keys: Mapping[str, object]) -> RerankSettings:
    overrides = {f"rerank.{key}": value for key, value in keys.items()}
    return load_settings(None, {"CONTEXTFIND_CONFIG": ""}, overrides).settings.rerank


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Cohere", "cohere"),
        ("jina", "jina"),
        ("dashscope", "dashscope"),
        ("tei", "tei"),
        ("vllm", "openai"),
        ("litellm", "openai"),
        ("openai", "openai"),
        ("volcengine", "volcengine"),
        ("vikingdb", "volcengine"),
        ("VOLC", "volcengine"),
    ],
)
async def test_every_spelling_of_a_provider_opens(said: str, meant: str) -> None:
    asked = settings({"provider": said, "model": "m", "api_base": HERE, "ak": "a", "sk": "s"})
    assert asked.provider == meant
    async with AsyncExitStack() as stack:
        assert isinstance(open_reranker(asked, Switchboard(stack)), HttpReranker)


@pytest.mark.parametrize("keys", [{}, {"provider": "cohere"}, {"provider": "tei"}])
async def test_without_a_model_none_is_asked(keys: Mapping[str, object]) -> None:
    async with AsyncExitStack() as stack:
        assert open_reranker(settings(keys), Switchboard(stack)) is None


async def test_tei_needs_an_address_only() -> None:
    async with AsyncExitStack() as stack:
        asked = settings({"provider": "tei", "api_base": HERE})
        assert isinstance(open_reranker(asked, Switchboard(stack)), HttpReranker)


def test_access_and_secret_key_alone_mean_volcengine() -> None:
    assert settings({"model": "m", "ak": "a", "sk": "s"}).provider == "volcengine"
    assert settings({"provider": "jina", "model": "m", "ak": "a", "sk": "s"}).provider == "jina"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"provider": "voyage", "model": "m"}, "expected `cohere` or `jina`"),
        ({"model": "m"}, "rerank.provider is missing; expected cohere"),
        ({"api_base": HERE}, "rerank.provider is missing"),
        ({"provider": "vllm", "model": "m"}, "rerank.api_base is missing"),
        ({"provider": "volcengine", "model": "m", "ak": "a"}, "rerank.ak and rerank.sk"),
        ({"provider": "cohere", "model": "m", "api_base": "host:80"}, "http(s) address"),
    ],
)
def test_what_does_not_fit_is_told(keys: Mapping[str, object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(keys)
    assert told in str(caught.value)
