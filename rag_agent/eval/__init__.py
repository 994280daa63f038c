"""Retrieval evaluation: topics (questions with labels), runs (answers), measures, scores.

``read_topics`` → ``run_queries`` → ``score_run`` → ``score_table``; ``compare_runs`` says whether
one run is better than another by more than chance, ``plots`` draws runs beside published figures.
"""

from __future__ import annotations

from rag_agent.eval.run import Result, one_a_file, read_run, read_times, run_queries
from rag_agent.eval.score import compare_runs, latency, recall_curve, score_run
from rag_agent.eval.tables import comparison_table, score_table
from rag_agent.eval.topics import Qrel, Topic, read_topics

__all__ = [
    "Qrel",
    "Result",
    "Topic",
    "compare_runs",
    "comparison_table",
    "latency",
    "one_a_file",
    "read_run",
    "read_times",
    "read_topics",
    "recall_curve",
    "run_queries",
    "score_run",
    "score_table",
]
