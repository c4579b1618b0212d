"""How each provider of rerankers is asked, and where its answer says what.

`post path -> answer` in short, as their documentation has it:

* cohere      rerank {model, query, documents, top_n} -> {results: [{index, relevance_score}]};
              Jina, vLLM, LiteLLM and many others speak it too
* tei         rerank {query, texts, raw_scores, truncate} -> [{index, score}]
* dashscope   services/rerank/text-rerank/text-rerank {model, input: {query, documents},
              parameters: {top_n, return_documents}} -> {output: {results: [{index, relevance_score}]}}
              and, for qwen3-rerank, reranks in Cohere's form
* volcengine  api/knowledge/service/rerank {rerank_model, datas: [{query, content}]}
              -> {code, message, data: {scores: [...]}}, in the order of datas
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Judgement = tuple[object, object]


class UnreadableError(ValueError):
    """The answer is none of this dialect; the text says what it is instead."""


class Dialect(Protocol):
    """Texts to the body of a request, and its answer to judgements.

    path: below the address of the endpoint. address: the provider's own, "" where there is none.
    """

    @property
    def path(self) -> str: ...  # noqa: D102 - described above
    @property
    def address(self) -> str: ...  # noqa: D102

    def body(self, model: str, query: str, texts: Sequence[str]) -> Mapping[str, object]:
        """Return what is posted; a score for every text is asked for."""
        ...

    def judgements(self, answer: object, count: int) -> Sequence[Judgement]:
        """Return (index, score) as the provider says them, unchecked.

        count: of the texts that were asked about.

        Raises:
            UnreadableError: the answer holds no such thing.

        """
        ...


@dataclass(frozen=True, slots=True)
class Cohere:
    """Cohere's form, which most speak."""

    address: str = ""
    path: str = "rerank"

    def body(self, model: str, query: str, texts: Sequence[str]) -> Mapping[str, object]:
        """Return model, query, documents and how many scores are wanted: all."""
        return {"model": model, "query": query, "documents": list(texts), "top_n": len(texts)}

    def judgements(self, answer: object, count: int) -> Sequence[Judgement]:  # noqa: ARG002
        """Return what `results` say."""
        return _indexed(_at(answer, "results"))


@dataclass(frozen=True, slots=True)
class Tei:
    """Text Embeddings Inference; it serves one model, so none is named."""

    address: str = ""
    path: str = "rerank"

    def body(self, model: str, query: str, texts: Sequence[str]) -> Mapping[str, object]:  # noqa: ARG002
        """Return query and texts; longer ones than the model takes are cut there."""
        return {"query": query, "texts": list(texts), "raw_scores": False, "truncate": True}

    def judgements(self, answer: object, count: int) -> Sequence[Judgement]:  # noqa: ARG002
        """Return what the list says."""
        return _indexed(answer)


@dataclass(frozen=True, slots=True)
class DashScope:
    """Alibaba's own form."""

    address: str = "https://dashscope.aliyuncs.com/api/v1"
    path: str = "services/rerank/text-rerank/text-rerank"

    def body(self, model: str, query: str, texts: Sequence[str]) -> Mapping[str, object]:
        """Return the texts as input, and that all scores but no texts are wanted back."""
        return {
            "model": model,
            "input": {"query": query, "documents": list(texts)},
            "parameters": {"top_n": len(texts), "return_documents": False},
        }

    def judgements(self, answer: object, count: int) -> Sequence[Judgement]:  # noqa: ARG002
        """Return what `output.results` say."""
        return _indexed(_at(_at(answer, "output"), "results"))


@dataclass(frozen=True, slots=True)
class Volcengine:
    """The rerank service of Volcengine's VikingDB; scores come by position."""

    address: str = "https://api-knowledgebase.mlp.cn-beijing.volces.com"
    path: str = "api/knowledge/service/rerank"

    def body(self, model: str, query: str, texts: Sequence[str]) -> Mapping[str, object]:
        """Return a pair of query and content for each text."""
        return {
            "rerank_model": model,
            "datas": [{"query": query, "content": text} for text in texts],
        }

    def judgements(self, answer: object, count: int) -> Sequence[Judgement]:
        """Return `data.scores` with their positions; when some are missing, nobody knows which."""
        code = _at(answer, "code") if isinstance(answer, Mapping) and "code" in answer else 0
        if code != 0:
            raise UnreadableError(f"code {code}: {_at(answer, 'message')}")
        scores = _at(_at(answer, "data"), "scores")
        if not isinstance(scores, list):
            raise UnreadableError("gave an answer without scores")
        if len(scores) != count:
            raise UnreadableError(f"gave {len(scores)} scores for {count} texts")
        return list(enumerate(scores))


def dialect(provider: str, model: str, address: str) -> Dialect:
    """Return how a provider of the configuration is spoken to.

    DashScope has two doors: qwen3-rerank and addresses with `/compatible` in them take Cohere's form.
    """
    if provider == "dashscope":
        compatible = "/compatible" in address or (not address and model == "qwen3-rerank")
        flat = Cohere("https://dashscope.aliyuncs.com/compatible-api/v1", "reranks")
        return flat if compatible else DashScope()
    return _DIALECTS[provider]


_DIALECTS: Mapping[str, Dialect] = {
    "cohere": Cohere("https://api.cohere.com/v2"),
    "jina": Cohere("https://api.jina.ai/v1"),
    "openai": Cohere(),
    "tei": Tei(),
    "volcengine": Volcengine(),
}


def _at(answer: object, key: str) -> object:
    return answer.get(key) if isinstance(answer, Mapping) else None


def _indexed(items: object) -> Sequence[Judgement]:
    if not isinstance(items, list):
        raise UnreadableError("gave an answer without results")
    return [
        (item.get("index"), item.get("relevance_score", item.get("score")))
        for item in items
        if isinstance(item, Mapping)
    ]
