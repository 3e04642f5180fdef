"""Tables without negative counts, and of whole numbers, that still agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.constraints import rounded_in_parts, rounded_to
from blowfish_privacy.mechanisms.error import checked_level
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.marginals import TablesMechanism
from blowfish_privacy.mechanisms.tables.nesting import CoarserTable, Nesting
from blowfish_privacy.mechanisms.tables.ranges import CellsError
from blowfish_privacy.mechanisms.tables.shapes import Axes
from blowfish_privacy.noise import SimulationSource
from blowfish_privacy.privacy.public_totals import records_total
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.exact import Number
from blowfish_privacy.support.progress import task

# Tables that agree: the same counts wherever two of them show the same attributes.
#
# A table is the sum of its components, one for each subset of its attributes; those of different subsets are at right
# angles. Tables agree if each component is the same in all tables that contain its attributes, so that the nearest
# tables that agree have the weighted mean of each component: one pass over the tables, and never their product.
# Components on levels of a hierarchy whose branches differ in size are not quite at right angles; then tables are near,
# and agree.


@dataclass(frozen=True, eq=False)
class Agreement:
    """The sets of tables that agree, as a linear space with a projection onto it."""

    sizes: tuple[int, ...]
    """The number of values of each axis: an attribute, or a level of one."""
    tables: tuple[Axes, ...]
    """The axes of each, ascending."""
    precisions: tuple[float, ...]
    """How much a squared change of a cell counts, table by table."""
    exact: frozenset[Axes]
    """The components without noise, which must stay as they are: with each, all that it contains."""
    nesting: Nesting = field(default_factory=Nesting)

    @classmethod
    def of(cls, components: Components) -> Agreement:
        """Weigh each table by how precisely a cell of it is known."""
        return cls(
            components.shape,
            tuple(tuple(sorted(axes)) for axes in components.tables),
            # What has no noise is exact in all its components: its precision does not matter.
            tuple(1 / variance if variance else 1.0 for variance in components.table_variances),
            components.exact,
            components.nesting,
        )

    def parts(self, axes: Axes) -> Iterator[CoarserTable]:
        """Go through the tables that a table contains, itself among them."""
        return (CoarserTable(self.sizes, self.nesting, axes, component) for component in self.nesting.parts(axes))

    def sums(self, tables: Sequence[npt.NDArray[Any]], axes: Axes) -> npt.NDArray[Any]:
        """Sum a table that agrees with the others down to some axes, in this order."""
        wanted = tuple(sorted(axes))
        found = (
            part.sums(table)
            for own, table in zip(self.tables, tables, strict=True)
            for part in self.parts(own)
            if part.component == wanted
        )
        return next(found).transpose([wanted.index(axis) for axis in axes])

    @cached_property
    def _common(self) -> dict[Axes, list[tuple[int, CoarserTable]]]:
        """Every component that several tables have in common, or that is exact, with the numbers of the tables."""
        found: dict[Axes, list[tuple[int, CoarserTable]]] = {}
        for number, axes in enumerate(self.tables):
            for part in self.parts(axes):
                found.setdefault(part.component, []).append((number, part))
        return {component: parts for component, parts in found.items() if len(parts) > 1 or component in self.exact}

    def exact_sums(self, tables: Sequence[npt.NDArray[Any]]) -> dict[Axes, npt.NDArray[Any]]:
        """Take the sums of the exact components from tables that have them."""
        exact = ((component, parts[0]) for component, parts in self._common.items() if component in self.exact)
        return {component: part.sums(tables[number]) for component, (number, part) in exact}

    def nearest(self, tables: Sequence[Floats], exact: dict[Axes, Floats]) -> list[Floats]:
        """Return the nearest tables that agree and have the exact sums."""
        changes = [np.zeros(()) for _ in tables]
        for component, parts in self._common.items():
            sums = [part.sums(tables[number]) for number, part in parts]
            if component in exact:
                agreed = exact[component]
            else:
                weights = [self.precisions[number] / part.spread for number, part in parts]
                agreed = sum(weight * each for weight, each in zip(weights, sums, strict=True)) / sum(weights)
            for (number, part), each in zip(parts, sums, strict=True):
                changes[number] = changes[number] + part.lifted(part.contrasts(agreed - each))
        return [table + change for table, change in zip(tables, changes, strict=True)]

    def contained(self, tables: Sequence[Floats]) -> dict[Axes, Floats]:
        """Sum tables that agree to all tables that they contain, the coarser ones first."""
        found = {
            part.component: part.sums(table)
            for axes, table in zip(self.tables, tables, strict=True)
            for part in self.parts(axes)
        }
        return {axes: found[axes] for axes in sorted(found, key=lambda axes: (self.nesting.depth(axes), axes))}

    def finest(self, parts: Iterable[CoarserTable]) -> CoarserTable:
        """Return the part that contains all others."""
        return max(parts, key=lambda part: self.nesting.depth(part.component))

    def equations(self, tables: Sequence[Floats]) -> tuple[Any, Floats]:
        """Say in rows of a sparse matrix, over the cells of all tables, that they agree and keep their exact sums."""
        from scipy.sparse import csr_array, vstack

        ends = np.cumsum([0, *(table.size for table in tables)]).tolist()
        rows: list[Any] = []
        wanted: list[Floats] = []
        for component, parts in self._common.items():
            summing: list[Any] = []
            for number, part in parts:
                to, cells = part.places(), np.arange(ends[number], ends[number + 1])
                summing.append(csr_array((np.ones(len(to)), (to, cells)), shape=(int(to.max()) + 1, ends[-1])))
            rows += [each - summing[0] for each in summing[1:]]
            wanted += [np.zeros(each.shape[0]) for each in summing[1:]]
            if component in self.exact:
                number, part = parts[0]
                rows.append(summing[0])
                wanted.append(np.rint(part.sums(tables[number])).reshape(-1))
        if not rows:
            return csr_array((0, ends[-1])), np.zeros(0)
        return vstack(rows), np.concatenate(wanted)


# From tables that agree and are almost nowhere negative to tables that agree and are nowhere negative.
#
# For any number of attributes. Alternating projections aim a little inside, at a hundredth of even tables, until little
# is below zero. The rest is lifted by mixing in a little of other tables that agree: of records that lie where they are
# missing or, if there are public tables to be kept, of even ones; we give up where that would be much. Both steps keep
# agreement, exact components, and the cells that are empty by exact tables.

_INTERIOR_ROUNDS = 300
_LITTLE, _MOST_MIXED = 1e-4, 0.01
_AIM = 0.01
_RELAXATION = 1.8
"""Going further than the projection halves the rounds; below 2 it still comes nearer every time."""


def moved_inside(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Return near tables that agree and have no negative count."""
    even = _even(tables, agreement)
    possible = [table > 0 for table in even]
    nearest = _Nearest(agreement, agreement.exact_sums(tables), possible)
    without_public = not any(agreement.exact)
    with task("Moving tables to zero and above") as report:
        moved = nearest(tables, tolerance=0.0)
        for done in range(_INTERIOR_ROUNDS):
            missing = -sum(float(table[table < 0].sum()) for table in moved) / max(float(even[0].sum()), 1e-300)
            if (missing if without_public else _share(moved, even)) < _LITTLE:
                break
            aims = nearest([np.maximum(table, _AIM * each) for table, each in zip(moved, even, strict=True)])
            moved = [table + _RELAXATION * (aim - table) for table, aim in zip(moved, aims, strict=True)]
            if report:
                report(done / _INTERIOR_ROUNDS)
    moved = nearest(moved, tolerance=0.0)
    added = _made_up(moved, agreement, even) if without_public else even
    share = _share(moved, added)
    if share > _MOST_MIXED:
        raise RefusalError(
            "no tables without negative counts were found that agree and are near.",
            hint="use the unbiased tables, or ask for tables of two attributes at most.",
        )
    mixed = ((1 - share) * table + share * each for table, each in zip(moved, added, strict=True))
    return [np.where(where, np.maximum(table, 0), 0.0) for table, where in zip(mixed, possible, strict=True)]


