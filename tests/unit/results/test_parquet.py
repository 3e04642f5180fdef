"""Tables as Parquet and as CSV in pieces: the same as the rows, whatever the names and values."""

from __future__ import annotations

import csv
import io

import duckdb
import numpy as np
import pytest

import blowfish_privacy as bp
from blowfish_privacy.cli.main import run
from blowfish_privacy.results.result import distinct, parquet, typed, written_from
from blowfish_privacy.support.files import csv_pieces, csv_table, write_atomically

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
    monkeypatch.setattr("blowfish_privacy.support.files._ROWS", 7)
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
