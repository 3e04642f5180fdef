"""A statement for publication: what a release protects, how strongly, what it does not, and how wrong it is.

Everything comes from the release document, which is public, and a document that does not verify gets no card. The
fields follow the public registry of differential privacy deployments [nanayakkara2025] where they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from blowfish_privacy.domain import quoted, worded
from blowfish_privacy.errors import SpecError
from blowfish_privacy.policies.explain import unprotected
from blowfish_privacy.privacy.measure import Measure, Strength, meanings, short
from blowfish_privacy.release import reading, verification
from blowfish_privacy.release.losses import in_name_only
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results import from_text
from blowfish_privacy.statements.card_exactness import (
    BEYOND_NOISE,
    NO_FACTS,
    WEAKER,
    error_words,
    known_facts,
    records_known,
    remarks,
    shown_exactly,
)
from blowfish_privacy.statements.card_layout import Card, Item, Section
from blowfish_privacy.statements.card_strength import attributes_seen, less_than_full_domain, lost, protected
from blowfish_privacy.statements.card_words import (
    EXACT_GROUPS,
    METHOD,
    POST_PROCESSING,
    definition,
    disclosed,
    domain,
    few,
    flavour,
    made_with,
    moved,
    name,
    name_only,
    some,
    statistic,
    tidy,
    together,
    undecided,
    why_exact,
    year,
)
from blowfish_privacy.statements.notices import not_hidden, on_exactness
from blowfish_privacy.support.exact import rounded_up

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
    return _CardWriter(body, releases, publisher, remarks(from_text(text, folder))).card()


def tidied(section: Section) -> Section:
    """Keep each line of a section on one line, and cut what is too long, but for what must not be cut."""
    items = (
        replace(item, text=tidy(item.text, *((None,) if item.label in _NEVER_CUT else ()))) for item in section.items
    )
    return replace(section, items=tuple(items))


def parameters(measure: Measure, amount: Fraction) -> dict[str, str]:
    """Write the measure and the amount, and what they mean as epsilon at some deltas."""
    meant = {f"epsilon at delta {short(delta)}": rounded_up(epsilon) for epsilon, delta in meanings(measure, amount)}
    return {measure.unit: rounded_up(amount), **meant}


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
        return Card(
            name(self.main.name),
            self._summary(),
            tuple(map(tidied, sections)),
            parameters=self._parameters,
            time=name(str(self.body["time"])),
            publisher=None if self.publisher is None else name(self.publisher),
            differential_privacy=self.main.certificate.differential_privacy,
            flavour=flavour(self.main.policy, self._lost.measure),
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
        return parameters(self._lost.measure, self._lost.amount)

    def _summary(self) -> str:
        strength = self._lost
        if not strength.amount:
            return f"Published exactly: {why_exact(self.main)}, so the numbers are the exact ones, without noise."
        how = f" {strength.grade}," if strength.grade else ""
        sure = f"can become at most {strength.certainty} % sure by reading this release alone{strength.but}"
        who = f"whoever is undecided {undecided(self.main.policy)} {sure}"
        some = f" {EXACT_GROUPS}" if any(not release.certificate.amount for release in self.releases) else ""
        return f"Noise protects each person{how} with {strength.words}: {who}.{some}"

    def _released(self) -> Iterator[Item]:
        main = self.main
        yield Item("Statistic", statistic(self.releases))
        yield from (Item(heading, sentence) for heading, sentence in main.query.cautions().items())
        yield Item("Data", "One record for each person." if main.policy.rows_per_person == 1 else "Records of people.")
        seen, every = attributes_seen(main), main.policy.domain
        yield Item("Values a record can have", f"{domain(every if seen is None else every.project(seen))}.")
        if seen is not None:
            others = some([each for each in every if each not in seen])
            yield Item("Not looked at", f"Nothing in this answer depends on {others}.")
        by = f", by {name(self.publisher)}" if self.publisher else ""
        yield Item("Published", f"{name(str(self.body['time']))}{by}.")

    def _unprotected(self) -> Iterator[Item]:
        policy = self.main.policy
        if not self._lost.amount:
            why = why_exact(self.main)
            yield Item("No noise", f"{why[0].upper()}{why[1:]}, so it is as it is.")
        else:
            yield from (Item("Note", notice) for notice in not_hidden(self.releases))
        seen = attributes_seen(self.main)
        yield from (Item("Unprotected", sentence) for sentence in unprotected(policy, seen))
        yield from (Item("In name only", sentence) for sentence in few(name_only(in_name_only(self.main))))
        if disclosed(self.main):
            from blowfish_privacy.policies.fact_words import what_facts_disclose

            everything = what_facts_disclose(policy)
            yield from () if everything is None else (Item("Unprotected", everything),)
        for quantity in self._quantities():
            yield Item("Exact or assumed known", quantity)
        if policy.known and policy.compensation == "secret-moves":
            yield Item("Weaker than usual", WEAKER)
        if self._lost.amount and not policy.known and not self.main.certificate.differential_privacy:
            yield less_than_full_domain(policy, self._lost)
        yield Item("Beyond any noise", BEYOND_NOISE)

    def _quantities(self) -> Iterator[str]:
        policy, public = self.main.policy, records_known(self.body, self.main)
        if public is not None:
            yield public
        yield from (f"In this release, exactly: {shown}." for shown in shown_exactly(self.releases))
        yield from known_facts(policy)
        if not policy.known:
            yield NO_FACTS

    def _error(self) -> Iterator[Item]:
        if not self._lost.amount:
            yield Item("Error", "None.")
            return
        said = " ".join(self.remarks) or "It comes from the noise alone."
        yield Item("Expected error", f"{error_words(self.releases)} {said}")
        yield from (Item("Note", notice) for notice in on_exactness(self.releases))

    def _made(self) -> Iterator[Item]:
        main = self.main
        yield Item("Definition", definition(main.policy, self._lost.measure))
        for name_of, amount in self._parameters.items():
            yield Item(f"{name_of[0].upper()}{name_of[1:]}", amount)
        yield Item("Mechanism", made_with(self.releases))
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
            f"This statement is about one release, entry {name(str(entry))} of the publisher's ledger. Losses of "
            "further releases that tell about the same secrets add up: the publisher's statement about all releases "
            "together has the sums, and what they mean.",
        )
        yield Item("Post-processing", POST_PROCESSING)

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
        yield Item("Method", METHOD)
