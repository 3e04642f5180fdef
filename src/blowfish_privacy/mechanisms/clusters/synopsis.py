"""A synopsis: a noisy release of where the records lie, from which clusters and more follow at no further cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import prod
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets, Axis, Lattice, Run, TableAggregates
from blowfish_privacy.aggregates.lattice import MOST_NODES
from blowfish_privacy.domain import Attribute, Binned, Cell, Domain, Numeric
from blowfish_privacy.errors import DataError, QueryError, RefusalError, SpecError, brief
from blowfish_privacy.graphs import SecretGraph
from blowfish_privacy.graphs.graph import Edge
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, MOST_SECRET_RECORDS, Mechanism
from blowfish_privacy.noise import BitSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.sensitivity import Sensitivity, steps
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.counts import HistogramForm, clusters_asked
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.support.arrays import Floats, Integers

# Stretches of an attribute that no secret pair leaves, few enough for one expression.

Equal = tuple[int, int, int]
"""The start of neighbouring stretches, the width of each, and how many there are."""

_MOST_RUNS = 128


def stretches(graph: SecretGraph, name: str) -> tuple[Equal, ...]:
    """Cut an attribute wherever no secret pair crosses; neighbours of equal width are written as one run."""
    runs: list[Equal] = []
    for each in graph.stretches(name):
        if runs and runs[-1][1] == each.width:
            runs[-1] = (runs[-1][0], each.width, runs[-1][2] + each.count)
        else:
            runs.append((each.start, each.width, each.count))
    if len(runs) <= _MOST_RUNS:
        return tuple(runs)
    # Too many for one expression: join neighbours, since no secret pair leaves the union either.
    ends = [start + width * count for start, width, count in runs]
    kept = ends[len(ends) // _MOST_RUNS :: len(ends) // _MOST_RUNS + 1]
    kept = kept if kept[-1] == ends[-1] else [*kept, ends[-1]]
    return tuple((low, high - low, 1) for low, high in zip([0, *kept[:-1]], kept, strict=True))


# How fine a soft grid may be: its cells must stand out from the noise. Chosen from public numbers only.
#
# All arithmetic is exact, so that everyone who reads a release arrives at the same grid.

MOST_DIMENSIONS = 8
MOST_CELLS = 2**14
MOST_PER_AXIS = 64
LARGEST_UNIT = 2**40
MOST_NODES_OF_BLOCKS = 2**23
_FEWEST_BLOCKS = 4
"""With fewer blocks along every attribute, on average, one grid or mesh over all serves better than one in each.

