"""All releases of a ledger together: one product, whose documents must prove what the ledger was charged.

A reader of one document sees what that release loses. What all of them lose is in the ledger: here every document that
it handed out is checked as anybody would, and its loss, derived anew, is compared with the charge that paid for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from blowfish_privacy.errors import BlowfishError, LedgerError
from blowfish_privacy.ledger import Entry, Ledger, Report
from blowfish_privacy.ledger.composition import Price, price, rounded
from blowfish_privacy.ledger.verification import Proof, Rows
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import Budget, Measure
from blowfish_privacy.release import reading, verification
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.planned_release import is_file_name
from blowfish_privacy.release.reading import Release
from blowfish_privacy.support.progress import task


@dataclass(frozen=True, eq=False)
class Released:
    """A release that a ledger handed out: its charge, its document, and what that proves."""

    entry: Entry
    text: str
    body: Mapping[str, Any]
    parts: tuple[Release, ...]
    """The release, or each of its groups."""
    plan: Plan
    """What it was made by: its certificate is that of all groups together."""
    cost: Loss
    """What it loses on the secret pairs of the ledger's policy, worked out from the document alone."""

    @property
    def name(self) -> str:
        """What the release is called."""
        return self.plan.name

    @property
    def main(self) -> Release:
        """The release, or its costliest group."""
        return max(self.parts, key=lambda part: part.certificate.amount)

    @property
    def file_name(self) -> str:
        """What its files are called: who released from Python may have chosen a name that no file can have."""
        return self.name if is_file_name(self.name) else f"entry {self.entry.number}"

    def is_called(self, stem: str) -> bool:
        """Say whether its files are called so: by its name, with a number where others had that name before."""
        name, _, number = stem.rpartition("-")
        return stem == self.file_name or (name == self.file_name and number.isdecimal())


@dataclass(frozen=True, eq=False)
class Product:
    """What a ledger handed out, what all of it lost, and what is wrong with it, at one moment."""

    ledger: Ledger
    policy: Policy
    """The policy that the budget belongs to: what was lost is said of its secret pairs."""
    report: Report
    released: tuple[Released, ...]
    """The releases whose documents are sound, in order."""
    unreleased: tuple[Entry, ...]
    """The charges for which nothing was handed out; they count all the same."""
    documents: int
    problems: tuple[str, ...]
    """What is wrong with the ledger, and with each of its documents."""

    @property
    def folder(self) -> Path | None:
        """Where values lie that are too many for a document."""
        return self.ledger.values_folder

    @property
    def terms(self) -> Budget:
        """The budget, as it was stated."""
        return self.ledger.terms

    @property
    def spent(self) -> Fraction:
        """The most that any secret pair has lost."""
        return self.report.spent

    @property
    def lost(self) -> Loss:
        """What was lost on each class of secret pairs, by all charges."""
        return self.report.lost

    @property
    def measure(self) -> Measure:
        """What losses are counted in."""
        return self.terms.measure

    def may_be_called(self, released: Released, stem: str) -> bool:
        """Say whether files of a release may have a name, which is not that of another."""
        return released.is_called(stem) or not any(each.is_called(stem) for each in self.released)

    @property
    def adds_up(self) -> bool:
        """Whether what the documents prove, rounded as charges are, is together what was charged for them."""
        proved = Loss.total((rounded(each.cost, self.terms.amount) for each in self.released), self.measure)
        return proved == Loss.total((each.entry.loss for each in self.released), self.measure)


def read_product(ledger: Ledger) -> Product:
    """Check a ledger and every document that it handed out; refuse one from which nothing was released."""
    product = examine_product(ledger)
    if isinstance(product, Report):
        if product.problems:
            raise LedgerError(f"{ledger.name} does not verify: {' '.join(product.problems[:3])}")
        raise LedgerError(
            f"{ledger.name} holds no release yet, so there is nothing to state.",
            hint="blowfish release FILE.yaml makes the releases of a file.",
        )
    return product


def examine_product(ledger: Ledger) -> Product | Report:
    """Check a ledger and every document that it handed out; without a release there is the ledger's report alone."""
    rows, report = ledger.examine()
    if rows.base is None:
        return report
    policy = ledger.policy(rows.base)
    reader = _Reader(ledger, policy, {})
    texts = {document.entry: document.text for document in rows.documents}
    released, problems = list[Released](), list[str]()
    with task("Checking the documents"):
        for entry in rows.entries:
            if entry.number in texts:
                found = reader.read(entry, texts[entry.number])
                problems += [f"entry {entry.number}: {problem}" for problem in found if isinstance(problem, str)]
                released += [each for each in found if isinstance(each, Released)]
    return Product(
        ledger=ledger,
        policy=policy,
        report=report,
        released=tuple(released),
        unreleased=_unreleased(rows, texts),
        documents=len(texts),
        problems=(*report.problems, *problems),
    )


def _unreleased(rows: Rows, texts: Mapping[int, str]) -> tuple[Entry, ...]:
    return tuple(entry for entry in rows.entries if entry.number not in texts)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads documents back, and compares them with the charges that paid for them."""

    ledger: Ledger
    base: Policy
    prices: dict[str, Price]

    def read(self, entry: Entry, text: str) -> list[Released | str]:
        """Return a release, or else what is wrong with it."""
        folder = self.ledger.values_folder
        try:
            problems = verification.problems(text, folder)
            if problems:
                return [*problems]
            body = reading.upgraded(reading.parse(text))
            parts = tuple(reading.read(body, part, folder) for part in reading.parts_of(body))
            plan = verification.whole_plan(parts)
            if plan is None:
                return ["its groups do not belong together."]
            cost = self._price(plan.policy).charged(plan.certificate.loss, self.ledger.measure)
        except BlowfishError as error:
            return [error.message]
        proof = Proof(plan.policy, plan.certificate.loss, body["ledger"])
        return [*proof.problems(entry, cost)] or [Released(entry, text, body, parts, plan, cost)]

    def _price(self, policy: Policy) -> Price:
        if policy.hash not in self.prices:
            self.prices[policy.hash] = price(self.base, policy)
        return self.prices[policy.hash]
