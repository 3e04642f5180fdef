"""Planning sets of tables: published and derived figures, and dense linear algebra on tiny domains."""

from itertools import chain, combinations, product
from math import inf, prod, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.tables import planning
from blowfish_privacy.mechanisms.tables.planning import WantedTables, best_design, best_precisions
from blowfish_privacy.mechanisms.tables.shapes import apart, interchangeable, lattice
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.support import arrays
from effort import examples

ADULT = (74, 9, 16, 7, 15, 6, 5, 2, 12, 8, 99, 42, 2)
RESIDUAL_PLANNER_ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)


def ways(attributes, *counts):
    return tuple(chain.from_iterable(combinations(range(attributes), count) for count in counts))


def attribute_secrets(attributes):
    return tuple(frozenset({axis}) for axis in range(attributes))


def full_domain(attributes):
    return (frozenset(range(attributes)),)


# What a release of given measurements gives, written down without the planner: one component after another.


def component_variances(wanted, design):
    parts = {part for table in wanted.tables for part in subsets(table)}
    found = {}
    for part in parts:
        precision = 0.0
        for (axes, signs), weight in zip(design.measured, design.weights, strict=True):
            if set(signs) <= set(part) <= set(axes):
                rest = prod(wanted.sizes[axis] for axis in axes if axis not in part)
                precision += weight**2 / 2 * 2 ** len(signs) / rest
        known = not part and not wanted.presence
        found[part] = 0.0 if known or precision == inf else 1 / precision if precision else inf
    return found


def cell_variances(wanted, design):
    found, sizes = component_variances(wanted, design), wanted.sizes
    return np.array(
        [
            sum(
                found[part] * prod(1 - 1 / sizes[i] for i in part) / prod(sizes[i] ** 2 for i in table if i not in part)
                for part in subsets(table)
                if all(sizes[i] > 1 for i in part)
            )
            for table in wanted.tables
        ]
    )


def subsets(axes):
    return list(chain.from_iterable(combinations(axes, length) for length in range(len(axes) + 1)))


@pytest.mark.parametrize(
    ("count", "changed", "target"),
    [
        (1, attribute_secrets(13), 2.76),
        (2, attribute_secrets(13), 27.6),
        (3, attribute_secrets(13), 124.7),
        (1, full_domain(13), 26.9),
        (2, full_domain(13), 122.5),
        (3, full_domain(13), 361.9),
    ],
)
def test_pure_epsilon_on_adult(count, changed, target):
    """Root mean squared error of a cell at epsilon 1, over all cells of all tables."""
    wanted = WantedTables(ADULT, ways(13, count), "mean", changed, presence=False)
    design = best_design(wanted)
    assert sqrt(design.objective) <= 1.03 * target
    cells = np.array([prod(ADULT[axis] for axis in table) for table in wanted.tables])
    assert design.objective == pytest.approx(cell_variances(wanted, design) @ cells / cells.sum())


@pytest.mark.parametrize(
    ("count", "changed", "target"),
    [
        (1, attribute_secrets(13), 1.38),
        (2, attribute_secrets(13), 4.14),
        (3, attribute_secrets(13), 8.30),
        (1, full_domain(13), 4.10),
        (2, full_domain(13), 8.19),
        (3, full_domain(13), 13.27),
    ],
)
def test_rho_on_adult(count, changed, target):
    """The same at rho = 1/2, with the optimality that the dual proves."""
    design = best_design(WantedTables(ADULT, ways(13, count), "mean", changed, presence=False), Norm.L2)
    assert sqrt(design.objective) == pytest.approx(target, rel=0.005)
    assert design.objective / design.bound - 1 < 1e-10


@pytest.mark.parametrize(("count", "target"), [(2, 4.40), (3, 9.35)])
def test_worst_table_at_rho(count, target):
    design = best_design(WantedTables(ADULT, ways(13, count), "worst", attribute_secrets(13), presence=False), Norm.L2)
    assert sqrt(design.objective) == pytest.approx(target, rel=0.005)
    assert design.objective / design.bound - 1 < 1e-6


@pytest.mark.parametrize(("count", "target"), [(1, 3.0468), (2, 6.3587), (3, 10.5153)])
def test_add_or_remove_gives_the_figures_of_residual_planner(count, target):
    """Its Adult has 14 attributes; records come and go, nothing else is secret, privacy cost 1."""
    wanted = WantedTables(RESIDUAL_PLANNER_ADULT, ways(14, count), "mean", (), presence=True)
    assert sqrt(best_design(wanted, Norm.L2).objective) == pytest.approx(target, abs=5e-5)


@pytest.mark.parametrize(("attributes", "target"), [(14, 10.53), (50, 38.78)])
def test_many_attributes_of_ten_values(attributes, target):
    """All tables of up to three attributes at rho 1/2; benchmarks/tables.py goes on to 100 attributes: 77.78."""
    wanted = WantedTables(
        (10,) * attributes, ways(attributes, 1, 2, 3), "mean", attribute_secrets(attributes), presence=False
    )
    assert sqrt(best_design(wanted, Norm.L2).objective) == pytest.approx(target, rel=0.0005)


