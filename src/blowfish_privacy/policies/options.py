"""What a policy says beside its secrets and facts: compensation, the number of records, the rows of a person."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from blowfish_privacy.errors import PolicyError, brief
from blowfish_privacy.support.limits import RECORDS

if TYPE_CHECKING:
    from blowfish_privacy.policies.policy import Policy


def whole(value: Any) -> Any:
    """Take numpy's whole numbers for Python's; leave everything else as it is."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def check_options(policy: Policy) -> None:
    """Refuse options that mean nothing, or nothing together."""
    if not isinstance(policy.compensation, str) or policy.compensation not in ("anywhere", "secret-moves"):
        raise PolicyError(f"compensation must be 'anywhere' or 'secret-moves', got {brief(policy.compensation)}.")
    if not (isinstance(policy.size, str) and policy.size in ("known", "unknown")) and not _natural(policy.size, 0):
        raise PolicyError(f"size must be 'known', 'unknown' or a number up to 2^53, got {brief(policy.size)}.")
    if policy.secrets.size not in (None, policy.size):
        raise PolicyError(
            f"{policy.secrets.keyword} keeps the number of records secret, so size cannot be {brief(policy.size)}.",
            hint="leave out size; with a public number of records, full is (bounded) differential privacy.",
        )
    if not _natural(policy.rows_per_person, 1):
        raise PolicyError(f"rows_per_person must be from 1 to 2^53, got {brief(policy.rows_per_person)}.")
    if policy.known and policy.size == "unknown":
        raise PolicyError(
            "known facts need a public number of records.",
            hint="leave out size: unknown, or the known facts.",
        )
    if policy.known and policy.rows_per_person > 1:
        raise PolicyError(
            "known facts are calibrated for one row per person only.",
            hint="aggregate to one row per person, or leave out the known facts.",
        )


def _natural(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= RECORDS
