"""Tables that agree and are not negative, or whole: on data of some records, with noise of fixed bits."""

from itertools import chain, combinations

import numpy as np
import pytest

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.tables import agreeing as nonnegative_module
from blowfish_privacy.mechanisms.tables import agreeing as whole_module
from blowfish_privacy.mechanisms.tables.agreeing import Agreement, fit_two, nonnegative, whole
from blowfish_privacy.mechanisms.tables.nesting import Nesting

SIZES = (4, 3, 2, 5, 2)
"""Of four attributes; the last axis is a coarser level of the first one, with two values for each of its own."""
LEVELS = Nesting({0: 4}, {0: np.array([0, 0, 1, 1])})
RECORDS = 400


def subsets(axes):
    return chain.from_iterable(combinations(axes, many) for many in range(len(axes) + 1))


def counted(tables, seed=0):
    """Count skewed records: the last value of the first attribute is empty, and so is one pair of the first two."""
    random = np.random.default_rng(seed)
    records = np.stack([(size * random.random(RECORDS) ** 2).astype(int) for size in SIZES[:4]])
    records[0] = np.minimum(records[0], SIZES[0] - 2)
    records = records[:, (records[0] != 1) | (records[1] != 2)]
    records = np.vstack([records, records[:1] // 2])
    shapes = [[SIZES[axis] for axis in axes] for axes in tables]
    return [
        np.bincount(np.ravel_multi_index(records[list(axes)], shape), minlength=np.prod(shape)).reshape(shape) * 1.0
        for axes, shape in zip(tables, shapes, strict=True)
    ]


def noisy(tables, exact, scale, seed=0):
    """Return the truth, what agrees, and the nearest agreeing tables to it with noise."""
    truth, random = counted(tables), np.random.default_rng(seed)
    precisions = tuple(1.0 + number for number in range(len(tables)))
    levels = LEVELS if any(4 in axes for axes in tables) else Nesting()
    agreement = Agreement(SIZES, tables, precisions, frozenset(exact), levels)
    drawn = [table + random.laplace(scale=scale, size=table.shape) for table in truth]
    return truth, agreement, agreement.nearest(drawn, agreement.exact_sums(truth))


PAIRS = tuple(combinations(range(4), 2))
TRIPLES = tuple(combinations(range(4), 3))
CASES = {
    "pairs": (PAIRS, [()]),
    "pairs and one alone, size unknown": ((*PAIRS[:3], (3,)), []),
    "pairs, two public attributes": (PAIRS, list(subsets((0, 1)))),
    "triples": (TRIPLES, [()]),
    "triples, an empty public value": (TRIPLES, list(subsets((0,)))),
    "triples, an empty public pair": (TRIPLES, list(subsets((0, 1)))),
    "triples and pairs": ((*TRIPLES[:2], (2, 3)), [()]),
    "levels": (((0, 1), (2, 4), (0, 2), (1, 4), (1, 2)), [()]),
    "levels, the coarser one public": (((0, 1), (2, 4), (0, 2), (1, 4), (1, 2)), [(), (4,)]),
    "levels in triples": (((0, 1, 2), (1, 3, 4), (2, 3, 4)), [()]),
}


def error(tables, truth):
    return np.sqrt(sum(((table - true) ** 2).sum() for table, true in zip(tables, truth, strict=True)))


@pytest.mark.parametrize("case", CASES)
def test_the_nearest_agreeing_tables_are_those_of_dense_least_squares(case):
    """Agreeing tables are sums of one array over all attributes; solve for that array with all constraints."""
    tables, exact = CASES[case]
    truth, agreement, _ = noisy(tables, exact, 5)
    drawn = [table + np.random.default_rng(3).laplace(scale=5, size=table.shape) for table in truth]
    cells = np.indices(SIZES[:4]).reshape(4, -1)
    cells = np.vstack([cells, cells[:1] // 2])

    def summing(axes):
        shape = [SIZES[axis] for axis in axes]
        rows = np.ravel_multi_index(cells[list(axes)], shape) if axes else np.zeros(cells.shape[1], dtype=int)
        matrix = np.zeros((int(np.prod(shape)), cells.shape[1]))
        matrix[rows, np.arange(cells.shape[1])] = 1
        return matrix

    sums, roots = np.vstack([summing(axes) for axes in tables]), np.sqrt(agreement.precisions)
    weights = np.concatenate([np.full(table.size, root) for table, root in zip(truth, roots, strict=True)])
    known = agreement.exact_sums(truth)
    if known:
        fixed = np.vstack([summing(axes) for axes in known])
        start = np.linalg.lstsq(fixed, np.concatenate([each.reshape(-1) for each in known.values()]), rcond=None)[0]
        free = np.linalg.svd(fixed)[2][np.linalg.matrix_rank(fixed) :].T
    else:
        start, free = np.zeros(cells.shape[1]), np.eye(cells.shape[1])
    wanted = np.concatenate([table.reshape(-1) for table in drawn]) - sums @ start
    solved = np.linalg.lstsq(weights[:, None] * (sums @ free), weights * wanted, rcond=None)[0]
    best = sums @ (start + free @ solved)
    assert np.concatenate([table.reshape(-1) for table in agreement.nearest(drawn, known)]) == pytest.approx(best)


@pytest.mark.parametrize("scale", [0.5, 5, 50])
@pytest.mark.parametrize("case", CASES)
def test_tables_without_negative_counts_agree_and_stay_exact_where_they_were(case, scale):
    truth, agreement, unbiased = noisy(*CASES[case], scale)
    found = nonnegative(unbiased, agreement)
    assert min(table.min() for table in unbiased) < 0 <= min(table.min() for table in found)
    assert agreement.disagreement(found) < 1e-12 * RECORDS
    sums = agreement.exact_sums(found)
    for part, exact in agreement.exact_sums(truth).items():
        assert sums[part] == pytest.approx(exact, abs=1e-12 * RECORDS)
    assert error(found, truth) < error(unbiased, truth)


@pytest.mark.parametrize("case", ["pairs", "triples"])
def test_they_are_near_the_nearest(case, monkeypatch):
    _, agreement, unbiased = noisy(*CASES[case], 20)
    found = nonnegative(unbiased, agreement)
    monkeypatch.setattr(nonnegative_module, "_ROUNDS", 1_000)
    nearest = nonnegative(unbiased, agreement)
    assert error(found, unbiased) == pytest.approx(error(nearest, unbiased), rel=0.02)


def test_they_are_better_than_cutting_and_rescaling():
    truth, agreement, unbiased = noisy(*CASES["pairs"], 20)
    found = nonnegative(unbiased, agreement)
    cut = [np.maximum(table, 0) for table in unbiased]
    rescaled = [table * (RECORDS / table.sum()) for table in cut]
    assert agreement.disagreement(cut) > 1
    assert error(found, truth) < error(rescaled, truth)


@pytest.mark.parametrize("scale", [0, 0.5, 5, 50])
@pytest.mark.parametrize("case", CASES)
def test_whole_numbers_agree_exactly_and_are_near(case, scale):
    truth, agreement, unbiased = noisy(*CASES[case], scale)
    near = nonnegative(unbiased, agreement)
    found = whole(near, agreement)
    assert agreement.disagreement(found) == 0
    sums = agreement.exact_sums(found)
    assert all((sums[part] == exact).all() for part, exact in agreement.exact_sums(truth).items())
    for table, close in zip(found, near, strict=True):
        assert table.dtype == np.int64
        assert table.min() >= 0
        assert np.abs(table - close).max() < (2 if table.ndim <= 2 else 4)
    if not scale:
        assert error(found, truth) == 0


def test_whole_numbers_that_are_not_found_are_refused_with_a_way_out(monkeypatch):
    _, agreement, unbiased = noisy(*CASES["triples"], 5)
    near = nonnegative(unbiased, agreement)
    monkeypatch.setattr(whole_module, "rounded_to", lambda *given: None)
    with pytest.raises(RefusalError, match=r"4 tables of .*Hint: .*nonnegative\(\)"):
        whole(near, agreement)


def test_tables_that_public_ones_leave_no_room_for_are_refused(monkeypatch):
    from blowfish_privacy.mechanisms.tables import agreeing

    _, agreement, unbiased = noisy(*CASES["triples, an empty public pair"], 50)
    monkeypatch.setattr(agreeing, "_INTERIOR_ROUNDS", 1)
    monkeypatch.setattr(nonnegative_module, "_ROUNDS", 1)
    with pytest.raises(RefusalError, match="negative"):
        nonnegative(unbiased, agreement)


def test_more_cells_than_fit_in_memory_are_refused(monkeypatch):
    _, agreement, unbiased = noisy(*CASES["pairs"], 5)
    monkeypatch.setattr(nonnegative_module, "_MOST_CELLS", 50)
    with pytest.raises(RefusalError, match="too many"):
        nonnegative(unbiased, agreement)


def test_any_sums_of_one_total_are_met_even_by_an_empty_table():
    down, across = np.array([0.0, 2.0, 5.0]), np.array([7.0, 0.0])
    for table in (np.zeros((2, 3)), np.full((2, 3), 9.0), np.eye(2, 3)):
        fitted = fit_two(table, down, across)
        assert fitted.sum(axis=0) == pytest.approx(down)
        assert fitted.sum(axis=1) == pytest.approx(across)
        assert fitted.min() >= 0


def test_nobody_at_all_gives_empty_tables():
    agreement = Agreement(SIZES, PAIRS, (1.0,) * len(PAIRS), frozenset([()]))
    tables = [np.zeros([SIZES[axis] for axis in axes]) for axes in PAIRS]
    unbiased = agreement.nearest([table + np.eye(*table.shape) for table in tables], agreement.exact_sums(tables))
    assert all(not table.any() for table in whole(nonnegative(unbiased, agreement), agreement))
