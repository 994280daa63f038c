"""Local retrieval for coding agents: index code and documents, answer with the right lines."""

from __future__ import annotations
