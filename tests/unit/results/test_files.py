"""Tables by columns: the same rows and the same bytes as row by row."""

from __future__ import annotations

import csv
import io

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.release import document, reading, verification
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.results.result import distinct, parquet, typed, written_from
from blowfish_privacy.support.arrays import Columns, Labels, estimates, rounded_column, single_estimates
from blowfish_privacy.support.csv_tables import csv_pieces, csv_table
from blowfish_privacy.support.files import write_atomically

TEXTS = ["plain", "", "two words", 'a "quote"', "a,comma", "=1+1", "-5", "'", "line\nbreak", "é", "1e5", "+x"]


def by_rows(header, columns):
    return csv_table(header, [*columns])


@given(st.data())
def test_bulk_writes_the_same_bytes_as_row_by_row(data):
    many = data.draw(st.integers(0, 12))
    exact = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=many, max_size=many)
    numbers = st.lists(
        st.sampled_from([0.0, -0.0, 1.5, 1e16, 1e-7, 0.1, 1e300]) | st.floats(), min_size=many, max_size=many
    )
    places = st.lists(st.integers(0, len(TEXTS) - 1), min_size=many, max_size=many)
    columns = [
        Labels(TEXTS, np.array(data.draw(places), dtype=np.int64)),
        np.array(data.draw(exact), dtype=np.int64),
        np.array(data.draw(numbers)),
    ]
    kept = columns[: data.draw(st.integers(1, 3))]
    header = ["a", "=b", "c"][: len(kept)]
    assert csv_table(header, Columns(*kept)) == by_rows(header, Columns(*kept))


def test_texts_come_back_from_a_bulk_table():
    table = csv_table(["text", "number"], Columns(Labels.of_all(TEXTS), np.arange(len(TEXTS))))
    read = [*csv.reader(io.StringIO(table.decode(), newline=""))][1:]
    assert [row[0].removeprefix("'") if row[0].startswith("'") else row[0] for row in read] == TEXTS


@given(st.lists(st.floats(-1e18, 1e18) | st.integers(-(10**9), 10**9).map(lambda n: n / 2000)), st.integers(0, 6))
def test_a_column_is_rounded_as_python_rounds(numbers, digits):
    made = rounded_column(np.array(numbers, dtype=np.float64), digits)
    assert [*map(repr, made.tolist())] == [repr(round(number, digits)) for number in numbers]


def test_numbers_keep_the_digits_that_their_error_leaves():
    def single(numbers, errors):
        return single_estimates(np.array(numbers), errors).tolist()

    def shown(numbers, errors):
        return estimates(np.array(numbers), errors).tolist()

    # Sums have errors of millions: a hundredth of those is enough, and whole numbers stay whole.
    assert repr(single([249_381_009, -51], 14_142_136.0)) == "[249400000, 0]"
    assert single([249_381_009.25], 14_142_136.0) == [249_400_000.0]
    assert single([12_345], 999.0) == [12_345]
    assert single([249_381_009, 12_345], [14_142_136.0, 0.0]) == [249_400_000, 12_345]
    assert single([249_381_009], 0.0) == [249_381_009]
    # The cells of a map are small where the error of a rectangle, which is stated for them, is large.
    assert shown([3.25, 17.5], 14_142_136.0) == [3.0, 18.0]
    assert shown([249_381_009], 14_142_136.0) == [249_381_009]
    # Exact means have digits without end; exact sums keep their decimals.
    for either in (single, shown):
        assert either([38.511530398322854], 0.0) == [38.5115304]
        assert either([1 / 3], 0.0) == [0.3333333333]
        assert either([123_456_789_012.125], 0.0) == [123_456_789_012.125]
        assert either([0.0], 0.0) == [0.0]


@pytest.mark.parametrize(
    "query", [bp.Cumulative("a"), bp.Histogram("a", "b"), bp.RangeGrid("a", "b"), bp.Histogram("b")], ids=repr
)
def test_results_write_the_same_bytes_in_bulk(query):
    domain = bp.Domain(a=bp.Integer(-3, 8), b=bp.Integer(0, 4))
    counts = np.arange(60).reshape(12, 5)
    session = bp.Session(bp.Counts(counts), bp.Policy(domain, secrets=bp.FullDomain()), budget=5)
    result = session.release(query, epsilon=1)
    assert isinstance(result.rows(), Columns)
    assert result.csv() == by_rows(result.header, result.rows())
    assert [*map(str, next(result.rows()))] == result.csv().decode().splitlines()[1].split(",")


# Tables as Parquet and as CSV in pieces: the same as the rows, whatever the names and values.