@pytest.mark.parametrize("changed", [attribute_secrets(13), full_domain(13)])
def test_the_worst_table_is_better_where_it_counts(changed):
    worst, mean = (WantedTables(ADULT, ways(13, 2), weights, changed, presence=False) for weights in ("worst", "mean"))
    design = best_design(worst)
    assert design.objective == pytest.approx(cell_variances(worst, design).max())
    assert design.objective < 0.9 * cell_variances(mean, best_design(mean)).max()


# Tiny domains: all of it again with dense arrays.


@st.composite
def workloads(draw):
    sizes = tuple(draw(st.lists(st.sampled_from([1, 2, 2, 3, 4]), min_size=1, max_size=4)))
    axes = range(len(sizes))
    some = st.lists(st.sampled_from(axes), unique=True, max_size=3).map(lambda chosen: tuple(sorted(chosen)))
    tables = tuple(draw(st.lists(some, min_size=1, max_size=4)))
    secret = st.lists(st.frozensets(st.sampled_from(axes), min_size=1), max_size=3).map(tuple)
    changed = draw(st.one_of(st.just(attribute_secrets(len(sizes))), st.just(full_domain(len(sizes))), secret))
    numbers = st.tuples(*(st.sampled_from([1.0, 2.0, 0.5]) for _ in tables))
    return WantedTables(
        sizes, tables, draw(st.one_of(st.sampled_from(["worst", "mean"]), numbers)), changed, draw(st.booleans())
    )


def rows(sizes, axes, signs=()):
    """The matrix of a measurement on the vector of all cells."""
    matrix = np.ones((1, 1))
    for axis, size in enumerate(sizes):
        sign = np.array([[1.0, -1.0]])
        matrix = np.kron(matrix, sign if axis in signs else np.eye(size) if axis in axes else np.ones((1, size)))
    return matrix


def residual_rows(sizes, axes):
    matrix = np.ones((1, 1))
    for axis, size in enumerate(sizes):
        matrix = np.kron(matrix, np.eye(size) - 1 / size if axis in axes else np.ones((1, size)))
    return matrix


def dense_variances(wanted, precisions, exact):
    """Variances of the best linear unbiased estimates, for pairs of a matrix and the precision of its rows."""
    cells = prod(wanted.sizes)
    free = null_space(np.vstack([np.zeros((1, cells)), *exact]))
    if not free.size:
        return [np.zeros(1) for _ in wanted.tables]
    gram = sum((precision * matrix.T @ matrix for matrix, precision in precisions), np.zeros((cells, cells)))
    covariance = free @ np.linalg.pinv(free.T @ gram @ free, hermitian=True, rcond=1e-11) @ free.T
    return [np.diag(rows(wanted.sizes, table) @ covariance @ rows(wanted.sizes, table).T) for table in wanted.tables]


def objective(wanted, variances):
    if wanted.weights == "worst":
        return max(float(each.max()) for each in variances)
    shares = wanted.weights if isinstance(wanted.weights, tuple) else [1.0] * len(variances)
    cells = [prod(wanted.sizes[axis] for axis in table) for table in wanted.tables]
    total = sum(share * count for share, count in zip(shares, cells, strict=True))
    return sum(s * c * float(each.mean()) for s, c, each in zip(shares, cells, variances, strict=True)) / total


def secret_pairs(wanted):
    """Vectors of change: from one value to another that differs within a changed set, and to absence."""
    values = list(product(*(range(size) for size in wanted.sizes)))
    identity = np.eye(len(values))
    for (place, one), (other, two) in combinations(list(enumerate(values)), 2):
        different = {axis for axis in range(len(one)) if one[axis] != two[axis]}
        if any(different <= changed for changed in wanted.changed):
            yield identity[place] - identity[other]
    if wanted.presence:
        yield from identity


@settings(max_examples=examples(40), deadline=None)
@given(wanted=workloads())
def test_pure_epsilon_against_dense_matrices(wanted):
    design = best_design(wanted)
    known = [rows(wanted.sizes, ())] * (not wanted.presence)
    matrices = [
        (rows(wanted.sizes, *measured), weight)
        for measured, weight in zip(design.measured, design.weights, strict=True)
    ]
    known += [matrix for matrix, weight in matrices if weight == inf]
    noisy = [(matrix, weight) for matrix, weight in matrices if weight < inf]
    variances = dense_variances(wanted, [(matrix, weight**2 / 2) for matrix, weight in noisy], known)
    assert design.objective == pytest.approx(objective(wanted, variances), rel=1e-6, abs=1e-9)
    losses = [
        sum(weight * np.abs(matrix @ change).sum() for matrix, weight in noisy) for change in secret_pairs(wanted)
    ]
    assert max(losses, default=0.0) <= 1 + 1e-9
    assert all(not np.any(matrix @ change) for matrix in known for change in secret_pairs(wanted))
    if noisy and not any(signs for _, signs in design.measured):
        assert max(losses) == pytest.approx(1)
    assert design.bound <= design.objective * (1 + 1e-9)
    assert design.objective <= objective(wanted, each_alone(wanted)) * (1 + 1e-5)