Settled on heavy-tailed and tight groups and three groups with a far one of 1 %: 20,000 to 100,000 records, two and
three attributes, epsilon 0.1.
"""

Ratio = Callable[[Sequence[int]], Fraction]
"""The share of a record that a secret move can change, given the number of cells along each axis."""


def width_of(attribute: Attribute, start: int, stop: int) -> Fraction:
    """Return the width of a stretch of positions, in the units of the values."""
    if isinstance(attribute, Binned):
        return attribute.bounds[stop] - attribute.bounds[start]
    return (stop - start) * attribute.gap(0, 1)


def widths(attributes: Sequence[Attribute]) -> tuple[Fraction, ...]:
    """Return the width of the box along every attribute, in the units of its values."""
    return tuple(width_of(attribute, 0, attribute.size) for attribute in attributes)


def rate(signal: Fraction, dimensions: int) -> int:
    """Return the most cells for a signal of n epsilon / ratio: min(N / 3.5, 1.7 * 2^(d-3) N^(2/3)), rounded down."""
    if signal <= 0:
        return 0
    # The largest M with M^3 <= (17/10)^3 8^(d-3) N^2.
    cube = int(Fraction(17, 10) ** 3 * Fraction(8) ** (dimensions - 3) * signal**2)
    return min(int(signal * 2 / 7), _cube_root(cube))


def _cube_root(number: int) -> int:
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle - 1)
    return low


def choose_cells(
    signal: Fraction, box: Sequence[Fraction], sizes: Sequence[int], ratio: Ratio | None = None
) -> tuple[int, ...]:
    """Choose the number of cells along every axis; ``signal`` is n epsilon, ``ratio`` what short moves gain."""
    cells = [1] * len(sizes)
    limit = min(rate(signal, len(sizes)), MOST_CELLS) if ratio is None else 0
    while True:
        open_axes = [axis for axis, size in enumerate(sizes) if cells[axis] < min(MOST_PER_AXIS, size)]
        if not open_axes:
            return tuple(cells)
        widest = max(open_axes, key=lambda axis: (box[axis] / cells[axis], -axis))
        wanted = [each + (axis == widest) for axis, each in enumerate(cells)]
        if ratio is not None:
            limit = min(rate(signal / max(ratio(wanted), Fraction(1, 10**6)), len(sizes)), MOST_CELLS)
        if prod(wanted) > limit:
            return tuple(cells)
        cells = wanted


def blocks_pay(domain: Domain, blocks: Sequence[Sequence[Equal]], signal: Fraction) -> bool:
    """Say whether grids in blocks counted exactly will be finer than one grid over all; ``signal`` is n epsilon.

    The counts are not known yet, so blocks are taken to have equal ones. Many long blocks with few records do not pay,
    nor do few blocks whose values are not told apart.
    """
    counts = [sum(count for _, _, count in each) for each in blocks]
    if prod(counts) == 1 or prod(counts) > MOST_NODES:
        return False
    box = widths(domain.attributes)
    parts = [width / count for width, count in zip(box, counts, strict=True)]
    sizes = [-(-size // count) for size, count in zip(domain.shape, counts, strict=True)]
    inside = choose_cells(signal / prod(counts), parts, sizes)
    if prod(counts) < _FEWEST_BLOCKS ** len(counts) and list(inside) != sizes:
        return False
    over = choose_cells(signal, box, domain.shape)
    sides = (zip(parts, inside, strict=True), zip(box, over, strict=True))
    in_blocks, in_one = (sum(((width / many) ** 2 for width, many in each), Fraction(0)) for each in sides)
    return in_blocks <= in_one


def choose_resolutions(steps: Sequence[int], records: int, amount: Fraction) -> tuple[int, ...]:
    """Choose the shares of a record along every axis: exact ones where they fit, else equal powers of two.

    n times the unit stays below 2^60, and noise for twice the unit at ``amount`` of epsilon can be drawn.
    """
    if prod(steps) <= _largest_unit(records, amount):
        return tuple(steps)
    return even_resolutions([step > 1 for step in steps], records, amount)


def even_resolutions(shared: Sequence[bool], records: int, amount: Fraction) -> tuple[int, ...]:
    """Use the same power of two along all axes on which records are shared."""
    bits = (max(_largest_unit(records, amount), 1).bit_length() - 1) // max(sum(shared), 1)
    if bits < 1 and any(shared):
        raise RefusalError("epsilon is too small, or the records are too many, for exact shares of records.")
    return tuple(2**bits if each else 1 for each in shared)


def _largest_unit(records: int, amount: Fraction) -> int:
    return min(LARGEST_UNIT, 2**60 // max(records, 1), int(2**48 * amount))


# Estimates where the records of a noisy soft histogram lie: post-processing of public numbers, in floating point.

_ROUNDS = 100
_NOISE_SHARE = 0.25
_RECORD_SHARE = 0.001


def project(noisy: Floats, totals: Floats) -> Floats:
    """Return, for every column, the nearest numbers that are not negative and add up to the column's total."""
    descending = -np.sort(-noisy, axis=0)
    ranks = np.arange(1, len(noisy) + 1)[:, None]
    excess = (np.cumsum(descending, axis=0) - totals) / ranks
    kept = np.maximum((descending > excess).sum(axis=0), 1)
    level = excess[kept - 1, np.arange(noisy.shape[1])]
    return np.maximum(noisy - level, 0) * (totals > 0)