def _share(tables: Sequence[Floats], added: Sequence[Floats]) -> float:
    """Return how much of other tables must be mixed in to lift all counts to zero."""
    most = 0.0
    for table, each in zip(tables, added, strict=True):
        below = np.maximum(-table, 0)
        most = max(most, float(np.divide(below, below + each, out=np.zeros(table.shape), where=each > 0).max()))
    return most


def _made_up(tables: Sequence[Floats], agreement: Agreement, even: Sequence[Floats]) -> Sequence[Floats]:
    """Return agreeing tables of as many records that lie where counts are below zero.

    What is missing in a cell of one table is added there, and evenly over all attributes that the table does not have.
    """
    below = [np.maximum(-table, 0) for table in tables]
    everything = sum(float(table.sum()) for table in below)
    if not everything:
        return even
    added: list[Floats] = []
    for axes, table in zip(agreement.tables, tables, strict=True):
        parts, lifted = {part.component: part for part in agreement.parts(axes)}, np.zeros(table.shape)
        for other, missing in zip(agreement.tables, below, strict=True):
            if missing.any():
                common = agreement.finest(part for part in agreement.parts(other) if part.component in parts)
                lifted += parts[common.component].lifted(common.sums(missing))
        added.append(lifted * (float(even[0].sum()) / everything))
    return added