FILE = """
version: 1
data: t.csv
ledger: t.ledger
budget: 1.0
policy:
  domain: {a: {integer: [0, 3]}, "it's \\"b\\"": {categorical: [x, 'O''Neil', "=1+1"]}}
  secrets: full
releases: [{name: both, histogram: [a, "it's \\"b\\""], epsilon: 0.5}]
"""


def read(content, tmp_path):
    path = tmp_path / "read.parquet"
    path.write_bytes(content)
    return duckdb.sql(f"SELECT * FROM read_parquet('{path}')")


def test_a_table_is_the_same_as_its_rows(tmp_path):
    domain = bp.Domain({"a": bp.Integer(0, 3), 'it\'s "b"': bp.Categorical(["x", "O'Neil", "=1+1"])})
    session = bp.Session(bp.Counts(np.arange(12).reshape(4, 3)), bp.Policy(domain, secrets=bp.FullDomain()), budget=1)
    result = session.release(bp.Histogram(*domain.names), epsilon="0.5")
    found = read(result.parquet(), tmp_path)
    assert found.columns == result.header
    assert [tuple(map(str, row)) for row in found.fetchall()] == [tuple(map(str, row)) for row in result.rows()]
    result.to_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    assert written_from(result.text, content)
    assert not written_from(result.text + " ", content)
    groups = session.release(bp.Histogram("a").by(domain.names[1]), epsilon="0.1")
    assert len(read(groups.parquet(), tmp_path).fetchall()) == 12


def test_columns_have_the_type_of_their_cells():
    assert typed([1, 2]).dtype == np.int64
    assert typed([1, 2.5]).dtype == np.float64
    assert typed([True, False]).dtype == np.bool_
    assert typed([True, 2]).tolist() == ["True", "2"]
    assert typed(["a", 2]).tolist() == ["a", "2"]
    assert typed([2**70]).tolist() == [float(2**70)]
    assert typed([np.int64(4), np.float64(0.5)]).tolist() == [4.0, 0.5]


def test_names_that_readers_take_for_one_are_numbered(tmp_path):
    assert distinct(["Age", "age", "age", "age_2"]) == ["Age", "age_2", "age_3", "age_2_2"]
    columns = {name: np.arange(3) for name in distinct(["Age", "age"])}
    assert read(parquet(columns, document="d"), tmp_path).columns == ["Age", "age_2"]


def test_pieces_of_a_table_are_the_whole_table(monkeypatch):
    monkeypatch.setattr("blowfish_privacy.support.csv_tables._ROWS", 7)
    shown = [["x", 'a "quoted", text', "=1+1", "", "two\nlines"], [1, -2, 3.5], [True, False]]
    generator = np.random.default_rng(3)
    positions = np.stack([generator.integers(0, len(cells), 50) for cells in shown], axis=1)
    rows = [[cells[at] for cells, at in zip(shown, row, strict=True)] for row in positions.tolist()]
    written = b"".join(csv_pieces(["a", "=b", "c"], shown, positions))
    read, expected = (
        list(csv.reader(io.StringIO(content.decode(), newline="")))
        for content in (written, csv_table(["a", "=b", "c"], rows))
    )
    assert read == expected


def test_a_file_in_pieces_is_whole_or_not_there(tmp_path):
    write_atomically(tmp_path / "whole", iter([b"one", b"two"]))
    assert (tmp_path / "whole").read_bytes() == b"onetwo"

    def broken():
        yield b"one"
        raise MemoryError

    with pytest.raises(MemoryError):
        write_atomically(tmp_path / "broken", broken())
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_the_middle_of_a_bin_is_in_it():
    binned = bp.Binned([0, 1, 5, "1e-320", 1e300][:3])
    assert [binned.example(position) for position in range(2)] == [0.5, 3.0]
    narrow = bp.Binned([1.0, np.nextafter(1.0, 2), 2])
    assert [narrow.position(narrow.example(position)) for position in range(2)] == [0, 1]
    assert bp.Integer(3, 5).example(1) == 4


def test_the_command_writes_parquet_when_asked(tmp_path, capsys):
    (tmp_path / "t.csv").write_text('a,"it\'s ""b"""\n1,x\n2,O\'Neil\n')
    file, out = str(tmp_path / "p.yaml"), tmp_path / "out"
    (tmp_path / "p.yaml").write_text(FILE)
    assert run(["ledger", "create", file]) == 0
    assert run(["release", file, "--yes", "--out", str(out)]) == 0
    assert not (out / "both.parquet").exists()
    assert run(["release", file, "--yes", "--out", str(out), "--parquet"]) == 0
    assert "both.parquet" in capsys.readouterr().out
    written = (out / "both.parquet").read_bytes()
    assert run(["release", file, "--yes", "--out", str(out), "--parquet"]) == 0
    assert (out / "both.parquet").read_bytes() == written
    (out / "both.parquet").write_bytes(b"somebody's")
    assert run(["release", file, "--yes", "--out", str(out), "--parquet"]) == 2
    assert "not its own earlier output" in capsys.readouterr().err
    assert (out / "both.parquet").read_bytes() == b"somebody's"