def keep_largest(noisy: Floats, total: float, floor: float) -> Floats:
    """Keep the largest numbers until they add up to the total, none below a floor, and rescale them to the total."""
    order = np.argsort(-noisy)
    descending = noisy[order]
    many = min(int(np.searchsorted(np.cumsum(np.maximum(descending, 0)), total)) + 1, int((descending > floor).sum()))
    kept = np.zeros_like(noisy)
    kept[order[: max(many, 1)]] = np.maximum(descending[: max(many, 1)], 1e-9)
    return kept * (total / kept.sum())


def deconvolve(matrix: Any, rows: Floats, scale: float) -> Floats:
    """Find non-negative weights of points whose rows match the noisy ones as closely as the noise warrants.

    ``matrix`` (rows x points) shares points among rows and its columns add up to one; every column of ``rows`` is a
    problem of its own. Multiplicative rounds (Richardson and Lucy's) keep totals and signs; they stop once the
    misfit is below the noise, since further rounds would fit the noise.
    """
    many, points = matrix.shape
    totals = rows.sum(axis=0)
    weights = np.repeat(totals[None, :] / points, points, axis=0)
    enough = np.maximum(_NOISE_SHARE * scale, _RECORD_SHARE * totals / many)
    active = np.flatnonzero(totals > 0)
    transposed = matrix.T.tocsr()
    for _ in range(_ROUNDS):
        predicted = matrix @ weights[:, active]
        far = np.abs(predicted - rows[:, active]).mean(axis=0) > enough[active]
        active, predicted = active[far], predicted[:, far]
        if not len(active):
            break
        factors = np.divide(rows[:, active], predicted, out=np.zeros_like(predicted), where=predicted > 1e-300)
        weights[:, active] *= transposed @ factors
    return weights


def hats(cells: int, places: Floats) -> Any:
    """Return the shares that places, in units of a box 0..1, give ``cells`` centred nodes: sparse, nodes x places."""
    from scipy.sparse import csr_array

    at = np.clip(places * cells - 0.5, 0, cells - 1)
    lower = np.minimum(at.astype(np.int64), max(cells - 2, 0))
    upper = np.minimum(lower + 1, cells - 1)
    share = at - lower
    columns = np.arange(len(places))
    values = (np.concatenate([1 - share, share]), (np.concatenate([lower, upper]), np.concatenate([columns, columns])))
    return csr_array(values, shape=(cells, len(places)))


def kron(parts: Sequence[Any]) -> Any:
    """Return the product of sparse matrices over the axes."""
    from scipy.sparse import csr_array
    from scipy.sparse import kron as product

    return csr_array(reduce(lambda a, b: product(a, b, format="csr"), parts))


# How much one secret move can change the sums on a lattice, in records.
#
# Along one axis a record is shared between two neighbouring nodes; a move changes that by a total variation TV. For a
# product of axes TV <= 1 - prod(1 - TV_j) <= sum TV_j, and the sums change by 2 TV in L1. Moves never leave a piece of
# an axis, so pieces do not matter. See docs/proofs/soft_grid.md.

_MOST_POSITIONS = 2**20
_MOST_EDGES = 20_000


def lattice_sensitivity(lattice: Lattice, names: tuple[str, ...], policy: Policy) -> Sensitivity:
    """Bound the L1 change of the sums, in records, over all neighbours; exact where a secret pair attains it."""
    neighbours = steps(policy, names)
    graph = neighbours.graph
    bound = 2 * most_varied(lattice, graph)
    if not bound:
        theorem = "no secret pair changes the lattice [docs/proofs/soft_grid.md]"
        return Sensitivity(Fraction(0), exact=True, theorem=theorem, witness=None)
    worst = max(_candidates(lattice, graph), key=lambda edge: change(lattice, *edge), default=None)
    attained = worst is not None and change(lattice, *worst) == bound and not neighbours.forced
    witness = None
    if worst is not None and attained:
        witness = ((graph.domain.record(worst[0]),), (graph.domain.record(worst[1]),))
    theorem = "shares change by at most twice the total variation of a move [docs/proofs/soft_grid.md]"
    if neighbours.rows > 1:
        theorem += f", times {neighbours.rows} " + (
            "records that move together" if neighbours.forced else "rows per person"
        )
    return Sensitivity(neighbours.rows * bound, attained, theorem, witness)


