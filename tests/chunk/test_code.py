"""Where code is cut."""

from __future__ import annotations

import pytest

from rag_agent.chunk import chunk
from rag_agent.types import Chunk, Document


def cut(text: str, language: str = "python") -> list[Chunk]:
    return chunk(Document(path="a", kind="code", language=language, text=text))


def function(name: str, lines: int, indent: str = "") -> str:
    body = "\n".join(f"{indent}    value_{number} = {number}" for number in range(lines - 1))
    return f"{indent}def {name}(self):\n{body}\n"


def test_a_definition_with_its_comment_and_decorators_begins_a_chunk() -> None:
    second = "# Says why.\n# And how.\n@cached\n@traced(\n    1,\n)\n" + function("second", 40)

    first_chunk, second_chunk = cut(function("first", 40) + "\n\n" + second)

    assert (first_chunk.start, first_chunk.end) == (1, 40)
    assert second_chunk.text == second.rstrip("\n")
    assert second_chunk.heading == "def second"
    assert [found.name for found in second_chunk.definitions] == ["second"]


def test_a_comment_that_a_blank_line_parts_from_a_definition_is_not_its_own() -> None:
    chunks = cut(function("first", 40) + "# A section.\n\n" + function("second", 45))

    assert [part.start for part in chunks] == [1, 43]


def test_a_large_class_is_cut_at_its_methods() -> None:
    methods = [function(f"method_{number}", 35, "    ") for number in range(5)]

    chunks = cut("class Session:\n" + "\n".join(methods))

    assert [part.text.lstrip().split("\n")[0] for part in chunks[1:]] == [
        f"def method_{number}(self):" for number in range(1, 5)
    ]
    assert [part.heading for part in chunks] == [
        "class Session",
        *(f"class Session > def method_{number}" for number in range(1, 5)),
    ]


def test_small_neighbours_share_a_chunk() -> None:
    (part,) = cut("\n".join(function(f"small_{number}", 4) for number in range(8)))

    assert [found.name for found in part.definitions] == [f"small_{n}" for n in range(8)]


def test_a_definition_a_little_over_the_size_stays_whole() -> None:
    chunks = cut(function("small", 8) + "\n\n" + function("large", 57))

    assert [found.name for found in chunks[-1].definitions] == ["large"]
    assert chunks[-1].end - chunks[-1].start == 56


def test_a_large_function_is_cut_between_statements() -> None:
    statements = "".join(
        f"    if value_{number}:\n        call(\n            {number},\n        )\n"
        for number in range(40)
    )

    chunks = cut("def large():\n" + statements)

    assert len(chunks) > 2
    assert all(part.text.startswith("    if value_") for part in chunks[1:])
    assert [part.heading for part in chunks] == ["def large"] * len(chunks)


def test_passages_end_where_statements_end() -> None:
    long_line = "    a_value_with_a_long_name = another_value_with_a_long_name\n"
    functions = [f"def f_{number}():\n{long_line * 10}\n" for number in range(4)]

    (part,) = cut("".join(functions))

    assert [passage.text for passage in part.passages] == [text.strip("\n") for text in functions]


def test_a_chunk_of_imports_takes_the_heading_of_its_first_definition() -> None:
    (part,) = cut("import os\n\nLIMIT = 1\n\n" + function("run", 10))

    assert part.heading == "def run"


def test_the_equations_of_a_function_stay_with_its_signature() -> None:
    filler = "\n".join(f"other{number} :: Int\nother{number} = {number}\n" for number in range(15))
    area = "-- | The area.\narea :: Shape -> Int\narea Square = 1\narea Circle = 2\n"

    chunks = cut(f"module Store where\n\n{filler}\n\n{area}\n{filler}", "haskell")

    (holder,) = [part for part in chunks if "area ::" in part.text]
    assert area.strip() in holder.text


def test_a_file_with_a_syntax_error_is_still_cut_at_its_definitions() -> None:
    broken = "def broken(:\n    )(\n\n\n"

    chunks = cut(function("first", 40) + "\n\n" + broken + function("second", 45))

    assert {"first", "second"} <= {found.name for part in chunks for found in part.definitions}


@pytest.mark.parametrize(
    "text",
    [
        "f(" * 30_000,
        "a<b<" * 100_000,
        "{\n" * 20_000,
        "[" * 400_000,
        "if a:\n" + "".join(" " * depth + "if a:\n" for depth in range(1, 1500)),
    ],
    ids=["calls", "type arguments", "blocks", "brackets", "indentation"],
)
@pytest.mark.parametrize("language", ["python", "java", "csharp", "cpp", "typescript", "scala"])
def test_nothing_is_nested_too_deeply(text: str, language: str) -> None:
    chunks = cut(text, language)

    assert "".join("".join(part.text for part in chunks).split()) == "".join(text.split())


def test_a_language_without_a_grammar_is_cut_at_blank_lines() -> None:
    blocks = ["\n".join(f"    word {n} {m}" for m in range(22)) for n in range(6)]

    chunks = cut("\n\n".join(blocks), "cobol")

    assert [part.text for part in chunks] == [
        "\n\n".join(blocks[0:2]),
        "\n\n".join(blocks[2:4]),
        "\n\n".join(blocks[4:6]),
    ]


def test_a_lone_surrogate_does_no_harm() -> None:
    (part,) = cut("def broken():\n    return '\ud800'\n")

    assert [found.name for found in part.definitions] == ["broken"]