# What a forger can change in a document and seal anew is noticed wherever it can be worked out again.


AGES = bp.Policy(bp.Domain(age=bp.Integer(0, 63)), secrets=bp.DistanceThreshold(4))

ZONES = bp.Domain(zone=bp.Categorical(["A", "B", "C"]), age=bp.Integer(0, 9))

OPEN = bp.PerAttribute(zone=bp.Public(), age=bp.FullDomain())


def released(policy=AGES, query=bp.Cumulative("age")):  # noqa: B008
    counts = np.full(policy.domain.shape, 3)
    return reading.parse(bp.Session(bp.Counts(counts), policy, budget=1).release(query, epsilon=1).text)


def by_zone(policy, epsilon="0.5"):
    session = bp.Session(bp.Counts(np.full((3, 10), 3)), policy, budget=1)
    return reading.parse(session.release(bp.Histogram("age").by("zone"), epsilon=epsilon).text)


def problems(body):
    return verification.problems(document.dumps(body))


@pytest.mark.parametrize("size", [64, 20_000])
def test_simulated_errors_are_the_same_every_time(size):
    policy = bp.Policy(bp.Domain(age=bp.Integer(0, size - 1)), secrets=bp.DistanceThreshold(40))
    plans = [make_plan(bp.Cumulative("age"), policy, epsilon=1, records=5_000) for _ in range(2)]
    first, second = (plan.expected_error() for plan in plans)
    assert first.interval("0.95") == second.interval("0.95")
    assert first.mse == second.mse
    assert first.by_width([7]) == second.by_width([7])
    if size < 100:
        assert plans[0].explain() == plans[1].explain()


def test_a_smaller_error_than_the_true_one_is_noticed():
    body = released()
    assert problems(body) == []
    for key, factor in (("within_95_in_100", 0.71), ("within_95_in_100", 0.999), ("rmse", 0.999)):
        forged = {**body, "error": {**body["error"], key: factor * body["error"][key]}}
        assert any(key in problem for problem in problems(forged)), key


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"name": 5},
        {"time": 5},
        {"time": "yesterday"},
        {"time": "2026-01-01"},
        {"ledger": None},
        {"ledger": {}},
        {"ledger": {"key": "k", "entry": 0}},
        {"ledger": {"key": "k", "entry": True}},
        {"ledger": {"key": 1, "entry": 1}},
        {"package": None},
        {"package": {"name": "blowfish-privacy", "version": 1}},
        {"package": {"name": "whitefish-privacy", "version": "1"}},
        {"differential_privacy": "epsilon 0.0001, certified"},
        {"values": [True] * 64},
    ],
)
def test_labels_of_another_form_are_noticed(change):
    assert problems({**released(), **change})


def test_a_version_that_only_looks_like_one_is_refused():
    with pytest.raises(bp.SpecError, match="version"):
        problems({**released(), "version": True})


def test_exact_counts_that_cannot_be_counts_are_noticed():
    policy = bp.Policy(ZONES, secrets=OPEN)
    body = released(policy, bp.Histogram("zone"))
    assert body["values"] == [30, 30, 30]
    assert problems(body) == []
    for values in ([31, 30, 30], [-1, 45, 46]):
        assert any("exact counts" in problem for problem in problems({**body, "values": values}))


def test_the_keys_of_a_document_are_those_that_are_written():
    assert set(released()) - {"sha256"} == document.KEYS


def test_a_part_that_is_dropped_is_noticed():
    body = by_zone(bp.Policy(ZONES, secrets=OPEN))
    assert problems(body) == []
    groups = body["groups"]
    for change in (
        {"parts": groups["parts"][:-1]},
        {"left_out": 1},
        {"parts": groups["parts"][:-1], "left_out": True},
        {"parts": [*groups["parts"][:-1], groups["parts"][0]]},
    ):
        assert problems({**body, "groups": {**groups, **change}}), change
    assert problems({**body, "error": {**body["error"], "rmse": 0.1}})


def test_parts_that_nobody_asked_for_are_said_to_be_left_out():
    body = by_zone(bp.Policy(ZONES, secrets=OPEN), epsilon={"A": "0.5", "C": "0.25"})
    assert body["groups"]["left_out"] == 1
    assert problems(body) == []


def test_parts_have_as_many_records_together_as_the_policy_states():
    body = by_zone(bp.Policy(ZONES, secrets=OPEN, size=90))
    assert problems(body) == []
    parts = [dict(part) for part in body["groups"]["parts"]]
    parts[0]["records"] += 1
    assert problems({**body, "groups": {**body["groups"], "parts": parts}})
