"""Columns and their kinds, without a look at a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import blowfish_privacy as bp
from blowfish_privacy.engines import Column, describe, open_engine
from blowfish_privacy.errors import DataError


def test_columns_of_a_frame_and_its_files(tmp_path: Path):
    frame = pd.DataFrame({"age": [1, 2], "name": ["a", "b"], "wage": [0.5, 1.5], "old": [True, False]})
    kinds = [("age", "integer"), ("name", "text"), ("wage", "float"), ("old", "boolean")]
    assert [(each.name, each.kind) for each in describe(frame)] == kinds
    frame.to_parquet(tmp_path / "t.parquet")
    assert [(each.name, each.kind) for each in describe(tmp_path / "t.parquet")] == kinds
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert describe(tmp_path / "t.csv")[0] == Column("age", "unparsed")
    assert describe(frame)[0].words == "whole numbers"


def test_nothing_is_read(tmp_path: Path):
    (tmp_path / "t.csv").write_text("age,sex\n1,f\n")
    engine = open_engine(tmp_path / "t.csv")
    assert engine.columns() == [("age", "unparsed"), ("sex", "unparsed")]
    assert engine.reads == 0
    engine.close()


@pytest.mark.parametrize("first", ["34,Canary", "Canary,2020-01-31", "Canary,", "Canary,Canary", "Canary,-1.5e3"])
def test_a_row_in_the_place_of_names_is_not_told(tmp_path: Path, first: str):
    (tmp_path / "t.csv").write_text(f"{first}\n1,f\n")
    with pytest.raises(DataError, match="first line") as caught:
        describe(tmp_path / "t.csv")
    assert "Canary" not in str(caught.value)


def test_counts_have_no_columns():
    with pytest.raises(DataError, match="no named columns"):
        describe(bp.Counts(np.array([1, 2])))
