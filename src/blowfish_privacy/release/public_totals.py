"""Public totals of a release: which ones its document publishes, and all that its estimates meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Population
from blowfish_privacy.privacy.public_totals import Totals, blocks, selected_totals, stated_totals
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import Pattern, named
from blowfish_privacy.support.arrays import Integers

KEY = "public_totals"
"""Where a document has the exact counts of the blocks that no secret pair leaves, in the order of their first cells."""

_MOST_CELLS = 50_000_000
"""More cells than any document lists; only clusters have so many, and they need no list of them."""


def published(query: Query, policy: Policy, mechanism: Mechanism) -> Integers | None:
    """Return the block of each cell of a query, where the counts of blocks are public and not in the answer anyhow."""
    if query.on(policy.domain).pattern not in (Pattern.CELLS, Pattern.RANKS):
        return None
    labels = blocks(policy, query.attributes)
    return None if labels is None or int(labels.max()) < mechanism.exact_parts else labels


def words(query: Query, labels: Integers) -> str:
    """Say what a document publishes exactly beside its noisy values."""
    many = int(labels.max()) + 1
    return (
        f"how many records are in each of the {many:,} blocks of {named(query.attributes)} that no secret pair leaves"
    )


def read(written: Any, labels: Integers | None, records: int | None) -> Totals:
    """Read the totals of a document, and refuse numbers that cannot be the counts of its blocks."""
    whole = isinstance(written, list) and all(type(count) is int and count >= 0 for count in written)
    if labels is None or not whole or len(written) != int(labels.max()) + 1 or sum(written) != records:
        raise SpecError("the document is damaged: its public totals are not counts of the policy's blocks.")
    return Totals(labels, np.array(written, dtype=np.int64))


def constraints(
    query: Query, population: Population, records: int | None, counted: Totals | None
) -> Constraints | None:
    """Collect all public totals of a query's cells; None where the number of records is secret.

    Of some records only, those inside a box, stated facts say nothing, and cells outside the box are empty.
    """
    policy, box = population.whole, population.box
    if records is None or query.on(policy.domain).pattern not in (Pattern.CELLS, Pattern.RANKS):
        return None
    domain = query.own_domain(policy.domain)
    if domain.size > _MOST_CELLS:
        return None
    totals = [selected_totals(domain, box, records), *([] if counted is None else [counted])]
    stated = [] if box or population.groups else stated_totals(policy, query.attributes, records)
    return Constraints.of([*totals, *stated])
