"""What is lost on any change of an attribute, or of a whole record: by the rows that were measured themselves.

It bounds the loss between values many steps apart: counts of single cells, say, change as much for any two values.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import FullDomain, PerAttribute, Public, Secrets
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Selection


def along(mechanism: Mechanism, policy: Policy, selection: Selection, name: str) -> Fraction | None:
    """Certify the noise for any change of one attribute; None where it does not hide that, or no proof tells."""
    if selection or policy.known:
        return None
    others = {other: Public() for other in policy.domain if other != name}
    return _lost(mechanism, policy, PerAttribute({name: FullDomain(), **others}) if others else FullDomain())


def whole_record(mechanism: Mechanism, policy: Policy, selection: Selection) -> Fraction | None:
    """Certify the noise for any change of all that some secret pair changes; None as for :func:`along`.

    Where public attributes are published exactly, it is a change of one secret attribute after the other.
    """
    if selection or policy.known:
        return None
    at_once = _lost(mechanism, policy, FullDomain())
    if at_once is not None or not policy.graph.one_at_a_time:
        return at_once
    parts = [along(mechanism, policy, selection, name) for name in policy.domain if policy.graph.changes(name)]
    known = [part for part in parts if part is not None]
    return mechanism.counted_in.along((part, 1) for part in known) if len(known) == len(parts) else None


@lru_cache(maxsize=16)
def _lost(mechanism: Mechanism, policy: Policy, secrets: Secrets) -> Fraction | None:
    changed = Policy(policy.domain, secrets=secrets, size=policy.size, rows_per_person=policy.rows_per_person)
    try:
        return mechanism.certify(changed).amount
    except BlowfishError:
        return None