def change(lattice: Lattice, x: Cell, y: Cell) -> Fraction:
    """Return the L1 change of the sums, in records, when a record moves from x to y: exact."""
    first, second = column(lattice, x), column(lattice, y)
    nodes = {*first, *second}
    return Fraction(sum(abs(first.get(node, 0) - second.get(node, 0)) for node in nodes), lattice.unit)


def column(lattice: Lattice, x: Cell) -> dict[tuple[int, ...], int]:
    """Return the shares that a record at x gives its nodes."""
    parts: list[list[tuple[int, int]]] = []
    for axis, position in zip(lattice.axes, x, strict=True):
        node, share = (int(each[0]) for each in axis.locate(np.array([position])))
        parts.append([(node, axis.resolution - share), *([(node + 1, share)] if share else [])])
    return {tuple(node for node, _ in corner): prod(share for _, share in corner) for corner in product(*parts)}


def most_varied(lattice: Lattice, graph: SecretGraph, moves: Sequence[int] | None = None) -> Fraction:
    """Bound the largest total variation of a secret move, at most 1; ``moves`` are the longest along each axis."""
    if graph.enumerated is not None and len(graph.enumerated) <= _MOST_EDGES:
        return max((change(lattice, *edge) / 2 for edge in graph.enumerated), default=Fraction(0))
    moves = largest_moves(graph) if moves is None else moves
    alone = [along(axis, move) for axis, move in zip(lattice.axes, moves, strict=True)]
    if graph.one_at_a_time:
        return max(alone)
    together = 1 - prod((1 - each for each in alone), start=Fraction(1))
    return min(together, max(_linear(lattice, graph, moves), *alone))


def largest_moves(graph: SecretGraph) -> tuple[int, ...]:
    """Return the most positions that one edge moves along each attribute."""
    return tuple(graph.largest_move(name) for name in graph.domain.names)


def along(axis: Axis, move: int) -> Fraction:
    """Return the largest total variation of a move by this many positions along one axis, inside a piece."""
    if not move or not axis.shared:
        return Fraction(0)
    if axis.size > _MOST_POSITIONS:
        return min(Fraction(1), _slope(axis) * move + Fraction(1, axis.resolution))
    return max(_furthest(axis, move), key=lambda furthest: furthest[0])[0]


@lru_cache(maxsize=256)
def _furthest(axis: Axis, move: int) -> tuple[tuple[Fraction, int, int], ...]:
    """Return for every run the largest total variation of such a move, and the positions that attain it."""
    furthest: list[tuple[Fraction, int, int]] = []
    for run in axis.runs:
        # All pieces of a run are alike.
        start = run.start + np.arange(run.width)
        end = np.minimum(start + move, run.start + run.width - 1)
        (node, share), (beyond, after) = axis.locate(start), axis.locate(end)
        near = axis.resolution - np.minimum(share, axis.resolution - after)
        varied = np.where(beyond == node, after - share, np.where(beyond == node + 1, near, axis.resolution))
        best = int(varied.argmax())
        furthest.append((Fraction(int(varied[best]), axis.resolution), int(start[best]), int(end[best])))
    return tuple(furthest)


def _slope(axis: Axis) -> Fraction:
    return max(Fraction(run.slope, run.step) for run in axis.runs)


