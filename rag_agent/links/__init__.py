"""Where links lead: their resolution, neighbours to a depth, vaults and their addresses.

Nothing of it is stored. A file that is added, renamed or removed changes where the links of others
lead, so that is decided when somebody asks, from what the index has at that moment.
"""

from __future__ import annotations

from rag_agent.links.graph import DEEPEST, Graph, Reached, locate, nearness, neighbours
from rag_agent.links.vault import Vaults

__all__ = ["DEEPEST", "Graph", "Reached", "Vaults", "locate", "nearness", "neighbours"]
