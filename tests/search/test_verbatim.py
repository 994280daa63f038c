from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from rag_agent.search import search
from rag_agent.search.question import read_question
from rag_agent.search.verbatim import Wording, holders, wording_of
from rag_agent.tokens import words
from rag_agent.types import Kind

PROBLEM = "could not close the ledger of last year"


def share(
    question: str,
    text: str,
    path: str = "src/a.py",
    defined: Collection[str] = (),
    *,
    kind: Kind = "code",
    rarity: Mapping[str, float] | None = None,
) -> float:
    known = dict.fromkeys(words(question), 1.0)
    return Wording(question, known | dict(rarity or {})).share(text, path, kind, defined)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("--no-cache", "parser.add_argument('--no-cache')"),
        ("what does --no-cache do", "use --no-cache, if you must"),
        ("--no-cache", 'flags.BoolVar(&noCache, "no-cache", false)'),
        ("--show-only", "add('--show-only')"),
        ("where is server.port set", "server.port = 80"),
        ("what is the default of --max-retries", "say --max-retries"),
        ("--max-retries=5", "use --max-retries or so"),
        ("what is RAG_STORE_DIR", 'os.environ["RAG_STORE_DIR"]'),
        ("what is RAG_STORE_DIR", "# İİİİ\nRAG_STORE_DIR = 1"),
        ("what is RAG_STORE_DIR=7", 'os.environ["RAG_STORE_DIR"]'),
        ("what is server.port?", "server.port = 80"),
        ("where is `max tokens`?", "the max tokens of it"),
        (PROBLEM, f'raise Error("{PROBLEM}")'),
        (PROBLEM, "Could not\n    close the LEDGER\n    of last year!"),
        ("Die Tür ließ sich nicht öffnen", "die tur ließ sich nicht offnen"),
        ("无法打开文件\uff0c请检查权限", "throw '无法打开文件\uff0c请检查权限。'"),
        ("파일을 열 수 없습니다", "오류: 파일을 열 수 없습니다."),
    ],
)
def test_all_of_a_question_can_stand_in_a_text(question: str, text: str) -> None:
    assert share(question, text) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("--no-cache", "the --no-cache-dir option"),
        ("no-cache", "--no-cache-dir"),
        ("cache-dir", "--no-cache-dir"),
        ("--no-cache", "a no-cache header"),
        ("MAX_SIZE", "max_size = 3"),
        ("--no-cache", "there is no cache"),
        ("server.port", "httpserver.port"),
        ("open ledger year", "open ledger year"),  # three words, as they come by chance
        ("it is not what they are", "it is not what they are"),  # of which none tells anything
        ("parse the query of a request", "request a query, parse it"),
        ("設定の確認", "設定の確認をする"),  # as short as a word
        ("???", "???"),
    ],
)
def test_what_is_longer_or_common_or_in_another_order_is_not_the_same(
    question: str, text: str
) -> None:
    assert share(question, text) == 0.0


def test_a_part_of_it_is_a_share_by_the_rarity_of_its_words() -> None:
    rest = "while the report was printed"
    half = share(f"{PROBLEM} {rest}", PROBLEM)
    assert 0.3 < half < 0.7
    rare = dict.fromkeys(words("ledger"), 9.0)
    assert share(f"{PROBLEM} {rest}", PROBLEM, rarity=rare) > half


def test_words_that_only_ask_do_not_make_it_less() -> None:
    assert share("where is the function parse_query defined", "parse_query") == 1.0
    assert share("where is the widget parse_query painted", "parse_query") == 0.5


def test_what_no_text_of_the_project_has_is_not_missed() -> None:
    value = dict.fromkeys(words("4711"), 0.0)
    assert share(f"{PROBLEM} 4711", f"{PROBLEM} %d", rarity=value) == pytest.approx(1.0)


def test_a_word_with_a_hyphen_counts_only_where_it_is_most_of_the_question() -> None:
    text = "a case-insensitive match"
    assert share("case-insensitive", text) == 1.0
    assert share("case-insensitive lookup of header fields in a cache", text) == 0.0


def test_a_qualified_name_stands_where_its_last_part_is_defined() -> None:
    text = "def is_match(self): ..."
    asked = "Regex::is_match"
    assert share(asked, text, "src/regex.py", defined={"is_match"}) == 1.0
    assert share(asked, f"class Regex:\n{text}", defined={"is_match"}) == 1.0
    assert share(asked, text, "src/glob.py", defined={"is_match"}) == 0.0
    assert share(asked, text, "src/regex.py") == 0.0


