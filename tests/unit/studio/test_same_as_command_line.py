"""The same file through the studio and the command line: the same plans, and with the same bits, documents."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from time import monotonic, sleep

import pytest

from blowfish_privacy.cli.main import run
from blowfish_privacy.ledger import create_ledger
from blowfish_privacy.release import run as releasing
from blowfish_privacy.statements.plan import plans_view
from blowfish_privacy.studio.draft import Draft
from blowfish_privacy.studio.publishing import downloads
from blowfish_privacy.studio.workshop import Workshop
from predictable import predictable_bits

FILE = """
version: 1
data: people.csv
ledger: people.ledger
budget: 3
policy:
  domain:
    age: {integer: [0, 30]}
    sex: {categorical: [Female, Male]}
    region: {categorical: [North, South, West]}
  secrets: {per_attribute: {age: {threshold: 3}, sex: full, region: public}}
  known:
    - {marginal: region}
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.3}
  - {name: up to, cumulative: age, epsilon: 0.3}
  - {name: mean age, mean: age, by: sex, epsilon: 0.25}
  - {name: regions, histogram: region, epsilon: 0.1}
  - {name: tables, tables: [[age], [sex, region]], epsilon: 0.2}
  - {name: where, histogram: age, where: {sex: Female}, epsilon: 0.2}
"""


class StandingClock(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _one_moment(monkeypatch):
    monkeypatch.setattr(releasing, "datetime", StandingClock)


def table(folder):
    folder.mkdir()
    rows = (f"{i * i % 31},{'Female' if i % 3 else 'Male'},{('North', 'South', 'West')[i % 3]}\n" for i in range(200))
    (folder / "people.csv").write_text("age,sex,region\n" + "".join(rows))
    (folder / "people.yaml").write_text(FILE)
    create_ledger(folder / "people.ledger", budget=Fraction(3))
    return folder


def planned(workshop):
    until = monotonic() + 60
    while workshop.stale and monotonic() < until:
        sleep(0.02)
    assert workshop.planning is not None
    return workshop.planning


def test_plans_are_the_same(tmp_path, capsys):
    folder = table(tmp_path / "one")
    assert run(["plan", str(folder / "people.yaml"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    workshop = Workshop(Draft.open(folder / "people.yaml"))
    try:
        planning = planned(workshop)
        shown = plans_view(planning.plans, planning.file.budget, planning.quote)
        offered = workshop.publisher.offer(workshop.file, workshop.draft.folder).batch
    finally:
        workshop.close()
    assert json.loads(json.dumps(shown)) == said
    assert json.loads(json.dumps(plans_view(offered.plans, planning.file.budget, offered.quote))) == said


def test_documents_are_the_same_byte_for_byte(tmp_path, monkeypatch):
    by_command, by_studio = table(tmp_path / "command"), table(tmp_path / "studio")
    monkeypatch.chdir(by_command)
    with predictable_bits("the same"):
        assert run(["release", "people.yaml", "--yes"]) == 0
    workshop = Workshop(Draft.open(by_studio / "people.yaml"))
    try:
        with predictable_bits("the same"):
            publication = workshop.publisher.publish(workshop.publisher.offer(workshop.file, by_studio))
            assert publication.wait(60)
    finally:
        workshop.close()
    assert publication.failed is None
    assert len(publication.published) == 6
    for name, made in publication.published.items():
        document, values, *_ = downloads(made.result)
        assert document.content() == (by_command / f"{name}.release.json").read_bytes()
        assert values.content() == (by_command / f"{name}.csv").read_bytes()
