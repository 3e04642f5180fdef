"""What is particular to Spark: its types, its settings, its catalog."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, Integer
from blowfish_privacy.engines import engine as progress
from blowfish_privacy.engines import open_engine
from blowfish_privacy.errors import DataError

pytestmark = pytest.mark.servers
Session = Any


def column(spark: Session, kind: str, *values: object) -> Any:
    rows = ", ".join("(NULL)" if value is None else f"('{value}')" for value in values)
    return spark.sql(f"SELECT CAST(v AS {kind}) AS x FROM VALUES {rows} AS t(v)")


def count(data: object, attribute: Attribute) -> list[int]:
    return open_engine(data).counts(Domain(x=attribute), [["x"]])[0].tolist()


@pytest.mark.parametrize(("kind", "width"), [("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("BIGINT", 64)])
def test_whole_numbers_of_every_width(spark: Session, kind: str, width: int) -> None:
    low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    assert count(column(spark, kind, low, 0, 1, 100, high), Integer(0, 2, outside="clamp")) == [2, 1, 2]
    edges = [-(2**130), low, 50, high, 2**130]
    assert count(column(spark, kind, low, 49, 50, high), Binned(edges)) == [0, 2, 1, 1]
    for attribute in (Integer(0, 2), Categorical([0, 2]), Binned([0, 1, 2])):
        with pytest.raises(DataError, match="outside"):
            count(column(spark, kind, 0, low), attribute)


def test_decimals_and_floats(spark: Session) -> None:
    third = Binned([0, "1/3", 1])
    assert count(column(spark, "DECIMAL(38, 37)", "0." + "3" * 37, "0." + "3" * 36 + "4"), third) == [1, 1]
    assert count(column(spark, "DECIMAL(3, 2)", "-9.99", "9.99"), Binned([-(10**40), "-9.985", 10**40])) == [1, 1]
    clamp = Binned([0, 1, 2], outside="clamp", missing=0)
    for kind in ("FLOAT", "DOUBLE"):
        assert count(column(spark, kind, "inf", "-inf", "nan", None, "-0.0"), clamp) == [4, 1]
    for kind in ("FLOAT", "DOUBLE", "DECIMAL(9, 1)"):
        assert count(column(spark, kind, "1.0", "2.0", "2"), Integer(0, 2)) == [0, 1, 2]
        with pytest.raises(DataError, match="not plain whole numbers"):
            count(column(spark, kind, "1.0", "1.5"), Integer(0, 2))


@pytest.mark.parametrize("kind", ["DECIMAL(12, 3)", "DOUBLE", "BIGINT"])
def test_hundreds_of_bins(spark: Session, kind: str) -> None:
    attribute = Binned([Fraction(3 * n, 7) for n in range(301)], outside="clamp")
    given = [Decimal(int(n)) if kind == "BIGINT" else Decimal(n * 7) / 8 for n in range(-9, 150)]
    wanted = [0] * attribute.size
    for value in given:
        wanted[min(max(sum(Fraction(value) >= edge for edge in attribute.bounds) - 1, 0), attribute.size - 1)] += 1
    assert count(column(spark, kind, *given), attribute) == wanted


def test_text_is_compared_byte_for_byte_whatever_its_collation(spark: Session) -> None:
    caseless = spark.sql("SELECT v COLLATE UTF8_LCASE AS x FROM VALUES ('a'), ('A'), ('A') AS t(v)")
    assert count(caseless, Categorical(["a", "A"])) == [1, 2]
    with pytest.raises(DataError, match="outside"):
        count(caseless, Categorical(["a"]))


@pytest.mark.parametrize(
    ("kind", "value", "attribute"),
    [
        ("DATE", "2020-01-01", Integer(0, 2)), ("STRING", "1", Integer(0, 2)), ("BOOLEAN", "true", Integer(0, 2)),
        ("INT", 1, Categorical(["1"])), ("BINARY", "a", Categorical(["a"])), ("INT", 1, Categorical([True])),
        ("TIMESTAMP", "2020-01-01", Binned([0, 2])), ("TIMESTAMP", "2020-01-01", Integer(0, 2)),
        ("STRING", "true", Categorical([True])), ("STRING", "1", Binned([0, 2])),
    ],
)  # fmt: skip
def test_other_types_are_refused_without_a_read(spark: Session, kind: str, value: object, attribute: Attribute) -> None:
    engine = open_engine(column(spark, kind, value))
    with pytest.raises(DataError, match=r"column 'x' must hold .* of another type"):
        engine.counts(Domain(x=attribute), [["x"]])
    assert engine.reads == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.groupByOrdinal", "false"),
        ("spark.sql.parser.escapedStringLiterals", "true"),
    ],
)
def test_settings_that_change_the_meaning_of_a_query_are_refused(
    spark: Session, tmp_path: Path, name: str, wrong: str
) -> None:
    frame, usual = column(spark, "INT", 1), spark.conf.get(name)
    pq.write_table(pa.table({"x": [1, 1, 2]}), tmp_path / "t.parquet")
    spark.conf.set(name, wrong)
    try:
        with pytest.raises(DataError, match=rf"setting {name} must be {usual}\. Hint: spark\.conf\.set"):
            count(frame, Integer(0, 2))
        # What the engine opens itself has settings of its own.
        assert count(f"spark:{tmp_path}/t.parquet", Integer(0, 2)) == [0, 2, 1]
    finally:
        spark.conf.set(name, usual)


def test_tables_of_the_catalog(spark: Session) -> None:
    spark.sql("CREATE GLOBAL TEMPORARY VIEW people AS SELECT * FROM VALUES (1), (1), (2) AS t(x)")
    assert count("spark:?table=global_temp.people", Integer(0, 2)) == [0, 2, 1]
    for wrong in ("absent", "people; DROP VIEW people", "people) UNION (SELECT 1", "`", "a.b.c.d.e"):
        with pytest.raises(DataError, match="could not be read"):
            count(f"spark:?table={wrong}", Integer(0, 2))
    for wrong in ("", "?", "?query=SELECT 1", "?table="):
        with pytest.raises(DataError, match="must name a path or a table"):
            open_engine(f"spark:{wrong}")


def test_paths(spark: Session, tmp_path: Path) -> None:
    for name, value in (("year=2020/a.parquet", 0), ("year=2021/b.parquet", 1), ("year=2021/c.parquet", 2)):
        (tmp_path / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [value]}), tmp_path / "p" / name)
    assert count(f"spark:{tmp_path}/p", Integer(0, 2)) == [1, 1, 1]
    assert count(f"spark:{tmp_path}/p/year=2021/*.parquet", Integer(0, 2)) == [0, 1, 1]
    engine = open_engine(f"spark:{tmp_path}/p")
    domain = Domain(x=Integer(0, 2), year=Categorical(["2020", "2021"]))
    assert engine.counts(domain, [["year"]])[0].tolist() == [1, 2]
    for name in ("a[1].parquet", "a*.parquet", "{a,b}.parquet", "it's.parquet", "ü 😀.parquet"):
        pq.write_table(pa.table({"x": [1]}), tmp_path / name)
        assert count(f"spark:{tmp_path}/{name}", Integer(0, 2)) == [0, 1, 0]
    with pytest.raises(DataError, match="could not be read"):
        count(f"spark:{tmp_path}/absent.parquet", Integer(0, 2))


def test_columns_that_occur_twice(spark: Session) -> None:
    twice = spark.sql("SELECT 1 AS x, 2 AS x, 0 AS y")
    with pytest.raises(DataError, match="several columns 'x'"):
        count(twice, Integer(0, 2))
    assert open_engine(twice).counts(Domain(y=Integer(0, 2)), [["y"]])[0].tolist() == [1, 0, 0]


def test_errors_of_rows_are_replaced(spark: Session) -> None:
    with pytest.raises(DataError) as caught:
        count(column(spark, "INT", "CANARY-7f3a"), Integer(0, 2))
    assert "CANARY" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_domain_tables_are_broadcast(spark: Session) -> None:
    from blowfish_privacy.engines.engine import ColumnType
    from blowfish_privacy.engines.sql.cells import Layout
    from blowfish_privacy.engines.sql.counts import counts_query
    from blowfish_privacy.engines.sql.expressions import SPARK

    column(spark, "STRING", "a").withColumnRenamed("x", "c0").createOrReplaceTempView("source")
    query = counts_query([ColumnType("text")], Layout(Domain(x=Categorical(["a", "b"]))), SPARK)
    plan = spark.sql("EXPLAIN " + query.sql("spark")).collect()[0][0]
    assert "BroadcastHashJoin" in plan


def test_nothing_is_left_in_the_session(spark: Session) -> None:
    frame = column(spark, "INT", 1)
    before = {table.name for table in spark.catalog.listTables()}
    engine = open_engine(frame)
    engine.counts(Domain(x=Integer(0, 2)), [["x"]])
    with pytest.raises(DataError):
        engine.counts(Domain(x=Integer(5, 6)), [["x"]])
    assert {table.name for table in spark.catalog.listTables()} == before
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_progress_is_told(spark: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.02)
    told: list[float | None] = []
    frame = spark.range(20_000_000, numPartitions=16).selectExpr("CAST(id % 3 AS INT) AS x")
    found = open_engine(frame).counts(Domain(x=Integer(0, 2)), [["x"]], progress=told.append)[0]
    assert found.sum() == 20_000_000
    shares = [share for share in told if share is not None]
    assert shares == sorted(shares)
    assert any(0 < share <= 1 for share in shares)


def test_many_categories(spark: Session) -> None:
    names = [f"it's \\ {n}" for n in range(5_000)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark.createDataFrame(pa.table({"x": names[::-1] * 2}))
    assert np.all(np.array(count(frame, Categorical(names))) == 2)


def test_what_a_cast_could_not_read_is_not_logged(spark: Session, capfd: Any) -> None:
    frame = spark.createDataFrame([("SECRETROW",), ("1",)], "n string").selectExpr("cast(n as bigint) AS x")
    with pytest.raises(DataError) as caught:
        count(frame, Integer(0, 2))
    said = capfd.readouterr()
    assert "SECRETROW" not in said.out + said.err + str(caught.value)


def test_a_folder_holds_the_same_rows_for_every_engine(spark: Session, tmp_path: Path) -> None:
    for name in ("a.parquet", "_b.parquet", "part-0001", "c.pq", "d.PARQUET", "e.parquet"):
        pq.write_table(pa.table({"x": [1]}), tmp_path / name)
    assert count(str(tmp_path), Integer(0, 2)) == count(f"spark:{tmp_path}", Integer(0, 2)) == [0, 2, 0]


def test_a_column_that_a_file_lacks_is_missing_whichever_file_comes_first(spark: Session, tmp_path: Path) -> None:
    for with_column, without in (("a", "b"), ("b", "a")):
        folder = tmp_path / with_column
        folder.mkdir()
        pq.write_table(pa.table({"x": [1], "y": [1]}), folder / f"{with_column}.parquet")
        pq.write_table(pa.table({"y": [1]}), folder / f"{without}.parquet")
        assert count(f"spark:{folder}", Integer(0, 2, missing=0)) == [1, 1, 0]


OWN = """
import json, os, stat, sys
from blowfish_privacy.domain import Domain, Integer
from blowfish_privacy.engines import open_engine
from pyspark.sql import SparkSession

counts = open_engine("spark:" + sys.argv[1]).counts(Domain(x=Integer(0, 2)), [["x"]])[0].tolist()
session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
conf = session.sparkContext.getConf()
folder = conf.get("spark.local.dir")
print(json.dumps({
    "counts": counts, "ui": session.sparkContext.uiWebUrl, "mode": stat.S_IMODE(os.stat(folder).st_mode),
    "folder": folder, "host": conf.get("spark.driver.bindAddress"),
}))
"""


def test_an_application_of_our_own_shows_nobody_what_it_counts(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    ran = subprocess.run(
        [sys.executable, "-c", OWN, str(tmp_path / "a.parquet")],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["counts"] == [0, 1, 1]
    assert told["ui"] is None
    assert told["mode"] == 0o700
    assert told["host"] == "127.0.0.1"
    assert not Path(told["folder"]).exists()
