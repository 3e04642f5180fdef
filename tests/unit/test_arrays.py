"""Small matrices are arrays and large ones sparse: what is done with them gives the same either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blowfish_privacy.support import arrays


@pytest.fixture(params=["sparse", "dense"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    """Hold matrices one way, and say which."""
    if request.param == "sparse":
        monkeypatch.setattr(arrays, "is_small", lambda shape: False)
    return np.ndarray if request.param == "dense" else object


def random(rows: int, columns: int) -> tuple[Any, np.ndarray[Any, Any]]:
    dice = np.random.default_rng(rows * 100 + columns)
    places = dice.integers(0, rows, 40), dice.integers(0, columns, 40)
    values = dice.normal(size=40)
    wanted = np.zeros((rows, columns))
    np.add.at(wanted, places, values)
    return arrays.matrix(values, *places, (rows, columns)), wanted


def test_entries_at_the_same_place_are_added_up(held: type) -> None:
    made, wanted = random(5, 7)
    assert isinstance(made, held)
    assert isinstance(made, np.ndarray) == (held is np.ndarray)
    np.testing.assert_allclose(arrays.dense(made), wanted, atol=1e-15)
    np.testing.assert_allclose(arrays.dense(arrays.turned(made)), wanted.T, atol=1e-15)
    rows, columns, values = arrays.entries(made)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [*zip(*np.nonzero(wanted), strict=True)]
    np.testing.assert_allclose(values, wanted[rows, columns])
    np.testing.assert_allclose(arrays.at(made, columns % 5, rows), wanted[columns % 5, rows], atol=1e-15)


def test_matrices_below_each_other_and_along_the_diagonal(held: type) -> None:
    (first, one), (second, two) = random(5, 7), random(3, 7)
    np.testing.assert_allclose(arrays.dense(arrays.stacked([first, second])), np.vstack([one, two]), atol=1e-15)
    wanted = np.zeros((8, 14))
    wanted[:5, :7], wanted[5:, 7:] = one, two
    np.testing.assert_allclose(arrays.dense(arrays.blocks([first, second])), wanted, atol=1e-15)
    main = np.arange(1.0, 5.0)
    near = np.diag(main) + np.diag([-0.5] * 3, 1) + np.diag([-0.5] * 3, -1)
    np.testing.assert_array_equal(arrays.dense(arrays.diagonal(main, beside=-0.5)), near)
    np.testing.assert_array_equal(arrays.dense(arrays.diagonal(main)), np.diag(main))
    np.testing.assert_array_equal(arrays.dense(arrays.compact(wanted)), wanted)


def test_a_column_is_the_same_alone_and_among_others(held: type) -> None:
    made, wanted = random(19, 23)
    columns = np.random.default_rng(1).normal(size=(23, 50))
    found = arrays.times(made, columns)
    np.testing.assert_allclose(found, wanted @ columns, atol=1e-12)
    for place in range(50):
        assert found[:, place].tolist() == arrays.times(made, columns[:, [place]])[:, 0].tolist()
        assert found[:, place].tolist() == arrays.times(made, np.ascontiguousarray(columns[:, place])).tolist()


@pytest.mark.parametrize("size", [1, 20, arrays.FEW, arrays.FEW + 1])
def test_equations_are_solved(size: int) -> None:
    dice = np.random.default_rng(size)
    root = dice.normal(size=(size, size))
    system, right = root @ root.T + np.eye(size), dice.normal(size=(size, 3))
    solve = arrays.solver(system)
    np.testing.assert_allclose(system @ solve(right), right, atol=1e-9)
    np.testing.assert_allclose(solve(right[:, 0]), solve(right)[:, 0], atol=1e-12)
