"""The doors of the house: every outside thing the services may ask for."""

from collections.abc import Callable
from datetime import datetime

from contextfind.ports.blobs import BlobStore, bodies_of, body_of
from contextfind.ports.hits import Hit, Hits
from contextfind.ports.identities import Account, IdentityStore, Key, User
from contextfind.ports.images import ImageEmbedder, ImageFetcher
from contextfind.ports.index import Dialogue, Probe, SearchIndex
from contextfind.ports.jobs import Job, JobState, JobStore
from contextfind.ports.models import (
    ChatModel,
    Embedder,
    Message,
    ModelStanding,
    Purpose,
    RemoteModel,
    Reranker,
    Tokenizer,
)
from contextfind.ports.moves import Move, Retag
from contextfind.ports.sessions import SessionStore
from contextfind.ports.sources import FileSource, ServerPaths, SourceEntry, UploadShelf
from contextfind.ports.store import (
    Backlog,
    Change,
    Commit,
    Committed,
    PendingText,
    RecordCopy,
    RecordDraft,
    RecordStore,
    Restored,
    SourceMark,
    StaleDirectory,
)

Clock = Callable[[], datetime]  # the time now, in UTC
IdMaker = Callable[[], str]  # a fresh identifier, never the same twice

__all__ = [
    "Account",
    "Backlog",
    "BlobStore",
    "Change",
    "ChatModel",
    "Clock",
    "Commit",
    "Committed",
    "Dialogue",
    "Embedder",
    "FileSource",
    "Hit",
    "Hits",
    "IdMaker",
    "IdentityStore",
    "ImageEmbedder",
    "ImageFetcher",
    "Job",
    "JobState",
    "JobStore",
    "Key",
    "Message",
    "ModelStanding",
    "Move",
    "PendingText",
    "Probe",
    "Purpose",
    "RecordCopy",
    "RecordDraft",
    "RecordStore",
    "RemoteModel",
    "Reranker",
    "Restored",
    "Retag",
    "SearchIndex",
    "ServerPaths",
    "SessionStore",
    "SourceEntry",
    "SourceMark",
    "StaleDirectory",
    "Tokenizer",
    "UploadShelf",
    "User",
    "bodies_of",
    "body_of",
]
