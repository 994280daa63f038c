"""Programs that tests need and that .ci/run installs."""

from __future__ import annotations

import pytest

from rag_agent.extract.ocr import find

needs_tesseract = pytest.mark.skipif(
    find() is None, reason="tesseract is missing: apt-get install tesseract-ocr (see .ci/run)"
)