@pytest.mark.parametrize(
    "question",
    [
        "what is in src/lib/a.py",
        "lib/a.py:12",
        "lib/a.py:12:4",
        "lib/a.py#L12",
        "@lib/a.py(1,2)",
        r".\src\lib\a.py",
        "/home/me/project/src/lib/a.py",
    ],
)
def test_a_path_is_had_by_its_file(question: str) -> None:
    assert share(question, "nothing of it", "src/lib/a.py") > 0.5
    assert share(question, "nothing of it", "src/other/a.py") == 0.0


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (
            "cannot reserve 5 of A-1: only 2 left",
            'f"cannot reserve {wanted} of {sku}: only {n} left"',
        ),
        ("no file matches zzz here, try again", 'f"no file matches {name!r} here, try again"'),
        ("the pattern 'a/*wav' is not known", "fmt(\"the pattern '%s' is not known\", p)"),
        ("took 1234 ms for 7 of 99 files", '"took %d ms for %d of %d files"'),
    ],
)
def test_a_message_is_had_by_the_code_that_fills_it_in(said: str, code: str) -> None:
    nowhere = dict.fromkeys(words("zzz"), 0.0)
    assert share(said, code, rarity=nowhere) > 0.8
    far = re.sub(
        r" (of|here|for|is)\b", r" which is quite a long way away from it, and then it \1", code
    )
    assert share(said, far, rarity=nowhere) < 0.8


@pytest.mark.parametrize(
    ("kind", "text", "is_set"),
    [
        ("data", "cache:\n  redis:\n    ttl: 3\n", True),
        ("data", '{"cache": {"redis": {"ttl": 3}}}', True),
        ("data", "[cache.redis]\nttl = 3\n", True),
        ("data", "redis:\n  cache:\n    ttl: 3\n", False),
        ("data", "cache:\n  redis:\n    ttlmax: 3\n", False),
        ("code", "cache:\n  redis:\n    ttl: 3\n", False),
    ],
)
def test_a_key_of_settings_is_had_by_what_sets_it(kind: Kind, text: str, is_set: bool) -> None:
    assert share("where is cache.redis.ttl", text, "a.yaml", kind=kind) == float(is_set)


def test_of_a_prompt_that_is_foreign_little_is_known() -> None:
    rarity = dict.fromkeys(words("utf 8 parse"), 1.0) | dict.fromkeys(words("haiku fans loud"), 0.0)
    assert Wording("parse utf-8", rarity).known == 1.0
    assert Wording("find 8 of it", dict.fromkeys(words("find"), 1.0)).known == 1.0
    assert Wording("a haiku about loud fans in utf-8", rarity).known < 0.5
    assert Wording("???", rarity).known == 0.0


def test_a_long_report_is_not_compared() -> None:
    report = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)} went wrong" for n in range(30))
    assert share(report, report) == 0.0
    assert share(f"`parse_query` {report}", "parse_query") == 0.0


@pytest.mark.parametrize("mark", ["“", "`", '"', "'", "(", "「", "-"])
def test_marks_without_end_are_only_text(mark: str) -> None:
    text = mark * 20_000
    assert share(f"parse_query {text}", "parse_query") == 1.0
    assert share(text, text) == 0.0


def test_the_passages_that_hold_a_literal_are_found_by_its_phrase(indexed: Any) -> None:
    store = indexed(
        {
            "a.py": "add('--no-cache')\n",
            "b.py": "cache = no\n",
            "c.md": "Say `--no-cache` to it.\n",
        }
    )
    question, _ = read_question(store, "what does --no-cache do")
    paths = {
        stored.id: path for path in ("a.py", "b.py", "c.md") for stored in _chunks(store, path)
    }
    assert sorted(paths[chunk] for chunk in holders(question, store).values()) == ["a.py", "c.md"]
    assert wording_of(question) is wording_of(question)


def _chunks(store: Any, path: str) -> Any:
    return store.chunks_of(store.documents(store.roots()[0])[path].id)


OTHERS = {
    f"src/cache{n}.py": "def run(cache):  # drop an old one\n    return cache.drop(old=True)\n" * 3
    for n in range(10)
}


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("what does --drop-old-cache do", "    app.flag('--drop-old-cache')"),
        ("OLD_CACHE_DROP", "    value = OLD_CACHE_DROP  # of the site"),
        ("old.cache.drop", "    settings['old.cache.drop'] = 1"),
        ('I get "cannot drop an old cache", why?', "    fail('cannot drop an old cache')"),
        ("cannot drop an old cache", "    fail('cannot drop an old cache')"),
    ],
)
def test_the_place_where_just_that_stands_comes_before_others_with_its_words(
    indexed: Any, question: str, line: str
) -> None:
    other = "def setup(app):\n" + "    app.start()\n" * 20
    store = indexed(OTHERS | {"lib/main.py": f"{other}{line}\n{other}"})
    results = search(store, question, embedder=None, limit=3)
    first = results.hits[0]
    assert first.path == "lib/main.py"
    assert line.strip() in first.chunk.text
    assert first.signals["verbatim"] == max(first.signals.values())


def test_a_literal_is_found_among_more_passages_than_are_ranked(indexed: Any) -> None:
    files = {f"src/m{n}.py": "cache = no = dir = 1\n" * 3 for n in range(300)}
    # A text so long that each of its words counts little.
    files["z.txt"] = "other things\n" * 200 + "run it with --no-cache-dir\n"
    store = indexed(files)
    assert search(store, "--no-cache-dir", embedder=None, limit=1).hits[0].path == "z.txt"


