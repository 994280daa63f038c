"""Errors a person may be shown; each message says what to do.

RagError
├── ConfigError            config.json or environment; names file, key, value
├── StoreError
│   ├── StoreMissing       nothing has been indexed yet
│   ├── SchemaTooNew       written by a newer rag_agent
│   ├── ModelMismatch      vectors of another model
│   ├── StoreCorrupt       a verified failed check, never a busy one
│   └── StoreBusy          another process is writing; names its pid
├── WalkError              a folder that cannot or must not be indexed
├── ExtractError           one file; a sync collects these and goes on
│   ├── UnsupportedFormat
│   ├── MissingDependency  names the extra to install
│   └── TooLarge
├── EmbedError             embedding model or reranker; names the model and the fix
├── QueryError             a query or filter that cannot be understood
└── HostError              a host's configuration cannot be read or changed
"""

from __future__ import annotations


class RagError(Exception):
    """Something went wrong in a way a person can act on."""


class ConfigError(RagError):
    """config.json or an environment variable holds something unusable."""


class StoreError(RagError):
    """The index file cannot be used as asked."""


NOTHING_INDEXED = "nothing is indexed here yet; run `rag-agent index`"


class StoreMissing(StoreError):
    """Nothing has been indexed yet."""


class SchemaTooNew(StoreError):
    """The index was written by a newer rag_agent."""


class ModelMismatch(StoreError):
    """The stored vectors belong to another model."""


class StoreCorrupt(StoreError):
    """The index file failed an integrity check."""


class StoreBusy(StoreError):
    """Another process is writing the index."""


class WalkError(RagError):
    """A path that does not exist or must not be indexed."""


class ExtractError(RagError):
    """One file could not be read; ``reason`` is a short phrase for counting."""

    def __init__(self, path: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f" ({detail})" if detail else ""))
        self.path = path
        self.reason = reason
        self.detail = detail


class UnsupportedFormat(ExtractError):
    """No extractor knows this format."""


class MissingDependency(ExtractError):
    """The format needs a library that is not installed."""


class TooLarge(ExtractError):
    """The file, or what it unpacks to, is over a limit."""


class EmbedError(RagError):
    """The embedding model, or the reranker, is missing or failed."""


class QueryError(RagError):
    """A query or filter that cannot be understood."""


class HostError(RagError):
    """A host's configuration cannot be read or changed."""
