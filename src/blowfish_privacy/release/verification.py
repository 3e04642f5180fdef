"""Checking a release document: what it states must be what its numbers prove.

Everything that follows from the policy, the query, the noise scales and the public number of records is worked out
again and compared with the document, word for word; simulations repeat themselves (:class:`SimulationSource`). What
remains taken on trust is what nobody can recompute: docs/promises.md lists it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from blowfish_privacy.domain import Cell
from blowfish_privacy.errors import BlowfishError, LedgerError, SpecError
from blowfish_privacy.ledger import Entry, Ledger, Report
from blowfish_privacy.ledger.composition import PolicyCache, rounded
from blowfish_privacy.ledger.verification import Proof, Rows
from blowfish_privacy.noise import SystemSource
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.certificate import Populations
from blowfish_privacy.privacy.loss import Loss
from blowfish_privacy.privacy.measure import Budget, Measure
from blowfish_privacy.queries.query import check_asked
from blowfish_privacy.release import document, reading
from blowfish_privacy.release.document import PREDICTABLE, Randomness
from blowfish_privacy.release.groups import together
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.reading import Release
from blowfish_privacy.release.spec import is_file_name
from blowfish_privacy.support.progress import task

_COMPARED = ("query", "unit", "mechanism", "policy", "post_processing", "notices", "randomness")
_CLOSE = 1e-6
"""Errors are floating-point numbers, and another machine may add them up in another order."""


def proof_of(text: str) -> Proof:
    """Work out from a document alone what it proves, for a ledger that compares it with the charge."""
    body = reading.parse(text)
    plan = whole_plan([reading.read_proof(body, part) for part in reading.parts_of(body)])
    if plan is None:
        raise SpecError("groups of a secret attribute were made with different noise.")
    return Proof(plan.policy, plan.certificate.loss, body.get("ledger"))


@dataclass(frozen=True, eq=False)
class VerifiedRelease:
    """A document in which nothing is wrong, read back."""

    text: str
    body: Mapping[str, Any]
    parts: tuple[Release, ...]
    """The release, or each of its groups."""
    plan: Plan
    """What it was made by: its certificate is that of all groups together."""

    @property
    def name(self) -> str:
        """What the release is called."""
        return self.plan.name

    @property
    def number(self) -> int:
        """The entry of the ledger that paid for it."""
        return int(self.body["ledger"]["entry"])

    @property
    def main(self) -> Release:
        """The release, or its costliest group."""
        return max(self.parts, key=lambda part: part.certificate.amount)


def problems(text: str, folder: Path | None = None) -> list[str]:
    """Check a document: form, hashes, and everything that can be worked out again.

    Values that are in a file of their own are looked for in the folder.
    """
    outcome = examined(text, folder)
    return [] if isinstance(outcome, VerifiedRelease) else outcome


def examined(text: str, folder: Path | None = None) -> VerifiedRelease | list[str]:
    """Check a document as :func:`problems` does, and return what is in it, or else what is wrong with it."""
    body = reading.parse(text)
    releases, plan = list[Release](), None
    try:
        releases += (reading.read(body, part, folder) for part in reading.parts_of(body))
        defects = [*_label_problems(body), *(problem for release in releases for problem in _part_problems(release))]
        if PREDICTABLE in body["notices"] or body["randomness"] != SystemSource.kind:
            defects.append("It was made with predictable noise, so it protects nobody.")
        defects += _group_problems(body, releases) if "groups" in body else []
        plan = None if defects else whole_plan(releases)
        if plan is None and not defects:
            defects.append("Its groups do not belong together.")
    except BlowfishError as error:
        defects = [error.message]
    except reading.DAMAGE:
        defects = ["The document is damaged: a part is missing or has the wrong form."]
    if body.get("sha256") != document.seal(body):
        defects.insert(0, "The content was changed after it was written: its hash does not match.")
    return defects if defects or plan is None else VerifiedRelease(text, body, tuple(releases), plan)


def _label_problems(body: dict[str, Any]) -> list[str]:
    """Check what cannot be worked out again, in a document that could be read."""
    ledger, package = body["ledger"], body["package"]
    forms = {
        "time": _is_time(body["time"]),
        "ledger": set(ledger) == {"key", "entry"}
        and isinstance(ledger["key"], str)
        and type(ledger["entry"]) is int
        and ledger["entry"] > 0,
        "package": set(package) == {"name", "version"}
        and package["name"] == document.PACKAGE
        and isinstance(package["version"], str),
    }
    defects = [f"What it states as {key} has the wrong form." for key, right in forms.items() if not right]
    beside = {"sha256", "groups"} if "groups" in body else {"sha256", document.KEY}
    if set(body) - beside != document.KEYS:
        defects.append("It has keys that release documents do not have, or lacks some that they do.")
    return defects


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _expected(plan: Plan, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write a document anew, without its values, which are compared with nothing."""
    source = Randomness(str(body["randomness"]), private=body["randomness"] == SystemSource.kind)
    return document.write(plan, np.zeros(0, dtype=np.int64), source=source, time=str(body["time"]), entry=0)