def test_what_many_passages_have_counts_for_none_of_them(indexed: Any) -> None:
    files = {f"src/m{n}.py": f"x{n} = flat_hash_map()\n" for n in range(40)}
    store = indexed(
        files | {"src/flat_hash_map.py": "class Table: ...\n", "b.py": "y = the_map()\n"}
    )
    results = search(store, "flat_hash_map", embedder=None, limit=50)
    assert results.hits[0].path == "src/flat_hash_map.py"
    assert len(results.hits) > 40
    assert not any(hit.signals.get("verbatim") for hit in results.hits)
    (hit, *_) = search(store, "what is in src/m7.py", embedder=None).hits
    assert hit.path == "src/m7.py"


def test_what_is_written_otherwise_does_not_make_it_common(indexed: Any) -> None:
    files = {f"src/m{n}.py": f"pathInfo = request.path_info({n})\n" for n in range(60)}
    store = indexed(files | {"cgi.py": "x = environ['PATH_INFO']\n"})
    (hit, *_) = search(store, "PATH_INFO", embedder=None).hits
    assert hit.path == "cgi.py"


def test_a_file_is_found_by_a_name_of_stop_words(indexed: Any) -> None:
    files = {f"src/m{n}.py": "x = make(bat)\n" * 5 for n in range(250)}
    store = indexed(files | {"docs/make.bat": "echo docs\n"})
    (hit, *_) = search(store, "what is in make.bat", embedder=None).hits
    assert hit.path == "docs/make.bat"


def test_a_file_without_an_ending_is_had_by_its_name(indexed: Any) -> None:
    name = "get-version-from-legacy-file"
    files = {f"lib/m{n}.sh": f"# runs {name} {n}\nversion legacy file\n" * 3 for n in range(5)}
    store = indexed(files | {f"bin/{name}": "#!/bin/sh\necho 1\n"})
    (hit, *_) = search(store, f"what is in {name}", embedder=None).hits
    assert hit.path == f"bin/{name}"


def test_a_path_counts_however_often_it_is_named(indexed: Any) -> None:
    files = {f"src/m{n}.py": f"# as in lib/tables.py {n}\n" for n in range(40)}
    store = indexed(files | {"lib/tables.py": "class Table: ...\n"})
    (hit, *_) = search(store, "what is in lib/tables.py", embedder=None).hits
    assert hit.path == "lib/tables.py"
    assert hit.signals["verbatim"] > 1


def test_a_filter_holds_for_literals_too(indexed: Any) -> None:
    store = indexed({"a.py": "x = '--no-cache'\n", "b.md": "Say `--no-cache` to it.\n"})
    results = search(store, "--no-cache", embedder=None, where="kind:prose")
    assert [hit.path for hit in results.hits] == ["b.md"]


def test_a_file_comes_before_what_names_it(indexed: Any) -> None:
    loader = 'SETTINGS = "config/settings.yaml"\n\ndef settings():\n    return load(SETTINGS)\n'
    store = indexed({"shop/settings.py": loader, "config/settings.yaml": "port: 80\n"})
    for question in ("config/settings.yaml", "what is in config/settings.yaml?"):
        hits = search(store, question, embedder=None).hits
        assert [hit.path for hit in hits] == ["config/settings.yaml", "shop/settings.py"]
    hits = search(store, "which function loads config/settings.yaml", embedder=None).hits
    assert hits[0].path == "shop/settings.py"


def test_a_row_of_common_words_is_found_among_all_that_have_them(indexed: Any) -> None:
    files = {f"src/find{n}.py": "def find():\n    return find\n" * 5 for n in range(300)}
    line = 'say("there may be more to find in a while")\n'
    store = indexed(files | {"status.py": f"def status():\n    {line}"})
    (hit, *_) = search(store, "there may be more to find in a while", embedder=None).hits
    assert hit.path == "status.py"


def test_an_option_that_stands_there_outweighs_all_that_has_its_words(indexed: Any) -> None:
    other = "class OtherModels:\n    def other_models(self):\n        '''Other models.'''\n" * 3
    store = indexed({"other_models.py": other, "cli.py": "add('--other-models')\n"})
    assert search(store, "--other-models", embedder=None).hits[0].path == "cli.py"


def test_the_chunk_with_the_row_of_words_is_the_one_that_is_shown(indexed: Any) -> None:
    about = "def close_ledger():\n" + "    ledger = close(ledger, year)  # the last year\n" * 44
    code = f"{about}\n\ndef other():\n" + "    pass\n" * 30 + f"    fail('{PROBLEM}')\n"
    store = indexed({"ledger.py": code})
    (hit,) = search(store, PROBLEM, embedder=None).hits
    assert PROBLEM in hit.chunk.text
