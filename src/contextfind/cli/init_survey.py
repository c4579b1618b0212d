"""What `init` finds on this machine: models of Ollama, and names of keys in the environment.

A key itself is never read further than to see that there is one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

OLLAMA_PORT = 11_434
PATIENCE = 2.0  # seconds; what runs on this machine answers a list of names in milliseconds

_FAMILIES = frozenset({"bert", "nomic-bert", "nomic-bert-moe"})  # what Ollama calls encoders
_ENCODERS = re.compile(r"embed|(^|[/-])(bge|e5|gte|minilm|all-minilm|paraphrase)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked: for what, where, and which variable of the environment has the key.

    kind: `embedding`, `vlm` or `rerank`, the section of ov.conf that takes it.
    label: how the person chooses it, `ollama/bge-m3`.
    here: it runs where nothing that is sent to it leaves this machine.
    extra: further keys of its section.
    """

    kind: str
    label: str
    model: str
    api_base: str = ""
    key_name: str = ""
    provider: str = "openai"
    here: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provider:
    """Whose key an environment may hold, and which of its models are offered then."""

    key_name: str
    label: str
    api_base: str
    embedding: str = ""
    vlm: str = ""
    rerank: str = ""
    embedding_extra: Mapping[str, object] = field(default_factory=dict)

    def models(self, api_base: str) -> list[Model]:
        """Return what can be chosen."""
        named = {"embedding": self.embedding, "vlm": self.vlm}
        found = [
            Model(
                kind,
                f"{self.label}/{model}",
                model,
                api_base,
                self.key_name,
                extra=self.embedding_extra if kind == "embedding" else {},
            )
            for kind, model in named.items()
            if model
        ]
        if self.rerank:
            label = f"{self.label}/{self.rerank}"
            found.append(Model("rerank", label, self.rerank, "", self.key_name, self.label))
        return found


PROVIDERS: Sequence[Provider] = (
    Provider(
        "OPENAI_API_KEY",
        "openai",
        "https://api.openai.com/v1",
        "text-embedding-3-small",
        "gpt-4o-mini",
    ),
    Provider(
        "DASHSCOPE_API_KEY",
        "dashscope",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "text-embedding-v4",
        "qwen-plus",
        embedding_extra={"batch_size": 10},  # more texts in one request are refused there
    ),
    Provider(
        "JINA_API_KEY",
        "jina",
        "https://api.jina.ai/v1",
        "jina-embeddings-v3",
        rerank="jina-reranker-v2-base-multilingual",
    ),
    Provider("COHERE_API_KEY", "cohere", "", rerank="rerank-v3.5"),
    Provider("DEEPSEEK_API_KEY", "deepseek", "https://api.deepseek.com/v1", vlm="deepseek-chat"),
    Provider(
        "MISTRAL_API_KEY",
        "mistral",
        "https://api.mistral.ai/v1",
        "mistral-embed",
        "mistral-small-latest",
    ),
)


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found: where Ollama answers ("" nowhere), names of keys, models in the order of the offer."""

    ollama: str
    key_names: tuple[str, ...]
    models: tuple[Model, ...]

    def of(self, kind: str) -> list[Model]:
        """Return the models of one kind, those of this machine first."""
        return [model for model in self.models if model.kind == kind]


def survey(environ: Mapping[str, str]) -> Survey:
    """Look at Ollama's port and at the environment; takes two seconds at most."""
    address = ollama_address(environ)
    local = ollama_models(address)
    kept = [provider for provider in PROVIDERS if environ.get(provider.key_name, "").strip()]
    remote = [model for provider in kept for model in provider.models(_base_of(provider, environ))]
    names = tuple(provider.key_name for provider in kept)
    return Survey(address if local is not None else "", names, (*(local or ()), *remote))


def ollama_address(environ: Mapping[str, str]) -> str:
    """Return where Ollama listens, as OLLAMA_HOST says or as it does by itself."""
    told = environ.get("OLLAMA_HOST", "").strip() or "127.0.0.1"
    parts = urlsplit(told if "://" in told else f"http://{told}")
    try:
        port = parts.port or OLLAMA_PORT
    except ValueError:  # no number
        port = OLLAMA_PORT
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104 - where it listens, not we
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def ollama_models(address: str) -> list[Model] | None:
    """Return the models that an Ollama has, None where none answers as one does."""
    try:
        answer = httpx.get(f"{address}/api/tags", timeout=PATIENCE, trust_env=False)
        told = answer.raise_for_status().json()["models"]
        return [_ollama_model(one, address) for one in told]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ollama_model(told: Mapping[str, Any], address: str) -> Model:
    name = str(told["name"])
    family = str((told.get("details") or {}).get("family", ""))
    encoder = family in _FAMILIES or _ENCODERS.search(name) is not None
    label = f"ollama/{name.removesuffix(':latest')}"
    here = urlsplit(address).hostname in ("127.0.0.1", "localhost", "::1")
    return Model("embedding" if encoder else "vlm", label, name, f"{address}/v1", here=here)


def _base_of(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the address of a provider; that of OpenAI's own clients has a variable of its own."""
    if provider.key_name != "OPENAI_API_KEY":
        return provider.api_base
    told = environ.get("OPENAI_BASE_URL", "").strip()
    return told if told.startswith(("http://", "https://")) else provider.api_base
