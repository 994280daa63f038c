"""A small vault with every kind of link, as ``fixtures/vault`` holds it."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_agent
from rag_agent.context.render import answer, render_results
from rag_agent.errors import QueryError
from rag_agent.index import Index
from rag_agent.store import Store
from rag_agent.sync.lock import WriteLock
from rag_agent.tokens import estimate_tokens
from rag_agent.types import Related

FIXTURE = Path(__file__).resolve().parent.parent / "fixtures" / "vault"

# What each note links to; nothing else leads from it.
LINKS: dict[str, set[str]] = {
    "Start.md": {
        "Glossar.md",  # [[glossar#Vektor|…]], and "related" in the front matter
        "Ideen 💡.md",
        "Projekte/Übersicht.md",  # by its whole path
        "Täglich/2026-03-14.md",  # percent-encoded
        "資料/検索.md",
    },
    "Ideen 💡.md": {
        "Archiv/Übersicht.md",  # of two with the name the one with the shorter path
        "Brücke.md",
        "Start.md",  # embedded, a block of it
    },
    "Brücke.md": {"Start.md"},
    "Glossar.md": {"Ideen 💡.md", "資料/検索.md"},
    "Projekte/Übersicht.md": {
        "Archiv/Notiz.md",
        "Projekte/Alt/Notiz.md",
        "Projekte/Notiz.md",
        "Start.md",
    },
    "Projekte/Notiz.md": {"Projekte/Übersicht.md"},
    "Projekte/Alt/Notiz.md": set(),  # [[Notiz]] is itself, which is nearest
    "Archiv/Notiz.md": {"Archiv/Übersicht.md"},
    "Archiv/Übersicht.md": {"Archiv/Notiz.md", "Projekte/Notiz.md"},
    "Täglich/2026-03-14.md": {"Archiv/Notiz.md"},
    "資料/検索.md": {"Glossar.md", "Start.md"},
    "Insel.md": set(),
}
DEAD = {
    "Start.md": {"Fehlt noch"},
    "Brücke.md": {"L%C3%BCcke.md"},
    "Projekte/Übersicht.md": {"/Notiz"},
    "Täglich/2026-03-14.md": {"Heimathafen"},  # aliases lead nowhere, in Obsidian neither
}
TAGS = {
    "projekt": {"Start.md", "Ideen 💡.md", "Projekte/Übersicht.md", "Täglich/2026-03-14.md"},
    "projekt/rag": {"Start.md", "Ideen 💡.md", "Täglich/2026-03-14.md"},
    "entwurf": {"Projekte/Übersicht.md"},
    "über/uns": {"Start.md"},
    "💡": {"Ideen 💡.md"},
    "archiv": {"Archiv/Notiz.md"},
    "tagebuch": {"Täglich/2026-03-14.md"},
    "標": set(),
    "资料": set(),
    "資料": {"資料/検索.md"},
    "标签": {"資料/検索.md"},
    "1984": set(),
    "nicht": set(),
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "Mein Tresor"
    shutil.copytree(FIXTURE, folder)
    return folder


@pytest.fixture
def index(vault: Path) -> Iterator[Index]:
    with rag_agent.open(vault) as opened:
        opened.sync(vectors=False)
        yield opened


def linked(found: Related) -> dict[str, int]:
    return {one.path: one.depth for one in found.links}


def found(index: Index, question: str, where: str = "") -> set[str]:
    return {hit.path for hit in index.search(question, limit=50, where=where)}


def test_related_is_what_a_note_links_to_and_what_links_to_it(index: Index) -> None:
    for path, targets in LINKS.items():
        near = index.related(path, limit=100).links
        assert {one.path for one in near if one.forward} == targets, path
        back = {one for one, others in LINKS.items() if path in others}
        assert {one.path for one in near if one.back} == back, path
        assert {(one.depth, one.via) for one in near} <= {(1, path)}


def test_dead_links_are_named_and_no_others(index: Index) -> None:
    dead = {path: {link.target for link in index.related(path).dead} for path in LINKS}
    assert dead == {path: DEAD.get(path, set()) for path in LINKS}


def test_each_document_is_there_once_at_its_distance_however_the_links_turn(index: Index) -> None:
    edges = {(a, b) for a, targets in LINKS.items() for b in targets}
    distance = {"Brücke.md": 0}
    for step in range(1, 11):
        reached = {
            other
            for pair in edges
            for one, other in (pair, pair[::-1])
            if distance.get(one) == step - 1 and other not in distance
        }
        distance.update(dict.fromkeys(reached, step))
        near = index.related("Brücke.md", depth=step, limit=100)
        assert linked(near) == {path: far for path, far in distance.items() if far}
        assert len(near.links) == near.linked == len(linked(near))
    assert max(distance.values()) == 3
    assert "Insel.md" not in distance


def test_a_limit_shows_the_nearest_and_says_how_many_there_are(index: Index) -> None:
    near = index.related("Brücke.md", depth=10, limit=2)
    assert [one.depth for one in near.links] == [1, 1]
    assert near.linked == len(LINKS) - 2  # all but itself and the island


def test_a_document_is_meant_however_its_path_is_written(index: Index) -> None:
    for path in (
        "Projekte/Übersicht.md",
        "projekte/übersicht",
        "./Projekte/Übersicht.md",
        unicodedata.normalize("NFD", "Projekte/Übersicht.md"),
        "Projekte\\Übersicht.md",
    ):
        assert index.related(path).path == "Projekte/Übersicht.md"


def test_an_absolute_path_and_the_end_of_one_mean_a_document_too(index: Index, vault: Path) -> None:
    assert index.related(vault / "Projekte" / "Alt" / "Notiz.md").path == "Projekte/Alt/Notiz.md"
    assert index.related("Alt/Notiz").path == "Projekte/Alt/Notiz.md"


def test_a_path_that_means_several_documents_or_none_is_an_error_that_says_so(
    index: Index,
) -> None:
    with pytest.raises(QueryError, match=r"may be Archiv/Notiz\.md, Projekte/Alt/Notiz\.md, "):
        index.related("Notiz.md")
    with pytest.raises(QueryError, match=r"no indexed document is called 'Nirgends\.md'"):
        index.related("Nirgends.md")
    with pytest.raises(QueryError, match="depth is 11"):
        index.related("Start.md", depth=11)


def test_a_tag_finds_the_notes_that_have_it_or_one_below(index: Index) -> None:
    everything = "Notiz Übersicht Ideen Start Heute 検索 zurück siehe alles Brücke Vektor Projekte"
    assert {tag: found(index, everything, f"tag:{tag}") for tag in TAGS} == TAGS


def test_an_alias_finds_its_note_as_a_title_does(index: Index) -> None:
    assert index.search("Home sweet home").hits[0].path == "Start.md"
    assert found(index, "Heimathafen") == {"Start.md", "Täglich/2026-03-14.md"}
    assert index.search("Übergang").hits[0].path == "Brücke.md"


def test_a_hit_in_a_vault_carries_what_opens_it_in_obsidian(index: Index) -> None:
    (hit,) = [hit for hit in index.search("Vektorsuche wäre schön") if hit.path == "Ideen 💡.md"]
    assert hit.address == "obsidian://open?vault=Mein%20Tresor&file=Ideen%20%F0%9F%92%A1"
    near = {one.path: one.address for one in index.related("Brücke.md", depth=3).links}
    assert near["資料/検索.md"] == (
        "obsidian://open?vault=Mein%20Tresor&file=%E8%B3%87%E6%96%99%2F%E6%A4%9C%E7%B4%A2"
    )


def test_an_answer_for_a_model_has_the_addresses_and_counts_their_tokens(index: Index) -> None:
    results = index.search("Vektorsuche wäre schön")
    text = render_results(results)
    assert "Ideen%20%F0%9F%92%A1\n" in text
    made = answer(results)
    for hit, numbers in made.shown:
        assert hit.address in made.text
        assert len(numbers) >= 3
    lines = made.text.split("\n")[made.before :]
    assert sum(len(numbers) for _, numbers in made.shown) == len(lines)
    for budget in (200, 300, 500):
        assert estimate_tokens(render_results(results, budget)) <= budget


def test_a_folder_in_a_vault_has_the_addresses_of_the_vault(vault: Path) -> None:
    with rag_agent.open(vault / "Projekte") as index:
        index.sync(vectors=False)
        (hit,) = [hit for hit in index.search("alte Notiz") if hit.path == "Alt/Notiz.md"]
        assert hit.address == "obsidian://open?vault=Mein%20Tresor&file=Projekte%2FAlt%2FNotiz"
        # Whole paths are those of the vault.
        near = index.related("Übersicht.md", limit=20)
        assert {one.path for one in near.links} == {"Notiz.md", "Alt/Notiz.md"}


def test_outside_of_a_vault_there_is_no_address(vault: Path) -> None:
    shutil.rmtree(vault / ".obsidian")
    with rag_agent.open(vault) as index:
        index.sync(vectors=False)
        assert {hit.address for hit in index.search("alte Notiz")} == {""}


def test_what_starts_from_a_note_puts_its_neighbours_first_and_leaves_nothing_out(
    index: Index,
) -> None:
    question = "Notiz"
    plain = [hit.path for hit in index.search(question, limit=20)]
    near = index.search(question, limit=20, where="near:Täglich/2026-03-14.md")
    paths = [hit.path for hit in near]
    assert set(paths) == set(plain)
    assert paths[0] == "Archiv/Notiz.md" != plain[0]
    assert near.hits[0].signals["links"] > 0
    assert "links" not in near.hits[-1].signals


def test_a_start_that_is_not_there_is_an_error_and_so_is_a_negated_one(index: Index) -> None:
    with pytest.raises(QueryError, match=r"no indexed document is called 'nichts\.md'"):
        index.search("Notiz", where="near:nichts.md")
    with pytest.raises(QueryError, match="only moves documents up"):
        index.search("Notiz", where="-near:Start.md")


def test_similar_files_are_found_by_meaning_and_by_words_without_vectors(vault: Path) -> None:
    with rag_agent.open(vault) as index:
        index.sync(vectors=False)
        before = index.related("Projekte/Notiz.md", limit=3)
        assert before.mode == "lexical"
        assert before.notes == ("compared by words only: it has no vector yet",)
        assert "Projekte/Notiz.md" not in [hit.path for hit in before.similar]
        assert len(before.similar) == 3
        index.embed()
        after = index.related("Projekte/Notiz.md", limit=3)
        assert after.mode == "hybrid"
        assert after.notes == ()
        cosines = [hit.score for hit in after.similar]
        assert cosines == sorted(cosines, reverse=True)
        assert len({hit.path for hit in after.similar} - {"Projekte/Notiz.md"}) == 3
        place = index.related("Start.md", line=12, limit=3)
        assert (place.line, place.mode, len(place.similar)) == (12, "hybrid", 3)


def test_files_are_like_each_other_as_soon_as_they_have_cards(vault: Path) -> None:
    with rag_agent.open(vault) as index:
        index.sync()
        whole = index.related("Start.md", limit=50).similar
        with Store.open(vault / ".pi" / "rag" / "rag.db") as store:
            store._database.rows("DELETE FROM vectors")
        cards = index.related("Start.md", limit=50)
    assert cards.mode == "hybrid"
    assert (
        {hit.path for hit in cards.similar}
        == {hit.path for hit in whole}
        == set(LINKS) - {"Start.md"}
    )
    cosines = [hit.score for hit in cards.similar]
    assert cosines == sorted(cosines, reverse=True)


# What is edited, added, renamed or deleted


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def test_an_edit_changes_links_backlinks_tags_and_text(index: Index, vault: Path) -> None:
    write(vault / "Insel.md", "Nicht mehr allein: [[Start]]. #neu/land Leuchtturm.\n")
    index.refresh()
    assert linked(index.related("Insel.md")) == {"Start.md": 1}
    assert "Insel.md" in linked(index.related("Start.md", limit=50))
    assert found(index, "Leuchtturm", "tag:neu") == {"Insel.md"}
    assert not any("ohne Links" in hit.chunk.text for hit in index.search("ohne Links"))
    write(vault / "Insel.md", "Wieder ohne.\n")
    index.refresh()
    assert linked(index.related("Insel.md")) == {}
    assert "Insel.md" not in linked(index.related("Start.md", limit=50))
    assert found(index, "Leuchtturm Wieder", "tag:neu") == set()


def test_a_new_file_takes_over_the_links_that_mean_it_and_gives_them_back(
    index: Index, vault: Path
) -> None:
    daily = "Täglich/2026-03-14.md"
    assert linked(index.related(daily)) == {"Archiv/Notiz.md": 1, "Start.md": 1}
    write(vault / "Notiz.md", "Ganz oben.\n")  # the whole path of [[Notiz]] now
    index.refresh()
    assert linked(index.related(daily)) == {"Notiz.md": 1, "Start.md": 1}
    assert index.related("Projekte/Übersicht.md").dead == ()  # [[/Notiz]] is no longer dead
    assert daily not in linked(index.related("Archiv/Notiz.md"))
    (vault / "Notiz.md").unlink()
    index.refresh()
    assert linked(index.related(daily)) == {"Archiv/Notiz.md": 1, "Start.md": 1}
    assert daily in linked(index.related("Archiv/Notiz.md"))


def test_a_renamed_file_loses_its_links_and_gets_those_to_its_new_name(
    index: Index, vault: Path
) -> None:
    (vault / "Insel.md").rename(vault / "Fehlt noch.md")
    index.refresh()
    assert index.related("Start.md").dead == ()
    assert linked(index.related("Fehlt noch.md")) == {"Start.md": 1}
    (vault / "Brücke.md").rename(vault / "Steg.md")
    index.refresh()
    assert "Brücke" in {link.target for link in index.related("Ideen 💡.md").dead}
    assert linked(index.related("Steg.md")) == {"Start.md": 1}


def test_a_deleted_file_is_no_neighbour_any_more(index: Index, vault: Path) -> None:
    (vault / "Glossar.md").unlink()
    index.refresh()
    assert "Glossar.md" not in linked(index.related("資料/検索.md", depth=10, limit=50))
    dead = {link.target for link in index.related("資料/検索.md").dead}
    assert dead == {"Glossar#^vektor"}


def test_what_changed_since_the_last_sync_is_right_at_the_next_question(
    index: Index, vault: Path
) -> None:
    write(vault / "Brücke.md", "Nun nach [[Insel]].\n")
    assert linked(index.related("Brücke.md")) == {"Ideen 💡.md": 1, "Insel.md": 1}
    (vault / "Ideen 💡.md").unlink()
    assert linked(index.related("Brücke.md")) == {"Insel.md": 1}
    (vault / "Brücke.md").unlink()
    with pytest.raises(QueryError, match=r"no indexed document is called 'Brücke\.md'"):
        index.related("Brücke.md")


def test_a_search_starts_from_a_note_as_it_is_now(index: Index, vault: Path) -> None:
    write(vault / "Insel.md", "Nun nach [[Archiv/Notiz]].\n")
    near = index.search("Notiz", limit=20, where="near:Insel.md")
    assert near.hits[0].path == "Archiv/Notiz.md"
    assert near.hits[0].signals["links"] > 0
    (vault / "Insel.md").unlink()
    with pytest.raises(QueryError, match=r"no indexed document is called 'Insel\.md'"):
        index.search("Notiz", where="near:Insel.md")


def test_while_another_process_writes_changed_files_are_named(index: Index, vault: Path) -> None:
    write(vault / "Brücke.md", "Nun nach [[Insel]].\n")
    with WriteLock(vault / ".pi" / "rag"):
        near = index.related("Brücke.md")
    assert near.notes[-1] == "1 file(s) have changed since indexing"


def test_names_that_the_disk_keeps_decomposed_are_linked_all_the_same(
    index: Index, vault: Path
) -> None:
    # As older file systems of macOS store them.
    (vault / "Brücke.md").unlink()
    write(vault / unicodedata.normalize("NFD", "Brücke.md"), "Zurück: [[Start]].\n")
    index.refresh()
    near = index.related("Start.md", limit=50).links
    assert unicodedata.normalize("NFD", "Brücke.md") in {
        unicodedata.normalize("NFD", one.path) for one in near
    }


# What must not be found


def test_a_note_that_says_so_is_left_out_and_the_reason_is_told(index: Index) -> None:
    assert found(index, "Niemand soll das finden") & {"Privat.md"} == set()
    skipped = {one.path: one for one in index.status().skipped}
    assert skipped["Privat.md"].reason == "rag: false"
    with pytest.raises(QueryError):
        index.related("Privat.md")


@pytest.mark.parametrize("word", ["false", "False", "no", "off", "'false'"])
def test_a_note_that_comes_to_say_so_is_forgotten_and_comes_back(
    index: Index, vault: Path, word: str
) -> None:
    text = (vault / "Glossar.md").read_text(encoding="utf-8")
    write(vault / "Glossar.md", f"---\nrag: {word}\n---\n{text}")
    assert index.refresh().removed == 1
    assert "Glossar.md" not in found(index, "Eine Liste von Zahlen")
    write(vault / "Glossar.md", f"---\nrag: true\n---\n{text}")
    assert index.refresh().added == 1
    assert "Glossar.md" in found(index, "Eine Liste von Zahlen")


def test_an_excluded_tag_takes_its_notes_out_and_gives_them_back(index: Index) -> None:
    index.configure(exclude_tags=["#Projekt/RAG", "tagebuch"])
    report = index.refresh()
    gone = TAGS["projekt/rag"] | TAGS["tagebuch"]
    assert report.removed == len(gone)
    skipped = {s.path: (s.reason, s.detail) for s in index.status().skipped}
    assert {path for path, (reason, _) in skipped.items() if reason == "excluded tag"} == gone
    assert skipped["Ideen 💡.md"] == ("excluded tag", "#projekt/rag/suche")
    assert found(index, "Notiz Ideen Start Heute Übersicht") & gone == set()
    assert index.refresh().removed == 0  # and it is so at the next sync, which reads none of them
    index.configure(exclude_tags=["archiv"])
    report = index.refresh()
    assert (report.added, report.removed) == (len(gone), 1)
    index.configure(exclude_tags=[])
    assert index.refresh().added == 1


def test_a_note_that_gets_or_loses_an_excluded_tag_goes_and_comes(
    index: Index, vault: Path
) -> None:
    index.configure(exclude_tags=["geheim"])
    write(vault / "Insel.md", "Allein. #geheim/sehr\n")
    assert index.refresh().removed == 1
    assert "Insel.md" not in found(index, "Allein")
    write(vault / "Insel.md", "Allein. #geheimnis\n")
    assert index.refresh().added == 1
    assert "Insel.md" in found(index, "Allein")


def test_a_search_does_not_show_what_was_withdrawn_since_the_last_sync(
    index: Index, vault: Path
) -> None:
    write(vault / "Insel.md", "---\nrag: false\n---\nAllein, ohne Links.\n")
    assert "Insel.md" not in found(index, "Allein, ohne Links")
    with rag_agent.open(vault) as again:
        again.refresh()
        write(vault / "Glossar.md", "---\nrag: false\n---\nEine Liste von Zahlen.\n")
        with WriteLock(vault / ".pi" / "rag"):  # so that it cannot be taken out of the index now
            assert "Glossar.md" not in found(again, "Eine Liste von Zahlen")


def test_an_alias_that_is_a_secret_is_no_name(index: Index, vault: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write(vault / "Insel.md", f"---\naliases: [{token}, Eiland]\n---\nAllein.\n")
    index.sync(vectors=False)
    assert found(index, "Eiland") == {"Insel.md"}
    assert "Insel.md" not in found(index, token)


def test_the_settings_of_obsidian_and_its_trash_are_not_searched(vault: Path) -> None:
    (vault / ".trash").mkdir()
    write(vault / ".trash" / "Weg.md", "Gelöscht, siehe [[Start]].\n")
    write(vault / ".obsidian" / "plugin.js", "function shortest() { return 'newLinkFormat'; }\n")
    with rag_agent.open(vault) as index:
        index.sync(vectors=False)
        assert {document.path for document in index.find("*")} == set(LINKS)


def test_an_ignored_folder_leaves_the_index_at_the_next_sync(index: Index, vault: Path) -> None:
    write(vault / ".ragignore", "Archiv/\n")
    assert index.refresh().removed == 2
    assert found(index, "Übersicht Archiv Notiz") & {"Archiv/Übersicht.md"} == set()
    assert linked(index.related("Ideen 💡.md"))["Projekte/Übersicht.md"] == 1  # what is left


# Links of ordinary repositories


def test_links_between_documents_of_a_repository_lead_to_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    files = {
        "README.md": '[guide](docs/guide.md) [code](src/main.py#L3) <a href="docs/faq.md?x">F</a>',
        "docs/guide.md": "[home](/README.md) [faq](faq.md 'More') [lost](main.py)\n[b]: ./faq.md",
        "docs/faq.md": "[elsewhere](https://example.org/guide.md) ![logo](../logo.png) [[guide]]",
        "src/main.py": "def main():\n    return 0\n",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write(folder / path, text)
    (folder / "logo.png").write_bytes((FIXTURE / "Anhänge" / "plan.png").read_bytes())
    os.utime(folder / "README.md", (1, 1))
    with rag_agent.open(folder) as index:
        index.sync(vectors=False)
        links = {path: index.related(path) for path in files}
    forward = {p: {one.path for one in near.links if one.forward} for p, near in links.items()}
    assert forward == {
        "README.md": {"docs/guide.md", "src/main.py", "docs/faq.md"},
        "docs/guide.md": {"README.md", "docs/faq.md"},
        "docs/faq.md": {"docs/guide.md"},
        "src/main.py": set(),
    }
    assert [link.target for link in links["docs/guide.md"].dead] == ["main.py"]
    assert links["docs/faq.md"].dead == ()  # the picture is there, though it is not indexed


def test_vaults_side_by_side_do_not_link_into_each_other(tmp_path: Path) -> None:
    for name in ("de", "en"):
        (tmp_path / "help" / name / ".obsidian").mkdir(parents=True)
        (tmp_path / "help" / name / "sub").mkdir()
        write(tmp_path / "help" / name / "Home.md", "[[Topic]] and [other](../en/Only.md)\n")
        write(tmp_path / "help" / name / "sub" / "Topic.md", "[[Home]] [[Only]]\n")
    write(tmp_path / "help" / "en" / "Only.md", "There is no translation of this.\n")
    write(tmp_path / "help" / "README.md", "[German](de/Home.md), [English](en/Home.md)\n")
    with rag_agent.open(tmp_path / "help") as index:
        index.sync(vectors=False)
        near = index.related("de/Home.md", limit=20).links
        assert {one.path for one in near if one.forward} == {"de/sub/Topic.md", "en/Only.md"}
        assert {one.path for one in near if one.back} == {"de/sub/Topic.md", "README.md"}
        assert [link.target for link in index.related("de/sub/Topic.md").dead] == ["Only"]
        only = index.related("en/Only.md").links
        assert {one.path for one in only} == {"de/Home.md", "en/Home.md", "en/sub/Topic.md"}
        addresses = {one.path: one.address for one in near}
        assert addresses["de/sub/Topic.md"] == "obsidian://open?vault=de&file=sub%2FTopic"
        assert addresses["README.md"] == ""


def test_links_lead_from_one_tracked_folder_to_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "project" / name).mkdir(parents=True)
    write(tmp_path / "project" / "one" / "a.md", "[b](../two/b.md) [gone](../two/c.md)\n")
    write(tmp_path / "project" / "two" / "b.md", "Text.\n")
    with rag_agent.open(tmp_path / "project") as index:
        index.sync("one", vectors=False)
        assert linked(index.related("one/a.md")) == {}
        index.sync("two", vectors=False)
        near = index.related("one/a.md")
        assert linked(near) == {"two/b.md": 1}
        assert [link.target for link in near.dead] == ["../two/c.md"]
        assert linked(index.related("two/b.md")) == {"one/a.md": 1}
