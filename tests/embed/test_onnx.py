from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Encoding

from rag_agent import embed
from rag_agent.embed.models import PACKAGED_FOLDER
from rag_agent.embed.onnx import OnnxEmbedder, default_threads
from rag_agent.embed.windows import cut
from rag_agent.errors import EmbedError

# Text → vector by the transformers library's float32 forward pass: mean of the last hidden state,
# unit length, four decimals.
REFERENCE = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))

CODE = """def unquote(string, encoding="utf-8", errors="replace"):
    if "%" not in string:
        return string
    return "".join(_generate_unquoted_parts(string, encoding, errors))
"""
PROSE = "A query string is the part of an address after the question mark."
LONG = "\n".join(f"line {number}: the value of setting {number} is kept" for number in range(200))
ODD = {
    "empty": "",
    "blank": " \n\t ",
    "null": "a\x00b",
    "half a surrogate pair": "a\ud800b",
    "emoji of several code points": "👩‍👩‍👧‍👦" * 300,
    "Chinese without spaces": "查询字符串" * 200,
    "combining marks": "e\u0301\u0327" * 300,
    "right to left": "\u202eسلسلة الاستعلام",
    "one word of 5,000 letters": "x" * 5000,
    "only unknown characters": "\U000f0000" * 700,
}


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    loaded = embed.load(threads=2)
    assert isinstance(loaded, OnnxEmbedder)
    return loaded


def test_vectors_agree_with_the_original_model(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed_passages(list(REFERENCE))
    cosines = (vectors * np.array(list(REFERENCE.values()), np.float32)).sum(axis=1)
    assert cosines.min() > 0.98


def test_related_texts_are_nearer_than_unrelated_ones(embedder: OnnxEmbedder) -> None:
    passages = ["urllib.parse.parse_qs turns a query string into a dictionary", "boil the potatoes"]
    related, unrelated = embedder.embed_passages(passages) @ embedder.embed_query(
        "parse a query string into a dict"
    )
    assert related > 0.6
    assert unrelated < 0.2


def test_no_texts_give_an_empty_matrix(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed_passages([])
    assert vectors.shape == (0, embedder.dim)
    assert vectors.dtype == np.float32


def test_a_vector_does_not_depend_on_its_neighbours(embedder: OnnxEmbedder) -> None:
    alone = embedder.embed_passages([CODE])[0]
    among = embedder.embed_passages([PROSE, LONG, "", CODE, "x", CODE])
    assert np.array_equal(among[3], alone)
    assert np.array_equal(among[5], alone)


def test_a_vector_does_not_depend_on_the_number_of_threads(embedder: OnnxEmbedder) -> None:
    texts = [CODE, PROSE, LONG, "short"] * 3
    single = embed.load(threads=1).embed_passages(texts)
    assert np.array_equal(embedder.embed_passages(texts), single)


def test_callers_in_several_threads_get_their_own_vectors(embedder: OnnxEmbedder) -> None:
    texts = [f"{PROSE} number {number}" for number in range(8)]
    expected = [embedder.embed_passages([text])[0] for text in texts]
    found: dict[int, NDArray[np.float32]] = {}

    def work(number: int) -> None:
        found[number] = embedder.embed_passages([texts[number], LONG])[0]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[number], row) for number, row in enumerate(expected))


def test_a_query_and_a_passage_of_the_same_text_agree_without_prefixes(
    embedder: OnnxEmbedder,
) -> None:
    assert np.array_equal(embedder.embed_query(CODE), embedder.embed_passages([CODE])[0])


def test_the_end_of_a_long_text_counts(embedder: OnnxEmbedder) -> None:
    start = LONG[:2500]  # about 700 tokens, where one window has 160
    bread = "\n".join(["How to bake sourdough bread: flour, water, salt, time."] * 12)
    plain, extended = embedder.embed_passages([start, start + bread])
    question = embedder.embed_query("baking bread with sourdough")
    assert extended @ question > plain @ question + 0.1


def test_a_long_text_is_the_mean_of_its_windows(embedder: OnnxEmbedder) -> None:
    windows = cut(LONG, embedder._tokenizer, embedder.model.window)
    assert len(windows) > 3
    mean = np.sum([embedder._embed(window) for window in windows], axis=0, dtype=np.float64)
    vector = embedder.embed_passages([LONG])[0]
    assert vector @ (mean / np.linalg.norm(mean)) == pytest.approx(1.0, abs=1e-6)


