"""Git history as evidence: commits whose messages resemble a question point to what they changed.

The formula and what it gives: RANKING.md, point 10. Messages come from strangers: they are indexed
as words for this and nothing else; none is kept as text, and so none is ever shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from rag_agent.store.lexical import affordable, any_of

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.store.connection import Database

VOTERS = 200  # commits that vote
# Rows of the word index read for one question. Votes from 6,000 rows order files no better (alone,
# NDCG@10 0.522 against 0.528 on the issue set, 0.715 both on semble's) and take longer.
POSTINGS = 2_000


def votes(database: Database, words: Sequence[str], k: int = VOTERS) -> dict[int, float]:
    """By document, how much the ``k`` commits nearest to these stems speak for it, in [0, 1].

    Each commit gives score² / √(files it changed) / log(commits of the file + 3) to each file that
    it changed and that is indexed now; the sums are divided by the highest.
    """
    with database.snapshot():
        scores = _nearest(database, words, k)
        if not scores:
            return {}
        changed: dict[int, list[tuple[int, float]]] = database.remembered("votes", dict)
        missing = [commit for commit in scores if commit not in changed]
        if missing:
            changed.update(_changed(database, missing))
    found: dict[int, float] = {}
    for commit, score in scores.items():
        for document, share in changed[commit]:
            found[document] = found.get(document, 0.0) + score**2 * share
    most = max(found.values(), default=0.0)
    return {document: vote / most for document, vote in found.items()} if most > 0 else {}


def _changed(database: Database, commits: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
    """By commit, the documents that it changed, and which share of its score each gets."""
    found: dict[int, list[tuple[int, float]]] = {commit: [] for commit in commits}
    for commit, files, others, document in database.rows(
        "SELECT c.id, c.files, f.commits, f.document_id "
        # CROSS JOIN keeps the order: from a few commits to their files.
        "FROM json_each(?) AS w CROSS JOIN history_commits AS c ON c.id = w.value "
        "CROSS JOIN history_changes AS h ON h.commit_id = c.id "
        "CROSS JOIN history_files AS f ON f.file = h.file",
        (json.dumps(commits),),
    ):
        found[commit].append((document, share(files, others)))
    return found


def share(files: int, others: int) -> float:
    """What a file gets of the squared score of a commit that changed so many ``files``.

    ``others`` are all commits that changed the file.
    """
    return 1 / math.sqrt(files) / math.log(others + 3)


def commit_count(database: Database) -> int:
    """How many commits may vote."""
    return int(database.value("SELECT count(*) FROM history_commits WHERE files > 0"))


def _nearest(database: Database, words: Sequence[str], k: int) -> dict[int, float]:
    """Score by commit: the best ``k``, and those that are as good as the last of them.

    Were ties cut by id, the order in which commits were read would show.
    """
    wanted = [word for word in dict.fromkeys(words) if word and "\0" not in word]
    frequencies: dict[str, int] = dict(
        database.rows(
            "SELECT v.term, v.doc FROM json_each(?) AS w "
            "CROSS JOIN history_words AS v ON v.term = w.value",
            (json.dumps(wanted),),
        )
    )
    if not frequencies or k < 1:
        return {}
    # As for passages: a word that every third message holds says little and costs most.
    rarest = sorted(frequencies, key=lambda word: (frequencies[word], word))
    query = any_of(rarest[: affordable([frequencies[word] for word in rarest], POSTINGS)])
    best = database.rows(
        "SELECT rowid, -bm25(history_fts) AS score FROM history_fts "
        "WHERE history_fts MATCH ? ORDER BY score DESC LIMIT ?",
        (query, k + 1),
    )
    if len(best) > k and best[k][1] == best[k - 1][1]:
        best = database.rows(
            "SELECT rowid, -bm25(history_fts) AS score FROM history_fts "
            "WHERE history_fts MATCH ? AND score >= ?",
            (query, best[k][1]),
        )
    elif len(best) > k:
        best = best[:k]
    return dict(best)