def _linear(lattice: Lattice, graph: SecretGraph, moves: Sequence[int]) -> Fraction:
    """Bound sum TV_j by sum |move_j| slope_j over the secret moves, and a share for rounding."""
    moving = [axis for axis, move in zip(lattice.axes, moves, strict=True) if axis.shared and move]
    rough = [axis for axis in moving if any(axis.resolution % run.step for run in axis.runs)]
    rounding = sum((Fraction(1, axis.resolution) for axis in rough), Fraction(0))
    return rounding + graph.longest_move([_slope(axis) if axis.shared else 0 for axis in lattice.axes])


def _candidates(lattice: Lattice, graph: SecretGraph) -> Iterator[Edge]:
    """Yield secret pairs that are likely to attain the bound: the worst move along each axis, all else equal."""
    if graph.enumerated is not None:
        yield from graph.enumerated if len(graph.enumerated) <= _MOST_EDGES else ()
        return
    origin = (0,) * len(lattice.axes)
    for index, (axis, name) in enumerate(zip(lattice.axes, graph.domain.names, strict=True)):
        widest = graph.widest_edge(name)
        if widest is None:
            continue
        yield widest
        if axis.size <= _MOST_POSITIONS:
            for _, low, high in _furthest(axis, abs(widest[0][index] - widest[1][index])):
                x, y = ((*origin[:index], end, *origin[index + 1 :]) for end in (low, high))
                if low != high and graph.adjacent(x, y):
                    yield x, y


MOST_POINTS = 20_000
FINEST = 8


@dataclass(frozen=True, eq=False)
class Points:
    """Weighted points in the units of the values, and the width of the cell that each represents."""

    places: Floats
    weights: Floats
    widths: Floats

    @property
    def records(self) -> float:
        """The estimated number of records of all points together."""
        return float(self.weights.sum())


class Synopsis(Mechanism):
    """A mechanism that releases where the records lie."""

    form: HistogramForm
    gives = ("clusters",)
    independent_rows: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    """Whether the points show where all records lie, rather than only the centres asked for."""

    def for_free(self) -> str:
        return ", and any other number of them for free" if self.whole else ""

    def tables(self, query: Query) -> AttributeSets:
        return []

    @abstractmethod
    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        """Ask for sums on lattices and add the noise."""

    def measure(self, counts: npt.NDArray[np.int64], source: BitSource) -> npt.NDArray[Any]:
        return self.draw(TableAggregates(self.form.domain, counts.reshape(self.form.domain.shape)), source)

    @abstractmethod
    def points(self, noisy: npt.NDArray[np.int64], records: int | None) -> Points:
        """Estimate from the noisy numbers how many records lie where; ``records`` is None where it is secret."""


def bound_clusters(
    query: Query, policy: Policy, records: int | None, *, secret: bool = False
) -> tuple[HistogramForm, int]:
    """Bind a query that asks for clusters; return the number of records, or the most there may be.

    ``secret`` says whether the mechanism can do without a public number of records.
    """
    form = query.on(policy.domain)
    if query.answer != "clusters" or form.pattern is not Pattern.CELLS:
        raise RefusalError(f"this mechanism answers k-means, not {brief(query)}.")
    if policy.size == "unknown":
        if secret:
            return cast(HistogramForm, form), MOST_SECRET_RECORDS
        raise RefusalError("this mechanism needs a public number of records.", hint='use mechanism="counted-grid".')
    if records is None:
        raise RefusalError("clusters need the number of records to choose a grid.", hint="state size in the policy.")
    k = clusters_asked(query)
    if k > records:
        raise QueryError(f"k = {k:,} needs at least as many records, and there are {records:,}.")
    return cast(HistogramForm, form), records


def few_dimensions(form: HistogramForm) -> None:
    """Refuse more dimensions than a grid can serve."""
    if len(form.domain.names) > MOST_DIMENSIONS:
        raise RefusalError(
            f"a grid serves up to {MOST_DIMENSIONS} attributes, got {len(form.domain.names)}.",
            hint='use mechanism="lloyd".',
        )


