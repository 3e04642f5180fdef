"""The refusal of clusters of so few records that noise would choose them."""

from __future__ import annotations

from fractions import Fraction

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.support.exact import rounded_up


class TooFewError(RefusalError):
    """There are too few records: any centres would be noise."""

    @classmethod
    def of(cls, records: int, epsilon: Fraction) -> TooFewError:
        """Refuse this number of records at this epsilon."""
        return cls(
            f"{records:,} records at epsilon {rounded_up(epsilon)} say too little: any centres would be noise.",
            hint="raise epsilon, or take fewer attributes.",
        )
