"""How wrong the estimates that are shown will be: public totals, which they meet, take away a part of the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blowfish_privacy.mechanisms import ExpectedError
from blowfish_privacy.mechanisms.constraints import ConstrainedError
from blowfish_privacy.privacy.public_totals import Totals
from blowfish_privacy.queries.query import Pattern
from blowfish_privacy.release import public_totals

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan


def error_left(plan: Plan) -> float | None:
    """Return the typical error of cells that meet every public total; None if there are none, or for other answers."""
    policy, query, error = plan.population.policy, plan.query, plan.expected_error()
    if not isinstance(error, ExpectedError) or query.on(policy.domain).pattern is not Pattern.CELLS:
        return None
    blocks = public_totals.published(query, policy, plan.mechanism)
    counted = None if blocks is None else Totals(blocks, np.zeros(int(blocks.max()) + 1, dtype=np.int64))
    # The error does not depend on the counts, which nobody has asked for yet.
    records = None if policy.size == "unknown" else plan.records or 0
    constraints = public_totals.constraints(query, plan.population, records, counted)
    if constraints is None or len(constraints.stated) == 1:
        return None
    return ConstrainedError.of_cells(error, constraints).rmse