def each_alone(wanted):
    """Every table with the same noise, and nothing shared between them."""
    tables = [rows(wanted.sizes, table) for table in wanted.tables]
    loss = max((sum(np.abs(t @ change).sum() for t in tables) for change in secret_pairs(wanted)), default=0.0)
    moved = [any(np.any(table @ change) for change in secret_pairs(wanted)) for table in tables]
    return [np.array([2 * loss**2 if noisy else 0.0]) for noisy in moved]


@settings(max_examples=examples(40), deadline=None)
@given(wanted=workloads())
def test_precisions_against_dense_matrices(wanted):
    design = best_design(wanted, Norm.L2)
    matrices = [
        (residual_rows(wanted.sizes, axes), weight)
        for (axes, _), weight in zip(design.measured, design.weights, strict=True)
    ]
    known = [rows(wanted.sizes, ())] * (not wanted.presence)
    known += [
        rows(wanted.sizes, axes)
        for (axes, _), weight in zip(design.measured, design.weights, strict=True)
        if weight == inf
    ]
    noisy = [(matrix, weight) for matrix, weight in matrices if weight < inf]
    variances = dense_variances(wanted, noisy, known)
    assert design.objective == pytest.approx(objective(wanted, variances), rel=1e-5, abs=1e-9)
    losses = [
        sum(weight * ((matrix @ change) ** 2).sum() for matrix, weight in noisy) for change in secret_pairs(wanted)
    ]
    assert max(losses, default=0.0) == pytest.approx(1.0 if noisy else 0.0)
    assert design.bound <= design.objective * (1 + 1e-9)
    assert design.objective <= design.bound * (1 + 1e-6)


@settings(max_examples=examples(40), deadline=None)
@given(wanted=workloads())
def test_interchangeable_attributes_change_nothing(wanted):
    together, each = lattice(wanted, interchangeable), lattice(wanted, apart)
    if each.components:
        objectives = [one.objective(1 / best_precisions(one)[0]) for one in (together, each)]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


def test_public_attributes_are_exact_and_free():
    wanted = WantedTables((3, 4, 5), ((0, 1), (1, 2), (1,)), "mean", (frozenset({2}),), presence=False)
    design = best_design(wanted)
    exact = {axes for (axes, _), weight in zip(design.measured, design.weights, strict=True) if weight == inf}
    assert exact == {(0, 1)}
    assert all(2 in axes for (axes, _), weight in zip(design.measured, design.weights, strict=True) if weight < inf)


def test_without_secrets_nothing_is_noisy():
    design = best_design(WantedTables((3, 4), ((0, 1), (1,)), "worst", (), presence=False))
    assert design.measured == (((0, 1), ()),)
    assert design.weights.tolist() == [inf]
    assert design.bound == design.objective == 0


def test_three_binary_attributes_are_best_measured_as_one_table():
    """Under full-domain secrets three signs have w = 1/6 each; the table of 8 cells has w = 1/2."""
    wanted = WantedTables((2, 2, 2), ((0,), (1,), (2,)), "mean", full_domain(3), presence=False)
    design = best_design(wanted)
    assert design.measured == (((0, 1, 2), ()),)
    # a cell is half of n and a sign, which is a sum of 8 cells of variance 2 / w^2 = 8: 64 / 4; with signs 2 * 36 / 4
    assert design.objective == pytest.approx(16)
    assert cell_variances(wanted, design).tolist() == pytest.approx([16] * 3)


def test_too_many_components_are_refused():
    with pytest.raises(RefusalError, match="components"):
        best_design(WantedTables(tuple(range(2, 26)), (tuple(range(24)),), "mean", full_domain(24), presence=False))


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("weights", ["mean", "worst"])
def test_sparse_matrices_give_the_same_plans(norm, weights, monkeypatch):
    wanted = WantedTables(
        (4, 2, 3, 5, 2), ways(5, 1, 2), weights, (frozenset({0, 1}), frozenset({2}), frozenset({3})), True
    )
    small = best_design(wanted, norm)
    monkeypatch.setattr(arrays, "is_small", lambda shape: False)
    monkeypatch.setattr(planning, "FEW", 0)
    large = best_design(wanted, norm)
    assert large.objective == pytest.approx(small.objective, rel=1e-6)
    assert large.bound == pytest.approx(small.bound, rel=1e-6)
    assert set(large.measured) == set(small.measured)
