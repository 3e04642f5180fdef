"""The state of a ledger that decides the price of a release: its policy, what failed, what was handed out."""

from __future__ import annotations

from dataclasses import dataclass

from blowfish_privacy.errors import RefusalError
from blowfish_privacy.ledger.composition import Price
from blowfish_privacy.ledger.entry import StoredPolicy
from blowfish_privacy.ledger.policy_cache import PolicyCache
from blowfish_privacy.ledger.store import Store
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import stated_facts

MOST_FAILED_POLICIES = 3
"""Policies whose stated facts the data may contradict before others with stated facts are refused."""

_NOTHING_HANDED_OUT = (
    "But no charge of this ledger has a document, and documents are stored before anything is handed out: if no "
    "release from it is still running, you may start a new ledger, and never use this one again."
)


@dataclass(frozen=True)
class Snapshot:
    """Taken in one transaction, so that no lock is held while a price is worked out, which may take seconds."""

    base: StoredPolicy | None
    failed: frozenset[str]
    documents: int

    @classmethod
    def of(cls, store: Store) -> Snapshot:
        """Take a snapshot within a transaction."""
        account = store.account()
        return cls(store.base(), store.failed_policies() if account.failures else frozenset(), account.documents)

    def price(self, policies: PolicyCache, policy: Policy) -> Price:
        """Say what a release under a policy costs; a refusal says what to do where nothing was handed out."""
        self._check_tries(policy)
        try:
            return policies.price(self.base, policy)
        except RefusalError as error:
            if self.documents:
                raise
            hint = " ".join([*([error.hint] if error.hint else []), _NOTHING_HANDED_OUT])
            raise RefusalError(error.message, hint=hint) from None

    def _check_tries(self, policy: Policy) -> None:
        """Stop somebody who finds out exact counts by stating one after another."""
        if len(self.failed - {policy.hash}) < MOST_FAILED_POLICIES or not stated_facts(policy):
            return
        raise RefusalError(
            f"the data contradicted the stated facts of {len(self.failed - {policy.hash})} other policies. That check "
            "is exact, so it tells about the data, and how often it may be tried with new facts is limited.",
            hint="the data's custodian can correct the facts with 'blowfish data check', and start a new ledger; or "
            "leave out the stated counts.",
        )
