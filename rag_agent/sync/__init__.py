"""Disk to store: walk by the rules, sync what changed, embed what has no vector."""

from __future__ import annotations
