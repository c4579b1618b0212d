"""Documents in, answers out: the whole house inside the caller's process, without a server."""

from contextfind.pipeline.asynchronous import AsyncRAGQueryPipeline
from contextfind.pipeline.blocking import RAGQueryPipeline

__all__ = ["AsyncRAGQueryPipeline", "RAGQueryPipeline"]
