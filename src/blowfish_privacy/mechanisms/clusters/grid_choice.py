"""How fine a soft grid may be: its cells must stand out from the noise. Chosen from public numbers only.

All arithmetic is exact, so that everyone who reads a release arrives at the same grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

from blowfish_privacy.aggregates.lattice import MOST_NODES
from blowfish_privacy.domain import Attribute, Binned, Domain
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.clusters.stretches import Equal

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


def widths(attributes: Sequence[Attribute]) -> tuple[Fraction, ...]:
    """Return the width of the box along every attribute, in the units of its values."""
    return tuple(a.bounds[-1] - a.bounds[0] if isinstance(a, Binned) else a.size * a.gap(0, 1) for a in attributes)


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
    return _spread(parts, inside) <= _spread(box, over)


def _spread(box: Sequence[Fraction], cells: Sequence[int]) -> Fraction:
    return sum(((width / many) ** 2 for width, many in zip(box, cells, strict=True)), Fraction(0))


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
