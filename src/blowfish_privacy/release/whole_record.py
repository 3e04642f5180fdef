"""What is lost on a person's whole record, whatever it is changed to: by the rows that were measured themselves."""

from __future__ import annotations

from fractions import Fraction

from blowfish_privacy.errors import BlowfishError
from blowfish_privacy.graphs import FullDomain
from blowfish_privacy.mechanisms import Mechanism
from blowfish_privacy.policies import Policy
from blowfish_privacy.queries import Selection


def whole_record(mechanism: Mechanism, policy: Policy, selection: Selection) -> Fraction | None:
    """Certify the noise for any change of a record; None where it does not hide that, or no proof tells.

    It bounds the loss between values many steps apart: counts of single cells, say, change as much for any two values.
    """
    if selection or policy.known:
        return None
    whole = Policy(policy.domain, secrets=FullDomain(), size=policy.size, rows_per_person=policy.rows_per_person)
    try:
        return mechanism.certify(whole).amount
    except BlowfishError:
        return None
