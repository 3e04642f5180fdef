"""What the text of a CSV file may be."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import blowfish_privacy as bp
from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.limits import COLUMNS


def count(folder: Path, text: str | bytes, attribute: Attribute, name: str = "x") -> list[int]:
    path = folder / "it's [1].csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_engine(path).counts(Domain({name: attribute}), [[name]])[0].tolist()


def lines(*values: str) -> str:
    return "".join(f"{value},end\n" for value in ("x", *values)).replace("end", "y", 1)


def test_whole_numbers_are_read(tmp_path: Path) -> None:
    assert count(tmp_path, lines("0", "-1", '"2"', "2"), Integer(-1, 2)) == [1, 1, 0, 2]
    clamp = Integer(0, 2, outside="clamp", missing=1)
    huge = ["9" * 19, "9" * 38, "9" * 39, "9" * 400]
    assert count(tmp_path, lines(*huge, *(f"-{each}" for each in huge), ""), clamp) == [4, 1, 4]
    largest = Integer(2**61 - 1, 2**61)
    assert count(tmp_path, lines(str(2**61), str(2**61 - 1)), largest) == [1, 1]
    assert count(tmp_path, lines("5", "-7"), Categorical([-7, 5])) == [1, 1]


NOT_WHOLE = [
    "007",
    "+5",
    " 5",
    "5 ",
    "5.5",
    "5.",
    "1e3",
    "-0",
    "0x5",
    "5,0",
    "\u0665",
    "five",
    "1_0",
    '""',
    "5\n",
    "nan",
]


@pytest.mark.parametrize("text", NOT_WHOLE)
@pytest.mark.parametrize("attribute", [Integer(0, 10, outside="clamp", missing=0), Integer(0, 10), Categorical([5, 7])])
def test_other_text_is_not_a_whole_number(tmp_path: Path, text: str, attribute: Attribute) -> None:
    quoted = text if text == '""' else f'"{text}"'
    with pytest.raises(DataError, match="'x' has values that are not plain whole numbers"):
        count(tmp_path, lines("5", quoted), attribute)


def test_a_value_of_another_kind_deep_in_the_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "deep.csv"
    path.write_text(lines(*["5"] * 200_000, "5.7", *["5"] * 1000))
    with pytest.raises(DataError, match="not plain whole numbers"):
        open_engine(path).counts(Domain(x=Integer(0, 10)), [["x"]])
    check = open_engine(path).check(Domain(x=Integer(0, 10), y=Categorical(["end"])))
    assert (check.rows, check.columns[0].malformed, check.columns[0].type_fits) == (201_001, 1, False)


def test_numbers_for_bins_are_read(tmp_path: Path) -> None:
    bins = Binned([0, "0.1", 1, 1000], outside="clamp", missing=500)
    good = ["0", "0.1", "1e-1", "1.5E2", "-5", "1e400", "-1e400", "inf", "-Infinity", "NaN", "", "00.5"[1:]]
    # 0 -> 0; 0.1, 1e-1, 0.5 -> 1; 150 -> 2; -5 clamps to 0; the infinities clamp; NaN and nothing are missing -> 2.
    assert count(tmp_path, lines(*good), bins) == [1 + 1 + 2, 3, 1 + 2 + 2]
    for bad in ("007", "+5", " 5", ".5", "5.", "1,5", "0x1p3", "1_000", "five", "1e", "--1", '""'):
        with pytest.raises(DataError, match="'x' has values that are not plain numbers"):
            count(tmp_path, lines("5", bad if bad == '""' else f'"{bad}"'), bins)


def test_a_number_for_bins_is_the_double_nearest_to_its_text(tmp_path: Path) -> None:
    # As docs/policy-file.md says: 0.29999999999999999 and the edge 0.3 have the same nearest double.
    bins = Binned([0, "0.3", 1])
    assert float("0.29999999999999999") == 0.3 > float("0.2999999999999999")
    assert count(tmp_path, lines("0.29999999999999999"), bins) == [0, 1]
    assert count(tmp_path, lines("0.2999999999999999"), bins) == [1, 0]
    assert count(tmp_path, lines("0.3"), bins) == [0, 1]


def test_truth_values_are_read(tmp_path: Path) -> None:
    assert count(tmp_path, lines("true", "False", "TRUE"), Categorical([True, False])) == [2, 1]
    for bad in ("1", "yes", "t", " true"):
        with pytest.raises(DataError, match="not true or false"):
            count(tmp_path, lines("true", bad), Categorical([True, False]))


def test_codes_keep_their_leading_zeros(tmp_path: Path) -> None:
    assert count(tmp_path, lines("01234", "1234", "01234"), Categorical(["01234", "1234"])) == [2, 1]
    with pytest.raises(DataError, match="outside"):
        count(tmp_path, lines("01234"), Categorical(["1234"]))


def test_nothing_is_missing_but_quoted_nothing_is_text(tmp_path: Path) -> None:
    assert count(tmp_path, lines("", '""', "NULL"), Categorical(["", "NULL", "gone"], missing="gone")) == [1, 1, 1]
    assert count(tmp_path, 'x\n\n""\n', Categorical(["", "gone"], missing="gone")) == [1, 1]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_line_ends_and_byte_order_marks(tmp_path: Path, separator: str, end: str) -> None:
    text = end.join([separator.join(row) for row in (["a", "größe", "c"], ["1", "2", "3"], ["4", '"a""b"', "6"])])
    for start in ("", "\ufeff"):
        for finish in ("", end):
            assert count(tmp_path, start + text + finish, Categorical(["2", 'a"b']), "größe") == [1, 1]
    assert count(tmp_path, "\ufeff" + text, Categorical(["1", "4"]), "a") == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        b"x,y\n1,2\n3\n", b"x,y\n1,2,3\n", b'x,y\n1,"2\n3,4\n', b"x,y\n\xff,1\n",
        b"x,y\n" + b"1" * 5_000_000 + b",2\n", b'x,y\n1,"a"b\n',
    ],
)  # fmt: skip
def test_broken_files_are_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(DataError, match="could not be read") as caught:
        count(tmp_path, text, Integer(0, 9))
    assert "CSV" in str(caught.value)


def test_an_empty_file_has_no_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no header"):
        count(tmp_path, b"", Integer(0, 9))
    with pytest.raises(DataError, match="no header"):
        count(tmp_path, b"\n1\n", Integer(0, 9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("größe,x\n1,2\n".encode("latin-1"), "Latin-1"),
        *(("x,größe\n1,2\n".encode(each), "UTF-16") for each in ("utf-16", "utf-16-le", "utf-16-be")),
        (b"x" + b"," * 2_000_000 + b"\n", "2,000,001 columns; at most 20,000"),
        (b"z" * 5_000_000, "does not end within 4,000,000 bytes"),
        (b"", "no header"),
    ],
)
def test_what_is_wrong_with_a_header_is_said_before_the_charge(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    session = bp.Session(path, bp.Policy(Domain(x=Integer(0, 9)), secrets=bp.FullDomain()), budget=1)
    with pytest.raises(DataError, match=said):
        session.release(bp.Histogram("x"), epsilon=1)
    assert (session.remaining, session.engine.reads) == (1, 0)


def test_no_row_decides_whether_a_file_is_refused_before_the_charge(tmp_path: Path) -> None:
    """What stands in a row is private: letters that are not UTF-8 are an error of reading, which is paid for once."""
    path = tmp_path / "table.csv"
    path.write_bytes("name\nJosé\n".encode("latin-1"))
    session = bp.Session(path, bp.Policy(Domain(name=Categorical(["Ana", "José"])), secrets=bp.FullDomain()), budget=1)
    with pytest.raises(DataError, match=r"UTF-8 \(not Latin-1\)"):
        session.release(bp.Histogram("name"), epsilon=1)
    assert session.remaining == 0
    path.write_bytes("name\nJosé\n".encode())
    assert session.release(bp.Histogram("name"), epsilon=1).noisy.size == 2


def test_a_stored_table_of_too_many_columns_is_refused_before_the_charge(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({f"c{number}": [1] for number in range(COLUMNS + 1)}), path)
    session = bp.Session(path, bp.Policy(Domain(c1=Integer(0, 9)), secrets=bp.FullDomain()), budget=1)
    with pytest.raises(DataError, match=r"20,001 columns; at most 20,000"):
        session.release(bp.Histogram("c1"), epsilon=1)
    assert session.remaining == 1
