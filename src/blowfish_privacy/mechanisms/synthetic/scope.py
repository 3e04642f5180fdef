"""What synthetic records of a query may look at under a policy: public information alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from blowfish_privacy.domain import Domain, quoted
from blowfish_privacy.errors import RefusalError
from blowfish_privacy.mechanisms.synthetic.candidates import MODEL_CELLS, candidates_for, pairs_for
from blowfish_privacy.mechanisms.synthetic.model import Axes, Zeros
from blowfish_privacy.mechanisms.synthetic.steps.costs import Costs
from blowfish_privacy.mechanisms.synthetic.steps.tariff import Tariff
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import PairClass
from blowfish_privacy.queries import Synthetic
from blowfish_privacy.support.limits import SYNTHETIC_DRAWN

_MOST_KEPT = 2**20
"""The most cells of the attributes that are kept row by row."""
_MOST_NAMED = 10
_LARGEST_EXACT = MODEL_CELLS // 4


@dataclass(frozen=True, eq=False)
class Scope:
    """The tables of a query's attributes, and what looking at them costs."""

    query: Synthetic
    policy: Policy
    tariff: Tariff

    @cached_property
    def domain(self) -> Domain:
        """The attributes of the records."""
        return self.query.on(self.policy.domain).domain

    @cached_property
    def costs(self) -> Costs:
        """What looking at tables costs under the policy."""
        return Costs(self.policy, self.domain, self.tariff)

    @cached_property
    def single(self) -> list[Axes]:
        """Each attribute by itself."""
        return [(axis,) for axis in range(len(self.domain.names))]

    @cached_property
    def candidates(self) -> list[Axes]:
        """The tables with secrets that may be chosen."""
        return [axes for axes in candidates_for(self.domain.shape, self.query.tables()) if self.costs.weights(axes)]

    @cached_property
    def pairs(self) -> list[Axes]:
        """The pairs of attributes with secrets, in tables that shall be accurate."""
        return [axes for axes in pairs_for(self.domain.shape, self.query.tables()) if self.costs.weights(axes)]

    @cached_property
    def told(self) -> list[PairClass]:
        """The classes of secret pairs that some table tells apart."""
        tables = [*self.single, *self.pairs, *self.candidates]
        found = {pairs for axes in tables for pairs in self.costs.weights(axes)}
        return [pairs for pairs in self.costs.classes if pairs in found]

    def cells(self, axes: Axes) -> int:
        """Count the cells of a table."""
        return prod(self.domain.shape[axis] for axis in axes)

    @cached_property
    def exact(self) -> list[Axes]:
        """The tables without secrets, which are taken as they are: what is kept, then public attributes and pairs."""
        public = [axis for (axis,) in self.single if not self.costs.weights((axis,))]
        kept = [self.query.kept()] if self.query.kept() else []
        together = tuple(public)
        if public and not self.costs.weights(together) and self.cells(together) <= _LARGEST_EXACT:
            return [*dict.fromkeys([*kept, together])]
        pairs = [axes for axes in combinations(public, 2) if self.cells(axes) <= _LARGEST_EXACT]
        listed = [*kept, *((axis,) for axis in public), *pairs]
        return [axes for axes in dict.fromkeys(listed) if not self.costs.weights(axes)]

    def exact_words(self) -> str | None:
        """Name the tables without secrets; None if there are none."""
        titles = [
            "the table of " + " by ".join(quoted(self.domain.names[axis]) for axis in axes) for axes in self.exact
        ]
        more = f" and {len(titles) - _MOST_NAMED:,} more" if len(titles) > _MOST_NAMED else ""
        return f"{'; '.join(titles[:_MOST_NAMED])}{more}" if titles else None

    @cached_property
    def zeros(self) -> list[Zeros]:
        """The impossible combinations."""
        found: list[Zeros] = []
        for box in self.query.boxes(self.policy.domain):
            axes = tuple(sorted(box))
            inside = np.ones((), dtype=np.bool_)
            for axis in axes:
                along = np.zeros(self.domain.shape[axis], dtype=np.bool_)
                along[[*box[axis]]] = True
                inside = np.multiply.outer(inside, along)
            found.append(Zeros(axes, inside))
        return found

    def check_kept(self, records: int | None) -> None:
        """Refuse columns that cannot be kept row by row."""
        kept = self.query.kept()
        if kept and (records or 0) * len(self.domain.names) > SYNTHETIC_DRAWN:
            raise RefusalError(
                f"{records:,} records of {len(self.domain.names)} attributes are too many to be kept row by row.",
                hint="leave keep out: public tables are met all the same.",
            )
        if kept and self.costs.weights(kept):
            names = ", ".join(self.domain.names[axis] for axis in kept)
            raise RefusalError(
                f"{names} cannot be kept row by row: secret pairs change them.", hint="keep public attributes only."
            )
        if kept and self.cells(kept) > _MOST_KEPT:
            raise RefusalError(
                f"the attributes to be kept have {self.cells(kept):,} combinations; the most is {_MOST_KEPT:,}.",
                hint="keep fewer of them.",
            )
