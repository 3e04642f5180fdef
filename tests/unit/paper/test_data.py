"""The paper's data from a folder: what is damaged is refused, and what has changed is measured again."""

from __future__ import annotations

import numpy as np
import pytest

from blowfish_lab.paper import data
from blowfish_lab.paper.figure import FigureRun
from blowfish_privacy.errors import DataError

LOSSES = ["capital_loss", *["0"] * 10_000, *["4356"] * 10]
COLOURS = ["b\tg\tr\tclass", *["1\t2\t255\t1"] * 10_000]


def write(folder, name, lines):
    (folder / name).write_text("\n".join(lines) + "\n")
    return FigureRun(str(folder))


def test_whole_files_are_read(tmp_path):
    assert data.capital_loss(write(tmp_path, "adult.csv", LOSSES)).tolist()[::4356] == [10_000, 10]
    assert data.skin(write(tmp_path, "skin.tsv", COLOURS)).shape == (10_000, 3)
    np.save(tmp_path / "twitter_256x256.npy", np.ones((256, 256)))
    assert data.tweets(FigureRun(str(tmp_path))).sum() == 256**2


@pytest.mark.parametrize(
    "lines", [["capital_loss"], ["loss", "3"], LOSSES[:50], [*LOSSES, "99999"], [*LOSSES, "-1"], [*LOSSES, "x"], [""]]
)
def test_losses_that_cannot_be_the_papers_are_refused(tmp_path, lines):
    with pytest.raises(DataError, match=r"adult\.csv") as raised:
        data.capital_loss(write(tmp_path, "adult.csv", lines))
    assert raised.value.hint


@pytest.mark.parametrize(
    "lines", [[""], COLOURS[:1], [*COLOURS, "1\t2"], [*COLOURS, "1\t2\t256\t1"], [*COLOURS, "a\tb\tc\td"]]
)
def test_colours_that_cannot_be_the_papers_are_refused(tmp_path, lines):
    with pytest.raises(DataError, match=r"skin\.tsv"):
        data.skin(write(tmp_path, "skin.tsv", lines))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01", b"words", b"PK\x03\x04"])
def test_a_damaged_array_is_refused(tmp_path, content):
    (tmp_path / "twitter_256x256.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"twitter_256x256\.npy"):
        data.tweets(FigureRun(str(tmp_path)))


@pytest.mark.parametrize(
    "counts", [np.zeros((256, 256)), np.ones(3), np.full((256, 256), -1), np.full((256, 256), np.nan), np.array("text")]
)
def test_counts_that_cannot_be_the_papers_are_refused(tmp_path, counts):
    np.save(tmp_path / "twitter_256x256.npy", counts)
    with pytest.raises(DataError, match=r"twitter_256x256\.npy"):
        data.tweets(FigureRun(str(tmp_path)))


def test_changed_files_have_another_identity(tmp_path):
    run = write(tmp_path, "adult.csv", LOSSES)
    first = run.identity(data.fingerprints(run, ["adult.csv"]))
    assert run.identity(data.fingerprints(run, ["adult.csv"])) == first
    write(tmp_path, "adult.csv", [*LOSSES[:-1], "4355"])
    assert run.identity(data.fingerprints(run, ["adult.csv"])) != first
    with pytest.raises(DataError, match="does not exist"):
        data.fingerprints(run, ["skin.tsv"])
