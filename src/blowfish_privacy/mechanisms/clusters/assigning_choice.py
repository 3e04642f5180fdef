"""How noisy Lloyd assigns records, and to how many centres: as needs the least noise, from public numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.mechanisms.clusters.assigned_change import Assigning
from blowfish_privacy.noise import LARGEST_SCALE
from blowfish_privacy.privacy.sensitivity import Steps
from blowfish_privacy.queries.counts import HistogramForm

_CENTRE_ERROR = Fraction(8, 141)
"""Centres are added while their standard error, the root of 2 times the scale, is below 8 % of the box."""
_MOST_FOR_EACH, _MOST_CENTRES = 4, 32
_SIZE_SHARE = Fraction(1, 5)
_MOST_BITS = 20


@dataclass(frozen=True, eq=False)
class Choice:
    """What the choice depends on."""

    form: HistogramForm
    neighbours: Steps
    reaches: tuple[int, ...]
    times: Fraction
    """The rounds, divided by epsilon."""
    most: int
    """The most records that there may be."""
    secret: bool
    """Whether records come and go."""

    @property
    def share(self) -> Fraction:
        """How much of a round's loss a change of the sizes is worth, against one of the sums."""
        return _SIZE_SHARE * sum(self.reaches)

    def noise(self, way: Assigning) -> Fraction:
        """Return the scale of the sums that one way to assign records needs."""
        changes = way.changes(self.neighbours.graph, comes=self.secret)
        worst = max(change.sums + self.share * change.sizes for change in changes)
        return worst * self.times * self.neighbours.rows

    def _possible(self, way: Assigning) -> bool:
        fits = way.decay is not None and way.decay.fits(way.centres, self.most, max(self.reaches))
        return fits and self.noise(way) * max(1, 1 / self.share) <= LARGEST_SCALE

    def _best(self, centres: int) -> Assigning:
        hard = Assigning(self.form, centres, self.reaches, None)
        soft = next(filter(self._possible, map(hard.soft, range(_MOST_BITS, 0, -1))), hard)
        return soft if self.noise(soft) / soft.unit < self.noise(hard) else hard

    def assigning(self, k: int, records: int) -> Assigning:
        """Choose how to assign about so many records, to k centres or to more, as many as can be told apart."""
        few, sizes = self._best(k), self.form.domain.shape
        # A single centre needs less noise than several.
        if k == 1:
            return few
        wide = Fraction(sum(sizes), len(sizes))
        seen = int(_CENTRE_ERROR * records * wide * few.unit / self.noise(few))
        return self._best(max(k, min(seen, _MOST_FOR_EACH * k, _MOST_CENTRES)))
