"""What a release lost on two values by the rows that it handed out: often less than along a chain of secret pairs.

Two values many steps apart change the rows of a table no more than two neighbours do, so with noise on each row they
lose as much as these, and not so many times as much.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fractions import Fraction

from blowfish_privacy.errors import BlowfishError, BlowfishWarning
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.asked import read_asked, split
from blowfish_privacy.queries.selection import ALL_RECORDS
from blowfish_privacy.release import spec
from blowfish_privacy.release.file_form import check_query
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import DAMAGE, parse, upgraded
from blowfish_privacy.release.whole_record import along


def loss_by_rows(
    ledger: Ledger, entry: Entry, first: Mapping[str, object], second: Mapping[str, object]
) -> Fraction | None:
    """Say what one release lost on two values, in its own measure; None where its document does not show it.

    It shows it for releases of all records whose rows have independent noise.
    """
    text = ledger.document(entry.key)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BlowfishWarning)
            return None if text is None else _loss(text, entry, first, second)
    except (BlowfishError, *DAMAGE):
        # A document of another version, or one that was never read by this one: the chain is a bound too.
        return None


def planned_loss_by_rows(plan: Plan, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
    """Say what a planned release would lose on two values, as its document will show it."""
    if plan.selection != ALL_RECORDS or plan.policy.known or not plan.mechanism.independent_rows:
        return None
    try:
        return _between(plan.mechanism, plan.query, plan.policy, first, second) if plan.amount else Fraction(0)
    except BlowfishError:
        return None


def _loss(text: str, entry: Entry, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
    body = upgraded(parse(text))
    policy = spec.policy_from_section(body["policy"])
    query, selection = split(read_asked(check_query(body["query"]), policy.domain))
    kind = MECHANISMS[body["mechanism"]["name"]]
    if selection != ALL_RECORDS or not kind.independent_rows:
        return None
    mechanism = kind.from_document(query, policy, body["mechanism"], body["records"])
    proved = mechanism.certify(policy).loss
    if policy.hash != entry.policy.hash or (proved.measure, proved.largest) != entry.requested:
        return None
    return _between(mechanism, query, policy, first, second) if proved.largest else Fraction(0)


def _between(
    mechanism: Mechanism, query: Query, policy: Policy, first: Mapping[str, object], second: Mapping[str, object]
) -> Fraction | None:
    named = query.on(policy.domain).domain
    if not set(named.names) <= set(first):
        # Whatever the attributes are that are not named, they are equal: any change of the others bounds the loss.
        changed = [name for name in policy.domain if name in first and first[name] != second[name]]
        parts = [along(mechanism, policy, ALL_RECORDS, name) for name in changed]
        known = [part for part in parts if part is not None]
        return mechanism.counted_in.along((part, 1) for part in known) if len(known) == len(parts) else None
    x, y = (named.cell({name: record[name] for name in named.names}) for record in (first, second))
    return mechanism.loss(x, y)