def _even(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Spread the exact tables, or the number of records, evenly over everything that is secret."""
    spread: list[Floats] = []
    for axes, table in zip(agreement.tables, tables, strict=True):
        public = [part for part in agreement.parts(axes) if part.component in agreement.exact]
        part = agreement.finest(public or (part for part in agreement.parts(axes) if not part.component))
        sums = part.sums(table)
        known = np.maximum(np.rint(sums) if public else sums, 0)
        spread.append(np.broadcast_to(part.lifted(known), table.shape))
    return spread


class _Nearest:
    """The projection on tables that agree, have the exact sums, and are zero where nobody can be.

    The zeros are met by conjugate gradients on what is taken from the impossible cells, which start from what was taken
    the last time.
    """

    def __init__(
        self, agreement: Agreement, exact: dict[Axes, Floats], possible: Sequence[npt.NDArray[np.bool_]]
    ) -> None:
        self._agreement, self._exact = agreement, exact
        self._nothing = {component: np.zeros(sums.shape) for component, sums in exact.items()}
        self._impossible = [~where for where in possible]
        self._taken = np.zeros(sum(int(where.sum()) for where in self._impossible))

    def __call__(self, tables: Sequence[Floats], tolerance: float = 1e-2) -> list[Floats]:
        agreed = self._agreement.nearest(tables, self._exact)
        if not len(self._taken):
            return agreed
        wanted = self._gathered(agreed)
        left = wanted - self._gathered(self._response(self._taken))
        direction, size = left.copy(), float(left @ left)
        # It is in vain to ask for more than floats can resolve in the tables as they are.
        precisions = self._agreement.precisions
        scale = max(sqrt(each) * float(np.abs(table).max()) for each, table in zip(precisions, tables, strict=True))
        enough = max(tolerance**2 * float(wanted @ wanted), (1e-14 * scale) ** 2)
        for _ in range(100):
            if size <= enough:
                break
            response = self._gathered(self._response(direction))
            step = size / float(direction @ response)
            self._taken, left = self._taken + step * direction, left - step * response
            size, before = float(left @ left), size
            direction = left + size / before * direction
        taken = self._response(self._taken)
        return [table - each for table, each in zip(agreed, taken, strict=True)]

    def _gathered(self, tables: Sequence[Floats]) -> Floats:
        cells = zip(self._agreement.precisions, tables, self._impossible, strict=True)
        return np.concatenate([sqrt(precision) * table[where] for precision, table, where in cells])

    def _response(self, taken: Floats) -> list[Floats]:
        """Return what it changes in tables that agree to take amounts, by precision, from the impossible cells."""
        changes, start = [np.zeros(where.shape) for where in self._impossible], 0
        for change, where, precision in zip(changes, self._impossible, self._agreement.precisions, strict=True):
            stop = start + int(where.sum())
            change[where] = taken[start:stop] / sqrt(precision)
            start = stop
        return self._agreement.nearest(changes, self._nothing)


# Tables without negative counts that still agree: near the unbiased ones, and biased.
#
# Dykstra's algorithm [boyle1986] comes close to the nearest such tables, weighted by precision. What is left is mended.
# Tables of one or two attributes are fitted to the tables they contain, the small ones first, which keeps every count
# at zero or above; larger ones are moved inside together. Either way no count is negative, and two tables agree to the
# rounding of floats: to about 1e-12 of all records.

_ROUNDS = 60
_MOST_CELLS = 10_000_000


def nonnegative(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Return near tables that agree and have no negative count; exact components stay exact."""
    cells = sum(table.size for table in tables)
    if cells > _MOST_CELLS:
        raise RefusalError(
            f"tables of {cells:,} cells are too many to fit without negative counts; the most is {_MOST_CELLS:,}.",
            hint="use the unbiased tables, or ask for fewer.",
        )
    near = _near(tables, agreement)
    if max(map(len, agreement.tables)) > 2:
        return moved_inside(near, agreement)
    # Cut at zero, and made to agree again with all tables they contain, the small ones first.
    found: dict[Axes, Floats] = {}
    for axes, table in agreement.contained(near).items():
        if axes in agreement.exact:
            found[axes] = np.rint(table)
        else:
            found[axes] = within(np.maximum(table, 0), axes, found, agreement, fit_one, fit_two)
    return [found[table] for table in agreement.tables]


def _near(tables: Sequence[Floats], agreement: Agreement) -> list[Floats]:
    """Project in turn on tables that agree and on tables that are not negative."""
    exact = agreement.exact_sums(tables)
    agreeing, cut = list(tables), [np.zeros(table.shape) for table in tables]
    with task("Moving tables to zero and above") as report:
        for done in range(_ROUNDS):
            before = [table + taken for table, taken in zip(agreeing, cut, strict=True)]
            # Only the cone needs its correction remembered: the other set is a plane.
            cut = [np.minimum(table, 0) for table in before]
            agreeing = agreement.nearest([np.maximum(table, 0) for table in before], exact)
            if report:
                report(done / _ROUNDS)
    return agreeing


def within(
    table: Floats,
    axes: Axes,
    found: Mapping[Axes, npt.NDArray[Any]],
    agreement: Agreement,
    one: Callable[[Floats, Any], npt.NDArray[Any]],
    two: Callable[[Floats, npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Fit a table of at most two attributes to the next coarser ones.

    Without levels of a hierarchy, ``one`` and ``two`` see the whole table: with its total, or its sums over both axes.
    With levels they see one branch after the other.
    """
    if not axes:
        return table
    groups = [agreement.nesting.above.get(axis, np.zeros(agreement.sizes[axis], dtype=np.int64)) for axis in axes]
    sides = [_side(axes, at, found, agreement) for at in range(len(axes))]
    branches = [[np.flatnonzero(each == group) for group in range(int(each.max()) + 1)] for each in groups]
    parts: list[tuple[Any, npt.NDArray[Any]]] = []
    if len(axes) == 1:
        parts = [(rows, one(table[rows], sides[0][group])) for group, rows in enumerate(branches[0])]
    else:
        for (first, rows), (second, columns) in product(enumerate(branches[0]), enumerate(branches[1])):
            block = np.ix_(rows, columns)
            parts.append((block, two(table[block], sides[0][first, columns], sides[1][rows, second])))
    result = np.zeros(table.shape, dtype=parts[0][1].dtype)
    for where, values in parts:
        result[where] = values
    return result


def _side(axes: Axes, at: int, found: Mapping[Axes, npt.NDArray[Any]], agreement: Agreement) -> npt.NDArray[Any]:
    """Return the table with one axis coarser, or left out and then of length 1; axes in the same order."""
    parent = agreement.nesting.parents.get(axes[at])
    if parent is None:
        return np.expand_dims(found[axes[:at] + axes[at + 1 :]], at)
    order = (*axes[:at], parent, *axes[at + 1 :])
    return found[tuple(sorted(order))].transpose([sorted(order).index(axis) for axis in order])


def fit_one(table: Floats, total: Any) -> Floats:
    """Give a table of one attribute its total."""
    everything = float(table.sum())
    return table * (float(total) / everything) if everything else np.full(table.shape, float(total) / table.size)


def fit_two(table: Floats, down: Floats, across: Floats) -> Floats:
    """Give a table of two attributes its sums, whatever they are, if they have one total.

    Scale down where there is too much, then spread what is missing over the rows and columns that lack something
    [altschuler2017, algorithm 2]: nothing becomes negative, and little moves where little is wrong.
    """
    for axis, wanted in ((0, down), (1, across)):
        sums = table.sum(axis=axis)
        ratio = np.divide(wanted, sums, out=np.ones(sums.shape), where=sums > wanted)
        table = table * np.expand_dims(ratio, axis)
    lacking_down = np.maximum(down - table.sum(axis=0), 0)
    lacking_across = np.maximum(across - table.sum(axis=1), 0)
    everything = float(lacking_down.sum())
    return table + np.outer(lacking_across, lacking_down / everything) if everything else table


# Agreeing whole numbers by controlled rounding.
#
# Tables of at most two attributes are rounded one by one, the small ones first, each to the sums it must have. This
# always succeeds: rows and columns make a network, whose linear program has a whole solution where it has any
# [cox1982]. With three attributes or more that is not so: small sets are rounded by one integer program, which may find
# no solution in time, and then we say so.

_MOST_WHOLE_CELLS = 20_000
"""How many cells tables may have together if some are of three or more attributes."""


def whole(tables: Sequence[Floats], agreement: Agreement) -> list[Integers]:
    """Round tables that agree and are not negative to whole numbers that do; exact components stay exact."""
    if max(map(len, agreement.tables)) > 2:
        return _together(tables, agreement)

    def rounded_one(table: Floats, total: Any) -> Integers:
        return rounded_in_parts(fit_one(table, total), records_total(table.size, int(total)))

    found: dict[Axes, Integers] = {}
    for axes, table in agreement.contained(tables).items():
        if axes in agreement.exact or not axes:
            found[axes] = np.rint(table).astype(np.int64)
        else:
            found[axes] = within(table, axes, found, agreement, rounded_one, _rounded_two)
    return [found[table] for table in agreement.tables]


def _rounded_two(table: Floats, down: Integers, across: Integers) -> Integers:
    """Round each cell up or down, those of large remainders up, after the table was fitted to its sums."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    near = fit_two(table, down.astype(np.float64), across.astype(np.float64))
    floor = np.floor(near + 1e-7)
    rows, columns = np.nonzero(near - floor > 1e-7)
    cells, ones = np.arange(len(rows)), np.ones(len(rows))
    rounded = floor.astype(np.int64)
    sums = vstack(
        [
            csr_array((ones, (columns, cells)), shape=(len(down), len(rows))),
            csr_array((ones, (rows, cells)), shape=(len(across), len(rows))),
        ]
    )
    missing = np.concatenate([down - rounded.sum(axis=0), across - rounded.sum(axis=1)])
    if missing.any():
        remainder = (near - floor)[rows, columns]
        solved = linprog(1 - 2 * remainder, A_eq=sums, b_eq=missing, bounds=(0, 1), method="highs-ds")
        rounded[rows, columns] += np.rint(solved.x).astype(np.int64)
    return rounded


def _together(tables: Sequence[Floats], agreement: Agreement) -> list[Integers]:
    """Search for agreeing whole numbers, all tables at once, that move as little as possible."""
    values = np.concatenate([table.reshape(-1) for table in tables])
    found = None
    if len(values) <= _MOST_WHOLE_CELLS:
        found = rounded_to(np.maximum(values, 0), *agreement.equations(tables))
    if found is None:
        raise RefusalError(
            f"no agreeing whole numbers were found for these {len(tables):,} tables of {len(values):,} cells.",
            hint="beyond two attributes that may be too hard; use nonnegative(), or ask for tables of two attributes.",
        )
    ends = np.cumsum([table.size for table in tables])[:-1]
    return [part.reshape(table.shape) for part, table in zip(np.split(found, ends), tables, strict=True)]


# The error of tables that were made non-negative or whole: estimated by a parametric bootstrap.
#
# The tables themselves are the proxy for the truth: they get the noise of their release again, from bits that everybody
# can reproduce, and the same is done to them once more. No private data are touched.

_DRAWN = 1_000_000
"""How many cells are simulated: few draws of large tables are as precise as many of small ones."""
_FEWEST, _MOST = 4, 40

Fit: TypeAlias = Callable[[Sequence[Floats]], Sequence[npt.NDArray[Any]]]
"""Turns unbiased tables, axes ascending, into biased ones."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedError(CellsError):
    """The estimated error of biased tables."""

    mechanism: TablesMechanism[Any]
    agreement: Agreement
    fitted: Sequence[npt.NDArray[Any]]
    """The biased tables, axes ascending."""
    fit: Fit

    distribution = "that of the tables, simulated on themselves"

    @property
    def of(self) -> str:
        """What the error refers to."""
        return self.mechanism.expected_error().of

    @cached_property
    def _errors(self) -> list[list[Floats]]:
        """For each simulation, the errors of all tables."""
        cells = sum(table.size for table in self.fitted)
        draws = min(max(_DRAWN // cells, _FEWEST), _MOST)
        source = SimulationSource("fitted tables")
        errors: list[list[Floats]] = []
        with task("Simulating the error of tables") as report:
            for done in range(draws):
                noise = self.mechanism.simulated_noise(source)
                again = self.fit([table + each for table, each in zip(self.fitted, noise, strict=True)])
                errors.append([table - fitted for table, fitted in zip(again, self.fitted, strict=True)])
                if report:
                    report((done + 1) / draws)
        return errors

    def errors(self, axes: Axes) -> Floats:
        """Return the errors of a table, or of one that it contains, for each simulation; axes in this order."""
        return np.stack([self.agreement.sums(errors, axes) for errors in self._errors])

    def standard_error(self, axes: Axes, chosen: Sequence[Subset] | None = None) -> float:
        errors = self.errors(axes)
        if chosen is not None:
            errors = errors[np.ix_(range(len(errors)), *map(list, chosen))].reshape(len(errors), -1).sum(axis=1)
        return sqrt(float(np.mean(errors**2)))

    def standard_errors(self, axes: Axes) -> Floats:
        """Return the root mean squared error of a cell that has one for each of them: few draws show no more."""
        noisy = self._noisy(axes)
        return np.where(noisy, sqrt(float(np.mean(self.errors(axes)[:, noisy] ** 2))) if noisy.any() else 0.0, 0.0)

    def _noisy(self, axes: Axes) -> npt.NDArray[np.bool_]:
        """Say which cells of a table do not follow from what is public."""
        return self.mechanism.components.cell_variances(axes) > 0

    @cached_property
    def by_table(self) -> tuple[float, ...]:
        """The mean squared error of a cell of each table."""
        each = [[float(np.mean(error**2)) for error in errors] for errors in self._errors]
        return tuple(np.mean(each, axis=0).tolist())

    @property
    def mse(self) -> float:
        """The mean squared error: of the worst table, or over all cells, as the release was planned for."""
        if self.mechanism.worst:
            return max(self.by_table)
        return float(np.average(self.by_table, weights=[table.size for table in self.fitted]))

    @property
    def precision(self) -> float:
        """The relative standard error of the estimate itself, roughly: cells of one simulation depend on each other."""
        values = [np.mean([np.mean(error**2) for error in errors]) for errors in self._errors]
        return float(np.std(values) / max(np.mean(values), 1e-12) / sqrt(len(values) - 1))

    def bound(self, level: Fraction) -> float:
        """Bound the error of a cell of the worst table."""
        _, worst = max(zip(self.by_table, self.agreement.tables, strict=True))
        return self.interval_of(worst, level)

    def interval_of(self, axes: Axes, level: Number = "0.95") -> float:
        share, noisy = checked_level(level), self._noisy(axes)
        return float(np.quantile(np.abs(self.errors(axes)[:, noisy]), float(share))) if noisy.any() else 0.0