def test_a_window_has_the_vector_that_its_text_has(embedder: OnnxEmbedder) -> None:
    words = "setting value kept " * 400  # a token a word, so every window is a text of its own
    window, *_ = cut(words, embedder._tokenizer, embedder.model.window)
    text = " ".join(window.tokens[1:-1])
    assert embedder._embed(window) == pytest.approx(embedder.embed_passages([text])[0], abs=1e-6)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts_have_a_vector_of_unit_length(embedder: OnnxEmbedder, text: str) -> None:
    for vector in (embedder.embed_passages([text])[0], embedder.embed_query(text)):
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_a_query_of_a_million_characters_costs_as_much_as_its_head(embedder: OnnxEmbedder) -> None:
    head = "error: connection refused\n" * 2000
    assert np.array_equal(embedder.embed_query(head * 20), embedder.embed_query(head))


@given(st.text(st.sampled_from("ab _.\n漢é👍\x00#(") | st.characters(codec="utf-8"), max_size=900))
@settings(max_examples=40, deadline=None)
def test_windows_lose_nothing_and_fit(embedder: OnnxEmbedder, text: str) -> None:
    tokenizer = embedder._tokenizer
    windows = cut(text, tokenizer, 16)
    begin, end = tokenizer.encode("").ids
    assert all(window.ids[0] == begin and window.ids[-1] == end for window in windows)
    inside = [token for window in windows for token in window.ids[1:-1]]
    assert inside == tokenizer.encode(text, add_special_tokens=False).ids
    assert max(len(window) for window in windows) <= 16


@pytest.mark.parametrize("count", [13, 14, 15, 27, 28, 29, 1000])
def test_windows_are_about_equally_long(embedder: OnnxEmbedder, count: int) -> None:
    lengths = [len(window) - 2 for window in cut("word " * count, embedder._tokenizer, 16)]
    assert sum(lengths) == count
    assert len(lengths) == -(-count // 14)
    assert max(lengths) - min(lengths) < len(lengths)


def test_every_window_has_the_prefix_and_room_for_it(embedder: OnnxEmbedder) -> None:
    tokenizer = embedder._tokenizer
    windows = cut("word " * 100, tokenizer, 16, prefix="passage: ")
    assert {tuple(window.tokens[:3]) for window in windows} == {("[CLS]", "passage", ":")}
    assert sum(window.tokens.count("word") for window in windows) == 100
    assert max(len(window) for window in windows) <= 16


class _Interrupted(OnnxEmbedder):
    """Meets Ctrl-C in the calling thread at its second window."""

    def __init__(self) -> None:
        row = embed.find_model(embed.DEFAULT)
        super().__init__(row, PACKAGED_FOLDER, "test", threads=2)
        self.calls: list[str] = []

    def _embed(self, window: Encoding) -> NDArray[np.float32]:
        name = threading.current_thread().name
        self.calls.append(name)
        if name == threading.main_thread().name and self.calls.count(name) == 2:
            raise KeyboardInterrupt
        return super()._embed(window)


def test_an_interrupt_stops_all_threads_at_once() -> None:
    embed.load()  # registers the model
    embedder = _Interrupted()
    with pytest.raises(KeyboardInterrupt):
        embedder.embed_passages([PROSE] * 1000)
    assert len(embedder.calls) < 100
    assert not [thread for thread in threading.enumerate() if "rag_agent-embed" in thread.name]


class _Failing(_Interrupted):
    """Fails in the helper thread only."""

    def _embed(self, window: Encoding) -> NDArray[np.float32]:
        if threading.current_thread() is not threading.main_thread():
            # More than the 512 positions that the model has.
            window = self._tokenizer.encode("word " * 3000)
        return OnnxEmbedder._embed(self, window)


def test_a_failure_in_a_helper_thread_is_reported() -> None:
    embed.load()
    with pytest.raises(EmbedError, match=embed.DEFAULT):
        _Failing().embed_passages([PROSE] * 50)


def test_the_default_takes_two_to_four_threads_and_never_more_than_there_are_cores() -> None:
    assert 1 <= default_threads() <= 4


def test_the_fingerprint_names_model_files_and_window(embedder: OnnxEmbedder) -> None:
    checksum = embed.find_model(embed.DEFAULT).sha256["model.onnx"]
    assert embedder.fingerprint.startswith(f"{embed.DEFAULT}@{checksum[:12]} mean 160 ")
