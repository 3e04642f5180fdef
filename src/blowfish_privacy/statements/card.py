"""A statement for publication: what a release protects, how strongly, what it does not, and how wrong it is.

Everything comes from the release document, which is public, and a document that does not verify gets no card. The
fields follow the public registry of differential privacy deployments [nanayakkara2025] where they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blowfish_privacy.domain import quoted, worded
from blowfish_privacy.errors import SpecError
from blowfish_privacy.policies.explain import presence_only, unprotected
from blowfish_privacy.policies.fact_words import what_facts_disclose
from blowfish_privacy.privacy.budget import meanings, short
from blowfish_privacy.privacy.strength import Strength
from blowfish_privacy.release import reading, verification
from blowfish_privacy.release.public_totals import words
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results import Result, from_text
from blowfish_privacy.statements.card_layout import Card, Item, Section
from blowfish_privacy.statements.card_strength import lost, protected
from blowfish_privacy.statements.card_words import (
    definition,
    disclosed,
    domain,
    flavour,
    made_with,
    moved,
    name,
    tidy,
    together,
    undecided,
    what,
    why_exact,
    year,
)
from blowfish_privacy.support.exact import about, show

_NEVER_CUT = ("Unprotected", "Exact or assumed known")


def make_card(text: str, *, publisher: str | None = None, folder: Path | None = None) -> Card:
    """Read the text of a release document and state what it protects; refuse a document that does not verify."""
    problems = verification.problems(text, folder)
    if problems:
        raise SpecError(
            f"the document does not verify, so nothing can be stated about it: {' '.join(problems[:3])}",
            hint="blowfish verify lists all problems; ask the publisher for the document as it was released.",
        )
    body = reading.upgraded(reading.parse(text))
    releases = [reading.read(body, part, folder) for part in reading.parts_of(body)]
    return _CardWriter(body, releases, publisher, _remarks(text, folder)).card()


def _remarks(text: str, folder: Path | None) -> list[str]:
    """Return what the result says about the numbers that it shows; that of the least exact group, if there are any."""
    made = from_text(text, folder)
    shown: list[Result] = [made] if isinstance(made, Result) else [*made.values()]
    return max(shown, key=lambda result: float(result.release.body["error"]["rmse"])).remarks()


def _tidied(item: Item) -> str:
    return tidy(item.text, None) if item.label in _NEVER_CUT else tidy(item.text)


@dataclass(frozen=True)
class _CardWriter:
    """Writes the sections of a card from a document and the releases in it."""

    body: dict[str, Any]
    releases: list[Release]
    publisher: str | None
    remarks: list[str]

    def card(self) -> Card:
        sections = (
            Section("What was released", tuple(self._released())),
            Section("What is protected, and how strongly", tuple(protected(self.main))),
            Section("What is not protected", tuple(self._unprotected())),
            Section("How exact it is", tuple(self._error())),
            Section("How it was made", tuple(self._made())),
            Section("Other releases", tuple(self._composition())),
            Section("How to check and cite it", tuple(self._cite())),
        )
        tidied = tuple(
            Section(part.title, tuple(Item(item.label, _tidied(item)) for item in part.items)) for part in sections
        )
        return Card(
            name(self.main.name),
            self._summary(),
            tidied,
            parameters=self._parameters,
            time=name(str(self.body["time"])),
            publisher=None if self.publisher is None else name(self.publisher),
            differential_privacy=self.main.certificate.differential_privacy,
            flavour=flavour(self.main),
        )

    @property
    def main(self) -> Release:
        """The release, or its costliest group."""
        return max(self.releases, key=lambda release: release.certificate.amount)

    @property
    def _lost(self) -> Strength:
        return lost(self.main)

    @property
    def _parameters(self) -> dict[str, str]:
        """The measure and the amount, and what they mean as epsilon at some deltas."""
        measure, amount = self._lost.measure, self._lost.amount
        meant = {f"epsilon at delta {short(delta)}": show(epsilon) for epsilon, delta in meanings(measure, amount)}
        return {measure.name: show(amount), **meant}

    def _summary(self) -> str:
        strength = self._lost
        if not strength.amount:
            return f"Published exactly: {why_exact(self.main)}, so the numbers are the exact ones, without noise."
        how = f" {strength.grade}," if strength.grade else ""
        sure = f"can become at most {strength.certainty} % sure by reading this release{strength.but}"
        who = f"whoever is undecided {undecided(self.main)} {sure}"
        return f"Noise protects each person{how} with {strength.words}: {who}."

    @property
    def _shared(self) -> str:
        """The attributes that groups are made by."""
        return " and ".join(map(quoted, self.main.selection.by))

    def _released(self) -> Iterator[Item]:
        main = self.main
        many = sum(len(release.noisy) for release in self.releases)
        selected = main.selection.words(main.policy.domain)
        yield Item("Statistic", f"{what(main)}{selected} ({many:,} number{'s' if many > 1 else ''}).")
        yield from (Item(heading, sentence) for heading, sentence in main.query.cautions().items())
        yield Item("Data", "One record for each person." if main.policy.rows_per_person == 1 else "Records of people.")
        yield Item("Values a record can have", f"{domain(main.policy.domain)}.")
        by = f", by {name(self.publisher)}" if self.publisher else ""
        yield Item("Published", f"{name(str(self.body['time']))}{by}.")

    def _unprotected(self) -> Iterator[Item]:
        policy = self.main.policy
        if not self._lost.amount:
            why = why_exact(self.main)
            yield Item("No noise", f"{why[0].upper()}{why[1:]}, so it is as it is.")
        else:
            notices = {notice for release in self.releases for notice in release.body["notices"]}
            yield from (Item("Note", notice) for notice in sorted(notices))
        yield from (Item("Unprotected", sentence) for sentence in unprotected(policy))
        everything = what_facts_disclose(policy) if disclosed(self.main) else None
        if everything is not None:
            yield Item("Unprotected", everything)
        for quantity in self._quantities():
            yield Item("Exact or assumed known", quantity)
        if policy.known and policy.compensation == "secret-moves":
            yield Item(
                "Weaker than usual",
                "Only attackers who already know each record up to secret values are guarded against (secret-moves).",
            )
        if self._lost.amount and not policy.known and not self.main.certificate.differential_privacy:
            bounded = "bounded " if policy.size == "unknown" else ""
            held = "presence" if presence_only(policy) else "its secret pairs"
            yield Item(
                f"Less than {bounded}differential privacy",
                f"With the same {self._lost.measure.name} it would hold all values of a person to the factor "
                f"{self._lost.factor()}; this policy holds only {held} to it.",
            )
        yield Item(
            "Beyond any noise",
            "What holds for people in general, whoever is in the table; and what ties people together beyond the facts "
            "listed here, such as a household.",
        )

    def _quantities(self) -> Iterator[str]:
        policy = self.main.policy
        if policy.size == "unknown":
            yield "None but the values a record can have: the number of records is secret too."
        elif "groups" in self.body and self.main.population.public:
            yield f"The number of records of each {self._shared}."
        elif self.main.records is not None:
            yield f"The number of records: {self.main.records:,}."
        for shown in dict.fromkeys(each.mechanism.without_noise() for each in self.releases if self._lost.amount):
            if shown is not None:
                yield f"In this release, exactly: {shown}."
        for shown in dict.fromkeys(words(each.query, each.blocks.labels) for each in self.releases if each.blocks):
            yield f"In this release, exactly: {shown}."
        yield from (f"Known fact: {fact.words(policy.domain, whole=True)}." for fact in policy.known)
        if not policy.known:
            yield "No known facts about the data were assumed beyond this."

    def _error(self) -> Iterator[Item]:
        if not self._lost.amount:
            yield Item("Error", "None.")
            return
        errors = [release.body["error"] for release in self.releases if release.certificate.amount]
        worst = max(errors, key=lambda error: error["rmse"])
        least = min(float(error["rmse"]) for error in errors)
        alike = len(errors) == 1 or about(least) == about(float(worst["rmse"]))
        spread = "" if alike else f" in the least exact group, {about(least)} in the most exact"
        yield Item(
            "Expected error",
            f"{about(float(worst['rmse']))} (root mean squared) for {worst['of']}{spread}; "
            f"95 in 100 are within {about(float(worst['within_95_in_100']))}. "
            + (" ".join(self.remarks) or "It comes from the noise alone."),
        )

    def _made(self) -> Iterator[Item]:
        main = self.main
        yield Item("Definition", definition(main))
        for name_of, amount in self._parameters.items():
            yield Item(f"{name_of[0].upper()}{name_of[1:]}", amount)
        exact = "None: the numbers are the exact ones."
        yield Item("Mechanism", made_with(self.releases) if self._lost.amount else exact)
        most = max(self.releases, key=lambda release: release.certificate.sensitivity.value)
        yield Item("Sensitivity", f"A secret change moves {moved(most)} ({most.certificate.sensitivity.theorem}).")
        yield Item("Proof", f"In the documentation of {self._software}: {main.certificate.proof}")
        yield Item(
            "Randomness",
            f"{self.body['randomness']}; exact integer noise" if self._lost.amount else "None: without noise.",
        )
        yield Item("Software", self._software)

    @property
    def _software(self) -> str:
        return f"blowfish-privacy {worded(name(str(self.body['package']['version'])))}"

    def _composition(self) -> Iterator[Item]:
        if "groups" in self.body:
            yield Item("Groups", together(self.main, self.body["groups"]["left_out"]))
        ledger = self.body.get("ledger")
        entry = ledger.get("entry") if isinstance(ledger, dict) else None
        yield Item(
            "Composition",
            f"This statement is about one release, entry {name(str(entry))} of the publisher's ledger. Losses "
            "of further releases that tell about the same secrets add up; the publisher's ledger keeps the sums.",
        )
        yield Item("Post-processing", "Anything computed from these numbers alone costs no further privacy.")

    def _cite(self) -> Iterator[Item]:
        yield Item("Check", "blowfish verify derives guarantee and error anew from the document.")
        yield Item("Document", f"sha256 {self.body['sha256']}")
        yield Item("Policy", f"sha256 {self.main.policy.hash}")
        made = year(str(self.body["time"]))
        who = f"{name(self.publisher)} ({made})" if self.publisher else f"({made})"
        # Why there is no loss is said above, where known facts may be the reason.
        statement = str(self.body["guarantee"]["statement"]).partition(":")[0]
        yield Item(
            "Cite as",
            f"{who}. {quoted(self.main.name)}. {statement}, blowfish-privacy; "
            f"document {str(self.body['sha256'])[:12]}.",
        )
        yield Item(
            "Method",
            "Xi He, Ashwin Machanavajjhala, Bolin Ding: Blowfish Privacy: Tuning Privacy-Utility Trade-offs using "
            "Policies, SIGMOD 2014.",
        )
