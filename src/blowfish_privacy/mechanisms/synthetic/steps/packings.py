"""Selection of several tables at once: disjoint sets of secret attributes, drawn as a whole.

A packing is a set of candidates of which no two share an atom (a secret attribute); atoms in none of them are
skipped. A move along one atom changes the score of one candidate at most, so that the whole packing costs what a
single selection costs. It is drawn with a probability exactly proportional to ``exp(coefficient * sum of scores)``,
in integers. See ``docs/proofs/packings.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial, reduce
from operator import or_

from blowfish_privacy.errors import QueryError
from blowfish_privacy.noise.bits import BitSource
from blowfish_privacy.noise.choice import ONE, Weight, choose, exponential_weight, product, total, uniform_below

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
    _check(atoms, candidates, coefficient)
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
        self._sums: dict[int, _PackingSums] = {}

    def masks_of_lowest(self, left: int) -> list[int]:
        """List the masks that may cover the lowest atom that is left."""
        return [mask for mask in self._by_lowest.get(left & -left, []) if mask & left == mask]

    def weights_of_lowest(self, left: int, bits: int) -> list[Weight]:
        """Enclose the sum of the weights of all packings in which the lowest atom is skipped, or has each mask."""
        if bits not in self._sums:
            weights = [exponential_weight(power, bits) for power in self._powers]
            of_masks = {mask: total([weights[index] for index in each], bits) for mask, each in self.members.items()}
            self._sums[bits] = _PackingSums(self, of_masks, bits)
        return self._sums[bits].parts(left)


class _PackingSums:
    """Sums of weights over packings, by dynamic programming over the sets of atoms that can be left."""

    def __init__(self, law: _PackingLaw, of_masks: dict[int, Weight], bits: int) -> None:
        self._law = law
        self._of_masks = of_masks
        self._bits = bits
        self._known: dict[int, Weight] = {0: ONE}

    def parts(self, left: int) -> list[Weight]:
        """Enclose what skipping the lowest atom, and each mask that may cover it, contributes."""
        covered = [
            product(self._of_masks[mask], self._packings(left ^ mask)) for mask in self._law.masks_of_lowest(left)
        ]
        return [self._packings(left & left - 1), *covered]

    def _packings(self, left: int) -> Weight:
        """Enclose the sum of the weights of all packings of what is left."""
        if left not in self._known:
            self._known[left] = total(self.parts(left), self._bits)
        return self._known[left]


def _check(atoms: int, candidates: Sequence[Candidate], coefficient: Fraction) -> None:
    if atoms > MOST_ATOMS:
        raise QueryError(
            f"packings are drawn of at most {MOST_ATOMS} secret attributes at once, got {atoms}.",
            hint="split them into blocks at random first.",
        )
    if coefficient < 0 or not all(0 < mask < 1 << atoms for mask, _ in candidates):
        raise QueryError(
            "a packing needs a coefficient of 0 or more, and candidates that each contain one of its atoms or more."
        )
