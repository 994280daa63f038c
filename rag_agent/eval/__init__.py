"""Retrieval evaluation: topics (questions with labels), runs (answers), measures, scores.

``read_topics`` → ``run_queries`` → ``score_run`` → ``score_table``; ``compare_runs`` says whether
one run is better than another by more than chance.
"""

from __future__ import annotations

from rag_agent.eval.run import Result, read_run, run_queries
from rag_agent.eval.score import compare_runs, comparison_table, score_run, score_table
from rag_agent.eval.topics import Qrel, Topic, read_topics

__all__ = [
    "Qrel",
    "Result",
    "Topic",
    "compare_runs",
    "comparison_table",
    "read_run",
    "read_topics",
    "run_queries",
    "score_run",
    "score_table",
]
