"""What words alone answer, beside what the program finds with the same words."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import rag_agent
from rag_agent.config import Config
from rag_agent.context import build_context, certainty
from rag_agent.context.room import NO_ROOM
from rag_agent.hook import lookup
from rag_agent.hook.settings import Settings, read_settings
from rag_agent.hook.words import reply_without_server
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.store.glance import Glance
from rag_agent.store.memory import TurnMemory
from rag_agent.tokens import estimate_tokens
from rag_agent.types import SearchResults

_TOPICS = {
    "webhooks": ("verify_signature", "Check the signature of a Stripe webhook with the secret."),
    "queries": ("parse_query", "Turn the query string of a request into a dictionary."),
    "mail": ("send_mail", "Deliver a message over SMTP to each recipient of the list."),
    "pictures": ("resize_image", "Scale a picture down to the width of a thumbnail."),
    "ledger": ("open_ledger", "Read the bookings of a fiscal year from the disk."),
    "charts": ("draw_chart", "Paint bars for the turnover of each month of the year."),
    "routes": ("plan_route", "Find the shortest way between two towns of a map."),
    "prices": ("convert_price", "Change an amount of money to another currency by its rate."),
}
WEBHOOKS = "where does verify_signature check the signature of a Stripe webhook with the secret?"
ROUTES = "how does plan_route find the shortest way between two towns of the map?"
MAIL = "which function delivers a message over SMTP to each recipient?"
MONEY = "does convert_price change an amount of money to another currency by its rate?"
ALONE = "no server runs for this project, so words alone were searched"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "projet été"
    (folder / "tests").mkdir(parents=True)
    for name, (function, text) in _TOPICS.items():
        code = f'def {function}(value, other):\n    """{text}"""\n    return {name}(value, other)\n'
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
        test = f"def test_{function}():\n    assert {function}(1, 2)\n"
        (folder / "tests" / f"test_{name}.py").write_text(test, encoding="utf-8")
    (folder / "メモ.md").write_text(
        "# 請求書\n\n請求書の署名は秘密鍵で検証される。\n", encoding="utf-8"
    )
    _index(folder)
    return folder


@pytest.fixture
def store(project: Path) -> Iterator[Store]:
    with Store.open(_database(project), readonly=True) as opened:
        yield opened


def _index(project: Path) -> None:
    (project / ".pi" / "rag").mkdir(parents=True, exist_ok=True)
    with rag_agent.open(project) as index:
        index.sync()


def _database(project: Path) -> Path:
    return project / ".pi" / "rag" / "rag.db"


def _hook(project: Path, prompt: str, session: str = "s", **event: str) -> tuple[str, list[str]]:
    """The context that Codex would be given, and what is said beside it."""
    said: list[str] = []
    sent = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "session_id": session, **event}
    reply = reply_without_server("codex", str(project), json.dumps(sent).encode(), said.append)
    answer = json.loads(reply) or {"hookSpecificOutput": {"additionalContext": ""}}
    return answer["hookSpecificOutput"]["additionalContext"], said


def _files(context: str) -> list[str]:
    """The files of a context, in order."""
    return list(dict.fromkeys(re.findall(r"^(\S.*):\d+-\d+(?:  .*)?$", context, re.MULTILINE)))


def _by_words(store: Store, query: str, limit: int = 5) -> SearchResults:
    return search(store, query, embedder=None, limit=limit)


@pytest.mark.parametrize(
    "prompt",
    [
        WEBHOOKS,
        ROUTES,
        MAIL,
        "請求書の署名はどの鍵で検証されるか",
        "Paint bars for the turnover of each month",
        "what is in tests/test_mail.py?",
        "return ledger(value, other)",
    ],
)
def test_the_files_and_their_certainty_are_those_of_a_search_by_words(
    store: Store, prompt: str
) -> None:
    glance = Glance.open(store.path)
    found = lookup.search(glance, prompt, 3)
    glance.close()
    expected = _by_words(store, prompt, 3)
    assert [hit.chunk.path for hit in found] == [hit.path for hit in expected]
    assert [hit.certainty for hit in found] == pytest.approx(
        [certainty(hit.evidence) for hit in expected]
    )


@pytest.mark.parametrize("prompt", [WEBHOOKS, ROUTES, MONEY])
def test_the_context_has_the_files_that_the_program_would_give(
    project: Path, store: Store, prompt: str
) -> None:
    context, said = _hook(project, prompt)
    program = build_context(prompt, lambda query: _by_words(store, query))
    assert _files(context)
    assert _files(context) == _files(program.text)
    assert said == [ALONE]


def test_what_is_shown_are_the_lines_of_the_file(project: Path) -> None:
    context, _ = _hook(project, WEBHOOKS)
    assert "webhooks.py:1-3" in context
    assert (project / "webhooks.py").read_text(encoding="utf-8").strip() in context


def test_letters_of_every_script_are_searched_and_shown(project: Path) -> None:
    _configure(project, {"ragScoreThreshold": 0, "ragTopK": 1})
    context, _ = _hook(project, "請求書の署名はどの鍵で検証されるか")
    assert _files(context) == ["メモ.md"]
    assert "請求書の署名は秘密鍵で検証される。" in context


def test_a_session_is_never_shown_the_same_twice_and_another_one_is(project: Path) -> None:
    first, _ = _hook(project, WEBHOOKS)
    again, _ = _hook(project, WEBHOOKS)
    other, _ = _hook(project, WEBHOOKS, session="another")
    assert "webhooks.py" in _files(first)
    assert "webhooks.py" not in _files(again)
    assert _files(other) == _files(first)


def test_what_the_program_has_shown_the_hook_does_not_show(project: Path, store: Store) -> None:
    from rag_agent.context import keys_of

    with TurnMemory.open(store.path.parent) as memory:
        memory.remember("s", WEBHOOKS, keys_of(_by_words(store, WEBHOOKS).hits))
    assert _files(_hook(project, WEBHOOKS)[0]) == []


def test_a_prompt_that_a_host_sends_twice_is_answered_once(project: Path) -> None:
    first, _ = _hook(project, WEBHOOKS, turn_id="7")
    second, said = _hook(project, WEBHOOKS, turn_id="7")
    assert first
    assert (second, said) == ("", [])


def test_a_follow_up_is_searched_together_with_the_prompt_before(project: Path) -> None:
    _hook(project, WEBHOOKS)
    with TurnMemory.open(_database(project).parent) as memory:
        assert memory.prompt_before("s") == WEBHOOKS
        memory.forget("s")
        memory.remember("s", WEBHOOKS, [])
    assert "webhooks.py" in _files(_hook(project, "and where is it tested?")[0])


@pytest.mark.parametrize("prompt", ["--width-of-thumbnails", "WIDTH_OF_THUMBNAILS"])
def test_as_short_a_prompt_as_an_option_is_given_the_place_where_it_stands(
    project: Path, prompt: str
) -> None:
    assert _hook(project, prompt)[0] == ""
    line = f"def main(app):\n    app.add({prompt!r}, 200)\n"
    (project / "main.py").write_text(line, encoding="utf-8")
    _index(project)
    assert _files(_hook(project, prompt)[0])[0] == "main.py"


@pytest.mark.parametrize("prompt", ["thanks, that works", "/compact", "  ", "?!"])
def test_a_turn_of_the_conversation_is_given_nothing(project: Path, prompt: str) -> None:
    assert _hook(project, prompt) == ("", [])


def test_a_question_about_something_else_is_given_nothing(project: Path) -> None:
    assert _hook(project, "how do penguins raise their chicks in antarctica?")[0] == ""


def test_turns_are_counted(project: Path) -> None:
    context, _ = _hook(project, WEBHOOKS)
    _hook(project, "thanks, that works")
    with TurnMemory.open(_database(project).parent) as memory:
        counts = memory.counts()
    assert counts == {"injections": 1, "abstentions": 1, "tokens": estimate_tokens(context)}


def test_a_file_that_has_changed_is_left_out(project: Path) -> None:
    with (project / "webhooks.py").open("a", encoding="utf-8") as stream:
        stream.write("# more\n")
    assert "webhooks.py" not in _files(_hook(project, WEBHOOKS)[0])


def test_a_file_that_is_gone_is_left_out(project: Path) -> None:
    (project / "webhooks.py").unlink()
    assert "webhooks.py" not in _files(_hook(project, WEBHOOKS)[0])


def test_a_file_that_was_only_touched_is_shown(project: Path) -> None:
    os.utime(project / "webhooks.py", ns=(10**18, 10**18))
    assert "webhooks.py" in _files(_hook(project, WEBHOOKS)[0])


def test_an_edit_that_keeps_size_and_changes_time_is_noticed(project: Path) -> None:
    text = (project / "webhooks.py").read_bytes()
    (project / "webhooks.py").write_bytes(text.replace(b"secret", b"SECRET"))
    os.utime(project / "webhooks.py", ns=(10**18, 10**18))
    assert "webhooks.py" not in _files(_hook(project, WEBHOOKS)[0])


@pytest.mark.parametrize("budget", [50, 130, 200, 400])
def test_the_budget_holds(project: Path, budget: int) -> None:
    _configure(project, {"ragTokenBudget": budget})
    assert estimate_tokens(_hook(project, WEBHOOKS)[0]) <= budget


def test_where_there_is_no_room_for_a_chunk_its_best_passage_is_shown(project: Path) -> None:
    filling = "\n".join(f"    step_{number} = prepare(value, {number})" for number in range(45))
    code = f'def verify(value):\n{filling}\n    """Ascertain the hologram of a passport."""\n'
    (project / "passports.py").write_text(code, encoding="utf-8")
    _index(project)
    _configure(project, {"ragTokenBudget": 420, "ragScoreThreshold": 0, "ragTopK": 1})
    context, _ = _hook(project, "where is the hologram of a passport ascertained?")
    assert "Ascertain the hologram of a passport." in context
    assert "step_0 =" not in context
    (place,) = re.findall(r"^passports\.py:(\d+)-(\d+)", context, re.MULTILINE)
    lines = code.split("\n")[int(place[0]) - 1 : int(place[1])]
    assert "\n".join(lines) in context


def test_files_for_which_there_is_no_room_are_named(project: Path) -> None:
    for number in range(3):
        text = "\n".join(f"The hologram of passport {number} has {n} colors." for n in range(90))
        (project / f"hologram{number}.md").write_text(text, encoding="utf-8")
    _index(project)
    _configure(project, {"ragTokenBudget": 560, "ragScoreThreshold": 0, "ragTopK": 3})
    context, _ = _hook(project, "which colors has the hologram of a passport?")
    shown, _, places = context.partition(NO_ROOM)
    assert "colors." in shown
    assert "hologram" in places
    assert "colors." not in places
    assert len(_files(context)) == 3


def test_what_hosts_would_cut_is_not_sent(project: Path) -> None:
    for number in range(8):
        text = "\n".join(f"The hologram of passport {number} has {n} colors." for n in range(90))
        (project / f"hologram{number}.md").write_text(text, encoding="utf-8")
    _index(project)
    _configure(project, {"ragTokenBudget": 50_000, "ragScoreThreshold": 0, "ragTopK": 100})
    context, _ = _hook(project, "which colors has the hologram of a passport?")
    assert 1_000 < len(context) <= 10_000


def test_switched_off_nothing_is_searched(project: Path) -> None:
    _configure(project, {"ragEnabled": False})
    assert _hook(project, WEBHOOKS) == ("", [])


def test_no_more_files_than_asked_for(project: Path) -> None:
    _configure(project, {"ragTopK": 1, "ragScoreThreshold": 0})
    assert len(_files(_hook(project, WEBHOOKS)[0])) == 1


def test_the_least_certainty_is_that_of_the_settings(project: Path) -> None:
    _configure(project, {"ragScoreThreshold": 1})
    assert _hook(project, WEBHOOKS) == ("", [ALONE])


def test_without_a_store_there_is_nothing_to_say_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / ".pi" / "rag").mkdir(parents=True)
    assert _hook(tmp_path, WEBHOOKS) == ("", [])
    assert list((tmp_path / ".pi" / "rag").iterdir()) == []


def test_a_damaged_index_is_told_in_one_line(project: Path) -> None:
    _database(project).write_bytes(b"no database at all" * 1000)
    context, said = _hook(project, WEBHOOKS)
    assert context == ""
    assert len(said) == 1
    assert "rebuild --force" in said[0]


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".pi" / "rag").mkdir(parents=True)
    connection = apsw.Connection(str(_database(tmp_path)))
    connection.execute("CREATE TABLE chunks (text)")
    connection.close()
    before = _database(tmp_path).read_bytes()
    assert _hook(tmp_path, WEBHOOKS) == ("", [])
    assert _database(tmp_path).read_bytes() == before


def test_an_index_of_a_newer_version_is_told(project: Path) -> None:
    connection = apsw.Connection(str(_database(project)))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    context, said = _hook(project, WEBHOOKS)
    assert context == ""
    assert len(said) == 1
    assert "upgrade rag_agent" in said[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not valid JSON"),
        ("[]", "must hold an object"),
        ('{"ragTopK": "5"}', "ragTopK must be a whole number"),
        ('{"ragTokenBudget": 1}', "ragTokenBudget must be a whole number from 50"),
        ('{"ragEnabled": 1}', "ragEnabled must be true or false"),
    ],
)
def test_settings_that_cannot_be_used_are_told_in_one_line(
    project: Path, text: str, why: str
) -> None:
    (project / ".pi" / "rag" / "config.json").write_text(text, encoding="utf-8")
    context, said = _hook(project, WEBHOOKS)
    assert context == ""
    assert len(said) == 1
    assert why in said[0]


def test_settings_mean_here_what_they_mean_everywhere(tmp_path: Path) -> None:
    defaults = Settings()
    assert {name: getattr(defaults, name) for name in Settings.__slots__} == {
        name: getattr(Config(), name) for name in Settings.__slots__
    }
    # A whole number for a share and a byte order mark are fine, but need the program's checks.
    text = '\ufeff{"ragTopK": 3, "ragScoreThreshold": 1, "ragAutoRefresh": false}'
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    settings = read_settings(tmp_path)
    assert (settings.rag_top_k, settings.rag_score_threshold) == (3, 1.0)
    assert settings.rag_auto_refresh is False
    assert settings.rag_token_budget == Config().rag_token_budget


def test_while_it_answers_it_loads_next_to_nothing(project: Path) -> None:
    _configure(project, {"ragTopK": 3})
    event = {"hook_event_name": "UserPromptSubmit", "prompt": WEBHOOKS, "session_id": "s"}
    code = (
        "import json, sys; from rag_agent.hook.words import reply_without_server\n"
        "reply = reply_without_server('codex', sys.argv[1], sys.argv[2].encode(), print)\n"
        "print(json.dumps([json.loads(reply), sorted(sys.modules)]))"
    )
    command = [sys.executable, "-c", code, str(project), json.dumps(event)]
    # Measuring coverage loads much of what is not to be loaded.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    shown = subprocess.run(
        command, env=env, check=True, capture_output=True, encoding="utf-8"
    ).stdout
    reply, loaded = json.loads(shown.splitlines()[-1])
    assert "webhooks.py" in reply["hookSpecificOutput"]["additionalContext"]
    heavy = {"dataclasses", "inspect", "logging", "numpy", "rag_agent.types", "rag_agent.config"}
    assert heavy.isdisjoint(loaded)


def _configure(project: Path, settings: dict[str, object]) -> None:
    (project / ".pi" / "rag" / "config.json").write_text(json.dumps(settings), encoding="utf-8")
