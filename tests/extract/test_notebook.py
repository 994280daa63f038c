from __future__ import annotations

import json

import pytest

from rag_agent.extract import extract
from rag_agent.sync.sync import masked
from rag_agent.types import Document

_LINE = "MIIEpAIBAAKCAQEA7bq1cV0mXkW9s8Yt3n5pQ2rZ4uJ6hL0oE1aC8dF7gB9iK2mN"
_KEY = "\n".join(
    ["-----BEGIN RSA PRIVATE " + "KEY-----", *[_LINE] * 24, "-----END RSA PRIVATE " + "KEY-----"]
)
_TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"


def _printed(output: str) -> Document:
    cell = {
        "cell_type": "code",
        "source": "print(x)",
        "outputs": [{"output_type": "stream", "text": output}],
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4}
    return masked(extract(json.dumps(notebook).encode(), "a.ipynb"))


@pytest.mark.parametrize("before", [9_970, 9_000, 10_000])
@pytest.mark.parametrize("secret", [_KEY, _TOKEN])
def test_an_output_is_not_cut_within_a_secret(secret: str, before: int) -> None:
    document = _printed("=" * (before - 1) + "\n" + secret + "\ntail" * 300)
    assert _LINE[:8] not in document.text
    assert _TOKEN[:8] not in document.text
    assert "outputs cut after 10,000 characters: 1" in document.warnings
