"""The policies of a ledger's entries, read back from what is stored, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.composition import Price, price, same_policy
from blowfish_privacy.ledger.entry import StoredPolicy
from blowfish_privacy.policies import Policy

PolicyLoader: TypeAlias = Callable[[str], Policy]
"""Reads a policy back from the text that was given with a charge."""


class PolicyCache:
    """Policies by their hash, and prices by pairs of hashes: each is read back, or worked out, once."""

    def __init__(self, load_policy: PolicyLoader | None) -> None:
        self.load_policy = load_policy
        self._policies: dict[str, Policy] = {}
        self._prices: dict[tuple[str, str], Price] = {}

    def add(self, policy: Policy) -> None:
        """Keep a policy that a caller has at hand, so that it need not be read back."""
        self._policies[policy.hash] = policy

    def policy(self, stored: StoredPolicy) -> Policy:
        """Return a stored policy, read back if necessary."""
        if stored.hash not in self._policies:
            self.add(self._read_back(stored))
        return self._policies[stored.hash]

    def readable(self, stored: StoredPolicy | None) -> Policy | None:
        """Return a stored policy if it can be read back."""
        at_hand = stored is not None and (stored.hash in self._policies or (self.load_policy and stored.text))
        return self.policy(stored) if stored is not None and at_hand else None

    def price(self, base: StoredPolicy | None, policy: Policy) -> Price:
        """Say what releases under a policy cost, given the policy of the first entry."""
        if base is None or base.hash == policy.hash:
            return same_policy(policy)
        pair = base.hash, policy.hash
        if pair not in self._prices:
            self._prices[pair] = price(self.policy(base), policy)
        return self._prices[pair]

    def _read_back(self, stored: StoredPolicy) -> Policy:
        name = stored.hash[:12]
        if self.load_policy is None or not stored.text:
            raise LedgerError(
                f"the policy {name} of an earlier charge cannot be read back from the ledger.",
                hint="open the ledger with load_policy, and charge with policy_text.",
            )
        policy = self.load_policy(stored.text)
        if policy.hash != stored.hash:
            raise LedgerError(
                f"the text stored for the policy {name} describes a different policy.",
                hint="run 'blowfish ledger verify'.",
            )
        return policy
