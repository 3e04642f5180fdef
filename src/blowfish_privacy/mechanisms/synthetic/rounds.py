"""Selection of several tables at once: disjoint sets of secret attributes, drawn as a whole.

A packing is a set of candidates of which no two share an atom (a secret attribute); atoms in none of them are
skipped. A move along one atom changes the score of one candidate at most, so that the whole packing costs what a
single selection costs. It is drawn with a probability exactly proportional to ``exp(coefficient * sum of scores)``,
in integers. See ``docs/proofs/packings.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial, reduce
from math import prod, sqrt
from operator import or_
from typing import TypeAlias

import numpy as np

from blowfish_privacy.errors import PolicyError, QueryError, SpecError
from blowfish_privacy.mechanisms.mechanism import NO_NOISE
from blowfish_privacy.mechanisms.synthetic.costs import (
    MOST_SCALE,
    Accountant,
    Costs,
    allocated,
    rounded_down,
    rounded_up,
)
from blowfish_privacy.mechanisms.synthetic.model import (
    MODEL_CELLS,
    MOST_GROWTH,
    REFILLED,
    ROOM_COST,
    Axes,
    Known,
    Measurement,
    Zeros,
)
from blowfish_privacy.mechanisms.synthetic.tree import TreeFit, fit_tree, tree_cells
from blowfish_privacy.noise import BitSource
from blowfish_privacy.noise.choice import ONE, Weight, choose, exponential_weight, product, total, uniform_below
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.support.arrays import Floats, Integers
from blowfish_privacy.support.progress import Report

# What was done to the data, step by step, and how that is written as whole numbers.


_DAMAGED = "the document is damaged: its steps cannot be read."


@dataclass(frozen=True, eq=False)
class TableChoice:
    """Tables were chosen by how far the model was from them."""

    coefficient: Fraction
    """What a difference of one record is multiplied by, in the exponent."""
    classes: tuple[int, ...]
    """The classes of secret pairs that change the tables to choose from, by their numbers."""
    chosen: tuple[Axes, ...] = ()


@dataclass(frozen=True, eq=False)
class Look:
    """A table was measured."""

    axes: Axes
    scale: Fraction
    """Of the noise; 0 where there is none."""
    noisy: Integers


Step: TypeAlias = TableChoice | Look


def encoded(steps: Sequence[Step]) -> Integers:
    """Write steps one after the other: 0 and a choice, or the number of attributes and a table."""
    parts: list[Integers] = []
    for step in steps:
        if isinstance(step, TableChoice):
            head = [0, *step.coefficient.as_integer_ratio(), len(step.classes), *step.classes, len(step.chosen)]
            tables = [number for axes in step.chosen for number in (len(axes), *axes)]
            parts.append(np.array([*head, *tables], dtype=np.int64))
        else:
            head = [len(step.axes), *step.axes, *step.scale.as_integer_ratio()]
            parts += [np.array(head, dtype=np.int64), step.noisy.reshape(-1)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def decoded(numbers: Integers, shape: Sequence[int]) -> list[Step]:
    """Read what :func:`encoded` writes."""
    steps: list[Step] = []
    place = 0

    def take(many: int) -> Integers:
        nonlocal place
        if not 0 <= many <= len(numbers) - place:
            raise SpecError(_DAMAGED)
        place += many
        return numbers[place - many : place]

    def one() -> int:
        return int(take(1)[0])

    def several() -> tuple[int, ...]:
        return tuple(int(each) for each in take(one()))

    def table(axes: Axes) -> Axes:
        if not axes or [*axes] != sorted({*axes}) or not 0 <= axes[0] <= axes[-1] < len(shape):
            raise SpecError(_DAMAGED)
        return axes

    def ratio() -> Fraction:
        above, below = (int(each) for each in take(2))
        if above < 0 or below < 1:
            raise SpecError(_DAMAGED)
        return Fraction(above, below)

    while place < len(numbers):
        many = one()
        if many == 0:
            coefficient, classes = ratio(), several()
            steps.append(TableChoice(coefficient, classes, tuple(table(several()) for _ in range(one()))))
        else:
            axes = table(tuple(int(each) for each in take(many)))
            scale, sizes = ratio(), [shape[axis] for axis in axes]
            steps.append(Look(axes, scale, take(prod(sizes)).reshape(sizes)))
    return steps


# Looking at tables: each look is paid for before it is taken.


@dataclass(frozen=True, eq=False)
class Looks:
    """The exact counts, what is known of them so far, and what that has cost."""

    costs: Costs
    limits: Mapping[PairClass, Fraction]
    counts: Mapping[Axes, Integers]
    """The exact counts of all tables that may be looked at, axes ascending."""
    source: BitSource
    steps: list[Step] = field(default_factory=list[Step])
    known: dict[Axes, Known] = field(default_factory=dict[Axes, Known])

    @cached_property
    def accountant(self) -> Accountant:
        """What every class has lost, and may still lose."""
        return Accountant(self.limits)

    def look(self, axes: Axes, scale: Fraction) -> None:
        """Measure a table, once its cost is counted; without noise only where it has no secrets."""
        counts = self.counts[axes]
        if scale:
            self.accountant.charge(self.costs.of_look(axes, scale))
            counts = counts + self.costs.noise.rows.draw(scale, counts.size, self.source).reshape(counts.shape)
        elif self.costs.weights(axes):
            raise PolicyError(NO_NOISE)
        self.steps.append(Look(axes, scale, counts))
        measurement = Measurement(axes, counts, self.costs.noise.variance(scale))
        self.known[axes] = Known.of(measurement, self.known.get(axes))

    def take(self, tables: Sequence[Axes]) -> None:
        """Take tables without secrets as they are."""
        for axes in tables:
            self.look(axes, Fraction(0))

    def share(self, tables: Sequence[Axes], importance: Sequence[float], share: Fraction) -> None:
        """Measure several tables with a share of every limit, what matters most with least noise."""
        room = {pairs: min(share * limit, self.accountant.room[pairs]) for pairs, limit in self.limits.items()}
        weights = [self.costs.weights(axes) for axes in tables]
        for axes, scale in zip(tables, allocated(weights, importance, room, self.costs.noise.power), strict=True):
            if scale < MOST_SCALE:
                self.look(axes, scale)


_SINGLE = 3.0
"""How much more an attribute by itself matters: every table of a model rests on it."""


def importance_of(shape: Sequence[int], axes: Axes) -> float:
    """Say how much the noise of a table matters: more in large tables, though a fit evens most of it out."""
    return (_SINGLE if len(axes) == 1 else 1.0) * prod(shape[axis] for axis in axes) ** 0.25


MOST_ATOMS = 16
"""Above, the sums over sets of atoms take seconds: the atoms are split into blocks at random."""

Candidate = tuple[int, int]
"""A set of atoms as a bit mask, and a score."""


def draw_packing(atoms: int, candidates: Sequence[Candidate], coefficient: Fraction, source: BitSource) -> list[int]:
    """Draw a packing and return the indices of its candidates, in ascending order.

    Several candidates may have the same mask; skipping an atom has the score 0. The atoms are decided one after the
    other, the lowest of those that are left first: it is skipped, or covered by a mask, and then one of the
    candidates with that mask is drawn.
    """
    if atoms > MOST_ATOMS:
        raise QueryError(
            f"packings are drawn of at most {MOST_ATOMS} secret attributes at once, got {atoms}.",
            hint="split them into blocks at random first.",
        )
    if coefficient < 0 or not all(0 < mask < 1 << atoms for mask, _ in candidates):
        raise QueryError(
            "a packing needs a coefficient of 0 or more, and candidates that each contain one of its atoms or more."
        )
    law = _PackingLaw(candidates, coefficient)
    chosen: list[int] = []
    left = law.covered
    while left:
        masks = law.masks_of_lowest(left)
        choice = choose(partial(law.weights_of_lowest, left), source)
        if choice == 0:
            left &= left - 1
        else:
            members = law.members[masks[choice - 1]]
            chosen.append(members[draw_one([candidates[index][1] for index in members], coefficient, source)])
            left ^= masks[choice - 1]
    return sorted(chosen)


def draw_one(scores: Sequence[int], coefficient: Fraction, source: BitSource) -> int:
    """Draw the index of one score, with a probability exactly proportional to ``exp(coefficient * score)``."""
    return choose(lambda bits: [exponential_weight(coefficient * score, bits) for score in scores], source)


def random_blocks(atoms: int, most: int, source: BitSource) -> list[list[int]]:
    """Split the atoms into as few blocks of at most ``most`` as possible, of nearly equal size, uniformly at random."""
    order = list(range(atoms))
    if atoms <= most:
        return [order]
    for last in range(atoms - 1, 0, -1):
        other = uniform_below(last + 1, source)
        order[last], order[other] = order[other], order[last]
    many = -(-atoms // most)
    return [sorted(order[block::many]) for block in range(many)]


class _PackingLaw:
    """The weights of all packings of what is left of the atoms, enclosed with as many bits as a draw takes."""

    def __init__(self, candidates: Sequence[Candidate], coefficient: Fraction) -> None:
        self.members: dict[int, list[int]] = {}
        for index, (mask, _) in enumerate(candidates):
            self.members.setdefault(mask, []).append(index)
        self.covered = reduce(or_, self.members, 0)
        self._by_lowest: dict[int, list[int]] = {}
        for mask in self.members:
            self._by_lowest.setdefault(mask & -mask, []).append(mask)
        self._powers = [coefficient * score for _, score in candidates]
        self._of_masks: dict[int, dict[int, Weight]] = {}
        self._sums: dict[tuple[int, int], Weight] = {}

    def masks_of_lowest(self, left: int) -> list[int]:
        """List the masks that may cover the lowest atom that is left."""
        return [mask for mask in self._by_lowest.get(left & -left, []) if mask & left == mask]

    def weights_of_lowest(self, left: int, bits: int) -> list[Weight]:
        """Enclose the sum of the weights of all packings in which the lowest atom is skipped, or has each mask."""
        if bits not in self._of_masks:
            weights = [exponential_weight(power, bits) for power in self._powers]
            of_masks = {mask: total([weights[index] for index in each], bits) for mask, each in self.members.items()}
            self._of_masks[bits] = of_masks
        of_masks = self._of_masks[bits]
        covered = [product(of_masks[mask], self._packings(left ^ mask, bits)) for mask in self.masks_of_lowest(left)]
        return [self._packings(left & left - 1, bits), *covered]

    def _packings(self, left: int, bits: int) -> Weight:
        """Enclose the sum of the weights of all packings of what is left, by dynamic programming."""
        if not left:
            return ONE
        if (left, bits) not in self._sums:
            self._sums[left, bits] = total(self.weights_of_lowest(left, bits), bits)
        return self._sums[left, bits]


# Choosing, measuring and fitting in rounds, until what may be lost is used up.
#
# First all attributes by themselves; then rounds, in each of which a packing of tables is chosen by how far the model
# is from them, measured, and the model fitted again; last, everything that the model holds is measured once more with
# all that is left. How large the noise of a round is follows from what earlier rounds returned; the accountant sees to
# it that no class of secret pairs loses more than its limit.

FIRST, LAST = Fraction(1, 10), Fraction(3, 10)
"""What the attributes by themselves may use of each limit, and what is kept for the end."""

ROUNDS = 14
"""How many rounds the rest is for, unless the noise is made smaller."""

_MOST_ROUNDS = 60

_FITTING = 40
"""Steps of a fit between two rounds, which starts from the one before."""

_USEFUL = 1 / 4
"""If tables of a smaller share of the classes moved the model more than noise would, the next round has less noise."""


@dataclass(eq=False)
class Rounds:
    """One run over exact counts; everything it decides depends on noisy numbers and public information only."""

    looks: Looks
    total: int | None
    """The number of records, where it is public."""
    zeros: Sequence[Zeros]
    candidates: Sequence[Axes]
    report: Report | None = None

    def run(self, exact: Sequence[Axes]) -> list[Step]:
        """Return all steps, each with its noise; tables without secrets are taken as they are."""
        looks, shape = self.looks, self.looks.costs.domain.shape
        looks.take(exact)
        single = [(axis,) for axis in range(len(shape)) if (axis,) not in looks.known]
        looks.share(single, [float(shape[axis]) for (axis,) in single], FIRST)
        if looks.limits:
            self._fit = self._fitted(None)
            if self.candidates:
                self._choose_in_rounds()
            self._measure_again()
        return looks.steps

    @cached_property
    def _limit(self) -> Fraction:
        return max(self.looks.limits.values())

    @property
    def _costs(self) -> Costs:
        return self.looks.costs

    @property
    def _room(self) -> Mapping[PairClass, Fraction]:
        return self.looks.accountant.room

    def _fitted(self, before: TreeFit | None) -> TreeFit:
        total = estimated_total(self.looks.known) if self.total is None else float(self.total)
        start = before.factors if before else None
        shape, known = self._costs.domain.shape, self.looks.known
        return fit_tree(shape, total, known, self.zeros, start=start, rounds=_FITTING, tolerance=1e-9)

    def _choose_in_rounds(self) -> None:
        share = (1 - FIRST - LAST) / ROUNDS
        for _ in range(_MOST_ROUNDS):
            left = sorted((room / self._limit - LAST for room in self._room.values()), reverse=True)
            most = left[min(1, len(left) - 1)]
            if most < share / 10:
                return
            last, share = most < share, min(share, most)
            share *= self._round(share)
            if self.report is not None:
                done = (1 - LAST) - sum(left) / len(left)
                self.report(min(max(float(done), 0.0), 1.0))
            if last:
                return

    def _round(self, share: Fraction) -> Fraction:
        """Choose tables and measure them with a share of the limits; say how many times as much the next may use."""
        noise = self._costs.noise
        step, limit = share * self._limit, LAST * self._limit
        active = [pairs for pairs, room in self._room.items() if room - limit >= step]
        tables = self._to_choose_from({*active})
        if not tables:
            return noise.finer
        scales = {axes: self._scale(axes, (1 - noise.choice_share) * step) for axes in tables}
        before = self._fit.model
        chosen = self._chosen(tables, scales, noise.choice_share * step)
        taken: list[Axes] = []
        for axes in chosen:
            # One by one tables may fit that are too large for the model together.
            if self._cells(axes) <= self._most_cells():
                self.looks.look(axes, scales[axes])
                taken.append(axes)
        if taken:
            self._fit = self._fitted(self._fit)
        moved = 0
        for axes in taken:
            expected = before.table(axes)
            if float(np.abs(self._fit.model.table(axes) - expected).sum()) > self._noise(expected, scales[axes]):
                moved += len(self._costs.weights(axes))
        return noise.finer if moved < _USEFUL * len(active) else Fraction(1)

    def _scale(self, axes: Axes, amount: Fraction) -> Fraction:
        return rounded_up(max(self._costs.weights(axes).values()) / amount)

    def _noise(self, expected: Floats, scale: Fraction) -> float:
        """Return how many records noise misplaces in a table, about, once a model is fitted to it."""
        return float(np.minimum(self._costs.noise.size(scale), REFILLED * expected).sum())

    def _to_choose_from(self, active: set[PairClass]) -> list[Axes]:
        """List the tables that all classes can pay for, and that do not make the model too large."""
        most = min(self._most_cells(), self._fit.model.tree.cells + MOST_GROWTH * MODEL_CELLS)
        return [
            axes for axes in self.candidates if {*self._costs.weights(axes)} <= active and self._cells(axes) <= most
        ]

    def _most_cells(self) -> float:
        """Let the model grow with what is used of the limits; what does not enlarge it always has room."""
        used = 1 - min(self._room.values()) / self._limit
        return max(MODEL_CELLS * max(0.1, float(used / (1 - LAST))), self._fit.model.tree.cells)

    def _cells(self, axes: Axes) -> int:
        """Return how large the model would be with another table."""
        tree = self._fit.model.tree
        if tree.home(axes) is not None and axes not in self.looks.known:
            return tree.cells
        return tree_cells(tree.shape, [*self.looks.known, *(z.axes for z in self.zeros), axes])

    def _chosen(self, tables: Sequence[Axes], scales: Mapping[Axes, Fraction], amount: Fraction) -> list[Axes]:
        """Draw a packing: tables of which no class changes two."""
        affected = {pairs for axes in tables for pairs in self._costs.changes(axes)}
        reach = max(change for pairs, change in self._costs.largest(self.candidates).items() if pairs in affected)
        coefficient = rounded_down(self._costs.noise.reach_for(amount) / (2 * reach))
        # Charged as for a choice among all candidates: whoever reads the steps does not know which were in reach.
        charges = self._costs.of_choice(coefficient, self.candidates)
        self.looks.accountant.charge({pairs: charge for pairs, charge in charges.items() if pairs in affected})
        numbers = {pairs: number for number, pairs in enumerate(self._costs.classes)}
        atoms = self._atoms(tables)
        scores = [self._score(axes, scales[axes]) for axes in tables]
        found: list[Axes] = []
        to_cover = sorted({pairs for each in atoms for pairs in each}, key=numbers.__getitem__)
        for block in random_blocks(len(to_cover), MOST_ATOMS, self.looks.source):
            bits = {to_cover[atom]: 1 << place for place, atom in enumerate(block)}
            inside = [number for number, each in enumerate(atoms) if each <= bits.keys()]
            options = [(sum(bits[pairs] for pairs in atoms[number]), scores[number]) for number in inside]
            found += [
                tables[inside[place]] for place in draw_packing(len(block), options, coefficient, self.looks.source)
            ]
        classes = tuple(sorted(numbers[pairs] for pairs in affected))
        self.looks.steps.append(TableChoice(coefficient, classes, tuple(found)))
        return found

    def _atoms(self, tables: Sequence[Axes]) -> list[set[PairClass]]:
        """Return the classes that change each table; of classes that change all of them, one is enough."""
        affected = [{*self._costs.changes(axes)} for axes in tables]
        everywhere = set[PairClass].intersection(*affected)
        return [{min(everywhere, key=lambda pairs: pairs.order)}] * len(affected) if everywhere else affected

    def _score(self, axes: Axes, scale: Fraction) -> int:
        """Return how far the counts are from the model, less what noise would make of it: in whole numbers."""
        expected = self._fit.model.table(axes)
        growth = max(0, self._cells(axes) - self._fit.model.tree.cells) / MODEL_CELLS
        worth = self._noise(expected, scale) + ROOM_COST * growth * self._fit.model.total
        return int(np.abs(self.looks.counts[axes] - np.rint(expected).astype(np.int64)).sum()) - round(worth)

    def _measure_again(self) -> None:
        """Measure all that the model holds with all that is left, first of all what matters most."""
        tables = [axes for axes, known in self.looks.known.items() if known.variance > 0]
        self.looks.share(tables, [self._filled(axes) for axes in tables], Fraction(1))

    def _filled(self, axes: Axes) -> float:
        """Count the cells in which noise matters: where hardly a record is expected, the fit leaves it out."""
        expected, deviation = self._fit.model.table(axes), sqrt(self.looks.known[axes].variance)
        return 1.0 + float(np.minimum(1.0, expected / deviation).sum())


def estimated_total(known: Mapping[Axes, Known]) -> float:
    """Return the mean of the noisy totals of all tables, weighted by their precision; at least one."""
    exact = [each for each in known.values() if each.variance == 0]
    if exact:
        return max(float(exact[0].counts.sum()), 1.0)
    weights = [1 / (each.variance * each.counts.size) for each in known.values()]
    totals = [float(each.counts.sum()) for each in known.values()]
    return max(float(np.average(totals, weights=weights)), 1.0) if totals else 1.0
