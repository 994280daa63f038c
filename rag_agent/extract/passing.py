"""Reasons for which a file gave no text now and may give it later: they say little about the file.

A busy machine makes a parser slow, a full one makes it crash, and tesseract may be broken until the
next update. So nothing that failed for one of these is remembered as done (``sync.retries``).
"""

from __future__ import annotations

TOO_LONG = "took too long"
CRASHED = "parser crashed"
MEMORY = "needs too much memory"
SYSTEM = "refused by the system"
OCR = "OCR failed"

PASSING = frozenset((TOO_LONG, CRASHED, MEMORY, SYSTEM, OCR))
