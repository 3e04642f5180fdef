"""Whether data fit a policy, for the custodian: the counts are exact, and no part of a release."""

from __future__ import annotations

from dataclasses import dataclass

from blowfish_privacy.engines import DataCheck, Engine
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.policy import contradicted


@dataclass(frozen=True)
class PolicyCheck:
    """How data fit a policy: its domain, and the counts that it states."""

    domain: DataCheck
    contradicted: tuple[str, ...]
    """The known facts that the data contradict, in words."""

    @property
    def fits(self) -> bool:
        """Whether the domain covers every row and no stated count is wrong."""
        return self.domain.fits and not self.contradicted


def check_data(engine: Engine, policy: Policy) -> PolicyCheck:
    """Count the rows that the domain does not cover, and compare the data with the stated facts."""
    report = engine.check(policy.domain)
    # Rows outside the domain are counted nowhere, so facts are compared only where all rows fit.
    sound = {column.name for column in report.columns if column.fits}
    wrong = contradicted(policy, lambda names: engine.counts(policy.domain, [names])[0], sound)
    return PolicyCheck(report, tuple(fact.words(policy.domain) for fact in wrong))
