"""Publishing in the background: charged once, one at a time, and the ledger's results again for nothing."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp
from threading import Event
from xml.etree import ElementTree

import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import BlowfishError, BudgetError, DataError, LedgerError, SpecError
from blowfish_privacy.ledger import create_ledger, open_ledger
from blowfish_privacy.release import spec
from blowfish_privacy.results import load
from blowfish_privacy.results.pictures.figure import drawn_from
from blowfish_privacy.session import load_policy
from blowfish_privacy.studio import publishing as module
from blowfish_privacy.studio.publishing import LedgerHistory, Publisher, downloads
from people import people_file, write_people

FILE = people_file(
    "name: ages, histogram: age, epsilon: 0.5",
    "name: mean age, mean: age, epsilon: 0.25",
    "name: sexes, histogram: sex, epsilon: 0.25",
).replace("sex: full", "sex: public")


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    return tmp_path


@pytest.fixture
def file(folder):
    return spec.loads(FILE, folder)


def published(publisher, file, folder, names=None):
    publication = publisher.publish(publisher.offer(file, folder, names))
    assert publication.wait(60)
    return publication


def test_what_was_offered_is_charged_and_made_in_the_background(file, folder):
    heard = []
    publisher = Publisher(changed=lambda: heard.append(True))
    publication = published(publisher, file, folder)
    assert not publication.running
    assert publication.failed is None
    assert publication.progress is None
    assert list(publication.published) == ["ages", "mean age", "sexes"]
    assert publication.published["ages"].result.counts.sum() == 60
    assert publication.published["ages"].paid_before is None
    assert publication.offer.batch.session.remaining == Fraction(1, 4)
    assert len(heard) == 5
    assert publisher.publication is publication


def test_what_the_ledger_holds_is_made_again_for_nothing(file, folder):
    first = published(Publisher(), file, folder).published["ages"]
    offer = Publisher().offer(file, folder)
    assert not offer.confirmation.spends
    assert offer.confirmation.question == "Hand out what is paid for? It costs nothing more."
    again = published(Publisher(), file, folder).published["ages"]
    assert again.result.text == first.result.text
    assert again.paid_before.startswith("entry 1 of ")


def test_some_releases_may_be_chosen(file, folder):
    publication = published(Publisher(), file, folder, ["mean age"])
    assert list(publication.published) == ["mean age"]
    assert publication.offer.batch.session.remaining == Fraction(3, 4)
    rest = Publisher().offer(file, folder).confirmation
    assert [each.cost for each in rest.releases] == ["epsilon 0.5 on age", "nothing more", "nothing: it has no noise"]


def test_a_choice_of_nothing_is_refused(file, folder):
    with pytest.raises(SpecError, match="no release is chosen"):
        Publisher().offer(file, folder, [])


def test_an_offer_says_what_is_spent_and_what_is_not_protected(file, folder):
    said = Publisher().offer(file, folder).confirmation
    assert said.spends
    assert said.question == "Spend epsilon 0.75 (leaving epsilon 0.25) and read the data?"
    assert said.balances == (("age", "0", "0.75", "0.25"),)
    assert any("sex" in sentence for sentence in said.unprotected)
    assert said.releases[2].notices
    assert [each.error.partition(" (")[2] for each in said.releases] == [
        "of a cell, in records)",
        "of the mean, in units of age)",
        "",
    ]
    assert said.releases[2].error == "none: the exact numbers"
    assert [each.query for each in said.releases] == ["Table of counts of age", "Mean of age", "Table of counts of sex"]


def test_an_offer_over_the_budget_is_refused(file, folder):
    published(Publisher(), file, folder)
    more = spec.loads(FILE.replace("0.5}", "0.6}"), folder)
    with pytest.raises(BudgetError):
        Publisher().offer(more, folder)


def test_there_is_one_publication_at_a_time(file, folder, monkeypatch):
    publisher, waiting, going_on = Publisher(), Event(), Event()
    offer = publisher.offer(file, folder)
    release = type(offer.batch).release

    def slow(batch, plan):
        waiting.set()
        going_on.wait(60)
        return release(batch, plan)

    monkeypatch.setattr(type(offer.batch), "release", slow)
    publication = publisher.publish(offer)
    assert waiting.wait(60)
    assert publisher.busy
    assert (publication.progress.number, publication.progress.of, publication.progress.name) == (1, 3, "ages")
    with pytest.raises(BlowfishError, match="another publication is under way"):
        publisher.publish(offer)
    publication.stop()
    going_on.set()
    assert publisher.wait(60)
    assert publication.stopped
    assert list(publication.published) == ["ages"]
    assert publication.ending == "1 of 3 releases were made. Publish again for the rest: it was not begun."


def test_an_error_after_the_charge_says_what_was_charged(file, folder):
    publisher = Publisher()
    offer = publisher.offer(file, folder)
    (folder / "people.csv").write_text("age,sex\nseven,Female\n")
    publication = publisher.publish(offer)
    assert publication.wait(60)
    assert publication.failed.name == "ages"
    assert "Its cost, 0.5, was charged (entry 1 of the ledger)" in publication.failed.message
    assert "seven" not in publication.failed.message
    assert publication.ending == (
        "0 of 3 releases were made. Publish again for the rest: ages is paid for and costs nothing more."
    )
    assert not publication.published


def test_data_that_vanish_cost_nothing_and_nothing_is_called_paid(file, folder):
    publisher = Publisher()
    offer = publisher.offer(file, folder)
    (folder / "people.csv").unlink()
    publication = publisher.publish(offer)
    assert publication.wait(60)
    assert "not there any more" in publication.failed.hint
    assert publication.failed.paid is False
    assert publication.ending == (
        "0 of 3 releases were made. Publish again for the rest: nothing was charged for ages."
    )
    assert open_ledger(folder / "people.ledger").spent == 0


def test_a_ledger_that_does_not_answer_says_nothing_of_payment(file, folder):
    publisher = Publisher()
    offer = publisher.offer(file, folder)
    (folder / "people.ledger").write_bytes(b"damaged")
    publication = publisher.publish(offer)
    assert publication.wait(60)
    assert publication.failed.paid is None
    assert publication.ending == "0 of 3 releases were made. Publish again for the rest."


def test_an_error_that_is_not_ours_is_named_by_its_kind_alone(file, folder, monkeypatch):
    publisher = Publisher()
    offer = publisher.offer(file, folder)

    def fail(batch, plan):
        error = ValueError("a value of the data")
        error.add_note("Nothing was charged.")
        raise error

    monkeypatch.setattr(type(offer.batch), "release", fail)
    publication = publisher.publish(offer)
    assert publication.wait(60)
    assert publication.failed.message == "an internal error (ValueError). Nothing was charged."


def test_the_history_is_that_of_the_ledger_and_gives_results_again(file, folder):
    made = published(Publisher(), file, folder).published
    told = LedgerHistory.of(open_ledger(folder / "people.ledger"))
    assert [(row.number, row.charged, row.lost_on) for row in told.rows] == [
        (3, "nothing", "-"),
        (2, "epsilon 0.25", "age"),
        (1, "epsilon 0.5", "age"),
    ]
    assert all(row.failed is None for row in told.rows)
    again = told.again(told.rows[2])
    assert again.result.text == made["ages"].result.text
    assert again.paid_before.startswith("entry 1 of ")
    assert [picture.title for picture in again.pictures] == ["ages"]
    assert [file.label for file in again.files][:2] == ["JSON", "CSV"]


def test_a_charge_without_a_document_says_so(file, folder):
    publisher = Publisher()
    offer = publisher.offer(file, folder)
    (folder / "people.csv").write_text("age,sex\nseven,Female\n")
    publisher.publish(offer)
    assert publisher.wait(60)
    told = LedgerHistory.of(open_ledger(folder / "people.ledger"))
    with pytest.raises(LedgerError, match="nothing was handed out for entry 1"):
        told.again(told.rows[0])


# The files that a page hands over are those that the command line writes.


DOWNLOADS_FILE = people_file(
    "name: ages, histogram: age, epsilon: 0.5",
    "name: mean ages, mean: age, by: sex, epsilon: 0.25",
)


@pytest.fixture
def downloads_folder(tmp_path, monkeypatch):
    write_people(tmp_path)
    (tmp_path / "people.yaml").write_text(DOWNLOADS_FILE)
    create_ledger(tmp_path / "people.ledger", budget=Fraction(1))
    monkeypatch.chdir(tmp_path)
    assert run(["release", "people.yaml", "--yes", "--svg", "--pdf"]) == 0
    return tmp_path


@pytest.mark.parametrize("name", ["ages", "mean ages"])
def test_files_are_those_of_the_command_line(downloads_folder, name):
    made = {each.name: each for each in downloads(load(downloads_folder / f"{name}.release.json"))}
    ends = (".release.json", ".csv", ".svg", ".pdf", ".png", ".card.html", ".card.md")
    assert list(made) == [f"{name}{end}" for end in ends]
    for end in (".release.json", ".csv", ".svg", ".pdf", ".png"):
        assert made[f"{name}{end}"].content() == (downloads_folder / f"{name}{end}").read_bytes()
    assert run(["card", f"{name}.release.json", "-o", "card.html"]) == 0
    assert made[f"{name}.card.html"].content() == (downloads_folder / "card.html").read_bytes()
    assert run(["card", f"{name}.release.json", "-o", "card.md"]) == 0
    assert made[f"{name}.card.md"].content() == (downloads_folder / "card.md").read_bytes()


def test_a_picture_in_svg_says_what_it_was_drawn_from(downloads_folder):
    result = load(downloads_folder / "ages.release.json")
    content = result.svg()
    assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"Drawn from the blowfish-privacy release document with SHA-256" in content
    assert drawn_from(result.text, result.png())


def test_what_is_too_large_for_a_page_is_left_to_the_command_line(downloads_folder, monkeypatch):
    monkeypatch.setattr(module, "_LARGEST", 10)
    with pytest.raises(DataError, match="too large for a page"):
        downloads(bp.load(downloads_folder / "ages.release.json"))[0].content()


def test_releases_of_one_name_are_files_of_their_own_and_one_page_states_all(downloads_folder):
    file = downloads_folder / "people.yaml"
    file.write_text(DOWNLOADS_FILE.replace("histogram: age, epsilon: 0.5", "histogram: age, epsilon: 0.25"))
    assert run(["release", str(file), "--yes", "--only", "ages", "--out", str(downloads_folder)]) == 0
    told = LedgerHistory.of(open_ledger(downloads_folder / "people.ledger", load_policy=load_policy))
    for row, name in zip(told.rows[::2], ("ages-2.release.json", "ages.release.json"), strict=True):
        document = told.again(row).files[0]
        assert document.name == name
        assert document.content() == (downloads_folder / name).read_bytes()
    page, text = (each.content().decode() for each in told.statements)
    assert page.startswith("<!doctype html>")
    sure = ceil(100 / (1 + exp(-float(told.ledger.spent))))
    assert f"at most {sure} % sure by reading all of them" in text