def row_of_sums(aggregates: Aggregates, lattice: Lattice) -> Integers:
    """Ask for sums on a lattice; that noisy ones fit in 64 bits depends on the number of records alone."""
    sums = aggregates.lattice_sums(lattice).reshape(-1)
    if int(sums.sum(dtype=np.float64)) >= LARGEST_ANSWER:
        raise DataError("the sums may be too large for 64-bit arithmetic.", hint="make a new plan for these data.")
    return sums


def centred_lattice(form: HistogramForm, cells: Sequence[int], resolutions: Sequence[int]) -> Lattice:
    """Lay nodes in the middles of the cells, given their number along every axis."""
    axes = zip(form.domain.shape, cells, resolutions, strict=True)
    return Lattice(tuple(Axis((Run.centred(0, size, 1, many),), resolution) for size, many, resolution in axes))


def whole_numbers(written: Any, form: HistogramForm) -> tuple[int, ...]:
    """Read one positive whole number for each axis."""
    if len(written) != len(form.domain.names) or any(type(each) is not int or each < 1 for each in written):
        raise SpecError("the document is damaged: it needs a positive whole number for each attribute.")
    return tuple(written)


def to_values(domain: Domain, places: Floats) -> Floats:
    """Turn rows of coordinates in positions, with 0 at the lower edge of the first position, into values."""
    columns: list[Floats] = []
    for attribute, column in zip(domain.attributes, places.T, strict=True):
        if isinstance(attribute, Binned):
            edges = [float(bound) for bound in attribute.bounds]
            columns.append(np.interp(column, np.arange(attribute.size + 1), edges))
        elif isinstance(attribute, Numeric):
            columns.append(float(attribute.lowest) + (column - 0.5) * float(attribute.spacing))
        else:
            raise QueryError("categories have no coordinates.")
    return np.stack(columns, axis=1)


def to_points(domain: Domain, lows: Floats, highs: Floats, weights: Floats) -> Points:
    """Make points of cells given by their lower and upper ends in positions; empty cells are left out."""
    kept = weights > 0
    low, high = to_values(domain, lows[kept]), to_values(domain, highs[kept])
    return Points((low + high) / 2, weights[kept], high - low)


def finest(cells: Sequence[int], sizes: Sequence[int], most: float) -> tuple[int, ...]:
    """Return how many parts to cut every axis into: up to eight for each cell, but none below one position."""
    for factor in range(FINEST, 0, -1):
        parts = tuple(1 if m == 1 else min(factor * m, size) for m, size in zip(cells, sizes, strict=True))
        if np.prod(parts, dtype=float) <= most:
            return parts
    return tuple(cells)


def spread(
    cells: Sequence[int], sizes: Sequence[int], rows: Floats, scale: float, most: float
) -> tuple[Floats, Floats, Floats]:
    """Estimate the weights of finer cells of a box; return their lower and upper ends in positions, and weights."""
    parts = finest(cells, sizes, most)
    matrix = kron([hats(m, (np.arange(many) + 0.5) / many) for m, many in zip(cells, parts, strict=True)])
    edges = [np.arange(many + 1) * size / many for many, size in zip(parts, sizes, strict=True)]
    lows, highs = (
        np.stack([each.reshape(-1) for each in np.meshgrid(*axes, indexing="ij")], axis=1)
        for axes in ([each[:-1] for each in edges], [each[1:] for each in edges])
    )
    return lows, highs, deconvolve(matrix, rows, scale)


def grid_points(
    form: HistogramForm, cells: Sequence[int], noisy: Integers, unit: int, scale: Fraction, total: float
) -> Points:
    """Estimate where records lie from the noisy nodes of one grid over everything, which count in units."""
    rows = project((noisy / unit)[:, None], np.array([total]))
    lows, highs, weights = spread(cells, form.domain.shape, rows, float(scale / unit), MOST_POINTS)
    return to_points(form.domain, lows, highs, weights[:, 0])
