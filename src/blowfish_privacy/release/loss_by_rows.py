"""What a release lost on two values by the rows that it handed out: often less than along a chain of secret pairs.

Two values many steps apart change the rows of a table no more than two neighbours do, so with noise on each row they
lose as much as these, and not so many times as much.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from blowfish_privacy.errors import BlowfishError, BlowfishWarning
from blowfish_privacy.ledger import Entry, Ledger
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.query import ALL_RECORDS, read_asked, split
from blowfish_privacy.release import spec
from blowfish_privacy.release.file_form import check_query
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import DAMAGE, parse, upgraded
from blowfish_privacy.release.whole_record import AnyChange, any_change


@dataclass(frozen=True)
class Rows:
    """The rows of a release of all records, with independent noise on each."""

    mechanism: Mechanism
    query: Query
    policy: Policy
    noisy: bool
    """Whether there is any noise: else no secret shows in them."""

    def between(self, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
        """Say what is lost on two values, in the release's own measure; None where the rows do not show it."""
        if not self.noisy:
            return Fraction(0)
        try:
            return self._between(first, second)
        except BlowfishError:
            return None

    def any_change(self, names: Collection[str]) -> AnyChange | None:
        """Say what is lost at most between two values that differ in some attributes; None where no proof tells."""
        if not self.noisy:
            return AnyChange(Fraction(0))
        return any_change(self.mechanism, self.query, self.policy, ALL_RECORDS, names)

    def _between(self, first: Mapping[str, object], second: Mapping[str, object]) -> Fraction | None:
        named = self.query.on(self.policy.domain).domain
        if not set(named.names) <= set(first):
            # Whatever the attributes are that are not named, they are equal: any change of the others bounds the loss.
            changed = [name for name in self.policy.domain if name in first and first[name] != second[name]]
            parts = [self.any_change([name]) for name in changed]
            known = [part.amount for part in parts if part is not None]
            several = len(known) == len(parts)
            return self.mechanism.counted_in.along((part, 1) for part in known) if several else None
        x, y = (named.cell({name: record[name] for name in named.names}) for record in (first, second))
        return self.mechanism.loss(x, y)


def rows_released(ledger: Ledger, entry: Entry) -> Rows | None:
    """Read the rows of a release from its document; None where that does not show what they lost.

    It shows it for releases of all records whose rows have independent noise.
    """
    text = ledger.document(entry.key)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BlowfishWarning)
            return None if text is None else _read(text, entry)
    except (BlowfishError, *DAMAGE):
        # A document of another version, or one that was never read by this one: the chain is a bound too.
        return None


def rows_planned(plan: Plan) -> Rows | None:
    """Return the rows of a planned release, as its document will show them."""
    if plan.selection != ALL_RECORDS or plan.policy.known or not plan.mechanism.independent_rows:
        return None
    return Rows(plan.mechanism, plan.query, plan.policy, bool(plan.amount))


def _read(text: str, entry: Entry) -> Rows | None:
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
    return Rows(mechanism, query, policy, bool(proved.largest))
