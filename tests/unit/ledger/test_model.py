"""A ledger does what a few lines of plain Python do, whatever the order of calls."""

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from blowfish_privacy.errors import BudgetError, LedgerError, RefusalError
from blowfish_privacy.ledger import SqliteLedger
from unit.ledger.samples import load, request

# By hand, on ages 0..20: how many steps of the second policy an edge of the first takes at most.
STRETCH = {
    ("full", "near"): 20,
    ("full", "near5"): 4,
    ("near", "full"): 1,
    ("near", "near5"): 1,
    ("near5", "full"): 1,
    ("near5", "near"): 5,
    ("blocks", "full"): 1,
    ("blocks", "near"): 6,
    ("blocks", "near5"): 2,
}
keys = st.sampled_from("abcdefgh")
epsilons = st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=12)
policies = st.sampled_from(["full", "near", "near5", "blocks"])


class LedgerModel(RuleBasedStateMachine):
    @initialize(budget=st.fractions(min_value=Fraction(1, 4), max_value=2, max_denominator=6))
    def make(self, budget: Fraction) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "a.ledger"
        self.budget = self.left = budget
        self.ledger = SqliteLedger.create(self.path, budget=budget, load_policy=load)
        self.charges: dict[str, tuple[Fraction, str]] = {}
        self.documents: dict[str, str] = {}

    @rule(with_budget=st.booleans())
    def reopen(self, with_budget: bool) -> None:
        self.ledger = SqliteLedger.open(self.path, budget=self.budget if with_budget else None, load_policy=load)

    @rule(key=keys, epsilon=epsilons, policy=policies)
    def charge(self, key: str, epsilon: Fraction, policy: str) -> None:
        expected = self.expect(key, epsilon, policy)
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.ledger.charge(**request(key, epsilon, policy))
            return
        assert self.ledger.charge(**request(key, epsilon, policy)).charged == expected
        if key not in self.charges:
            self.charges[key] = epsilon, policy
            self.left -= expected

    def expect(self, key: str, epsilon: Fraction, policy: str) -> Fraction | type[Exception]:
        base = next(iter(self.charges.values()), (epsilon, policy))[1]
        stretch = 1 if base == policy else STRETCH.get((base, policy))
        if key in self.charges:
            return stretch * epsilon if self.charges[key] == (epsilon, policy) else LedgerError
        if stretch is None:
            return RefusalError
        return BudgetError if stretch * epsilon > self.left else stretch * epsilon

    @rule(key=keys, text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
    def record(self, key: str, text: str) -> None:
        if key in self.charges:
            assert self.ledger.record(key, text) == self.documents.setdefault(key, text)
            return
        with pytest.raises(LedgerError):
            self.ledger.record(key, text)

    @invariant()
    def agrees(self) -> None:
        ledger = self.ledger
        assert (ledger.remaining, ledger.spent) == (self.left, self.budget - self.left)
        assert [entry.key for entry in ledger.entries()] == list(self.charges)
        assert all(ledger.document(key) == self.documents.get(key) for key in "abcdefgh")
        report = ledger.verify()
        assert report.problems == ()
        assert (report.spent, report.documents) == (self.budget - self.left, len(self.documents))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestLedgerModel = LedgerModel.TestCase
TestLedgerModel.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