def _part_problems(release: Release) -> list[str]:
    body = release.body
    expected = _expected(release.plan(), body)
    defects = [
        f"What it states as {key} does not follow from the rest." for key in _COMPARED if body[key] != expected[key]
    ]
    for key, value in expected["guarantee"].items():
        if body["guarantee"].get(key) != value:
            defects.append(f"The stated guarantee is not the one proved: {key}.")
    if set(body["guarantee"]) != set(expected["guarantee"]) or set(body["error"]) != set(expected["error"]):
        defects.append("Its guarantee or error has the wrong form.")
    for key in ("mse", "rmse", "within_95_in_100"):
        if not math.isclose(float(body["error"][key]), expected["error"][key], rel_tol=_CLOSE, abs_tol=1e-12):
            defects.append(f"The stated error is not that of the noise: {key}.")
    if body["error"]["of"] != expected["error"]["of"]:
        defects.append("The stated error is the error of something else.")
    stated = release.policy.records
    if stated is not None and release.records != stated and not release.selection:
        defects.append("The number of records is not the one that the policy states.")
    if not release.certificate.amount and release.query.adds_up:
        counts = release.noisy
        if counts.min(initial=0) < 0 or (release.records is not None and int(counts.sum()) != release.records):
            defects.append("Its exact counts are not counts of its records.")
    return defects


def _group_problems(body: dict[str, Any], releases: list[Release]) -> list[str]:
    first = releases[0]
    domain, selection = first.policy.domain, first.selection
    cells = [reading.cell_of(domain, release.group) for release in releases]
    possible = [*selection.groups(domain)]
    defects: list[str] = []
    if len(set(cells)) < len(cells) or not set(cells) <= set(possible):
        defects.append("Its groups are not distinct values of the attributes that they are made by.")
    left_out = body["groups"]["left_out"]
    if type(left_out) is not int or len(cells) + left_out != len(possible):
        defects.append("It does not say how many groups are left out.")
    stated = first.policy.records
    complete = len(cells) == len(possible) and not selection.where
    counted = [release.records for release in releases if release.records is not None]
    if stated is not None and complete and len(counted) == len(cells) and sum(counted) != stated:
        defects.append("The groups do not have as many records as the policy states.")
    if defects:
        return defects
    check_asked(first.query, selection, domain)
    plan = whole_plan(releases)
    if plan is None:
        return ["Groups of a secret attribute were made with different noise."]
    expected = _expected(plan, body)
    agree = all(body[key] == expected[key] for key in (*_COMPARED, "values", "records", "error", "guarantee"))
    return [] if agree else ["The whole does not state what its groups prove together."]


def whole_plan(releases: Sequence[Release]) -> Plan | None:
    """Return the plan that a release was made by, which proves what all its groups lose together.

    None where groups that differ in a secret attribute alone were made with different noise.
    """
    first = releases[0]
    if not first.selection.by:
        return first.plan()
    populations = Populations(first.policy, first.selection, divided=first.query.divided)
    plans: dict[Cell, Plan] = {}
    for release in releases:
        cell = reading.cell_of(first.policy.domain, release.group)
        plan = plans.setdefault(populations.public_part(cell), release.plan())
        if plan.certificate != release.certificate:
            return None
    return together(first.selection, populations, plans)


# All releases of a ledger together: one product, whose documents must prove what the ledger was charged.
#
# A reader of one document sees what that release loses. What all of them lose is in the ledger: here every document
# that it handed out is checked as anybody would, and its loss, derived anew, is compared with the charge that paid for
# it.


@dataclass(frozen=True, eq=False)
class Released(VerifiedRelease):
    """A release that a ledger handed out."""

    entry: Entry
    """The charge that paid for it."""
    cost: Loss
    """What it loses on the secret pairs of the ledger's policy, worked out from the document alone."""

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
    policy, policies = ledger.policy(rows.base), PolicyCache(None)
    policies.add(policy)
    texts = {document.entry: document.text for document in rows.documents}
    released, problems = list[Released](), list[str]()
    with task("Checking the documents"):
        for entry in rows.entries:
            if entry.number in texts:
                outcome = _released(ledger, rows, policies, entry, texts[entry.number])
                if isinstance(outcome, Released):
                    released.append(outcome)
                else:
                    problems += (f"entry {entry.number}: {problem}" for problem in outcome)
    return Product(
        ledger=ledger,
        policy=policy,
        report=report,
        released=tuple(released),
        unreleased=tuple(entry for entry in rows.entries if entry.number not in texts),
        documents=len(texts),
        problems=(*report.problems, *problems),
    )


def _released(ledger: Ledger, rows: Rows, policies: PolicyCache, entry: Entry, text: str) -> Released | list[str]:
    """Read a document back and compare it with the charge that paid for it; or else say what is wrong with it."""
    try:
        outcome = examined(text, ledger.values_folder)
        if not isinstance(outcome, VerifiedRelease):
            return outcome
        plan = outcome.plan
        cost = policies.price(rows.base, plan.policy).charged(plan.certificate.loss, ledger.measure)
    except BlowfishError as error:
        return [error.message]
    wrong = [*Proof(plan.policy, plan.certificate.loss, outcome.body["ledger"]).problems(entry, cost)]
    return wrong or Released(outcome.text, outcome.body, outcome.parts, plan, entry, cost)
