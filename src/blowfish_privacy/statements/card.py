"""A statement for publication: what a release protects, how strongly, what it does not, and how wrong it is.

Everything comes from the release document, which is public, and a document that does not verify gets no card. The
fields follow the public registry of differential privacy deployments [nanayakkara2025] where they fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, one_line, quoted, worded
from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import MeanOffsets, WeightedOffsets
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import IN_NAME_ONLY
from blowfish_privacy.policies.explain import hidden, neighbouring, presence_only, unprotected
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure, Strength, meaning_words, meanings, short
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.release import reading, verification
from blowfish_privacy.release.document import NO_NOISE, words
from blowfish_privacy.release.losses import FarApart, attributes_seen, far_apart, in_name_only
from blowfish_privacy.release.reading import Release, notices_of
from blowfish_privacy.results import Result, from_text
from blowfish_privacy.results.files import AnyResult
from blowfish_privacy.statements.card_page import Card, Item, Section
from blowfish_privacy.support.exact import about, rounded_up
from blowfish_privacy.support.text import LONGEST_NAME

# What release documents say must not be overlooked, each where a reader looks for it.
#
# Documents keep the notices of the plan that they were made from; a reader is told of what is published.

_NOT_HIDDEN = (NO_NOISE, "NOT PRIVATE")
_TO_A_READER = {
    "so it will be published exactly.": "so it is published exactly.",
    " If that is not what you want, change the policy.": "",
    "there will be nothing but noise.": "there is nothing but noise.",
}


def to_a_reader(notice: str) -> str:
    """Say of what is published what its notice said of a plan."""
    for planned, published in _TO_A_READER.items():
        notice = notice.replace(planned, published)
    return notice


def not_hidden(releases: Sequence[Release]) -> Sequence[str]:
    """Return what documents say of numbers that no noise hides."""
    return [notice for notice in to_readers(releases) if notice.startswith(_NOT_HIDDEN)]


def on_exactness(releases: Sequence[Release]) -> Sequence[str]:
    """Return what else documents say, which is about how exact their numbers are."""
    return [notice for notice in to_readers(releases) if not notice.startswith(_NOT_HIDDEN)]


def to_readers(releases: Sequence[Release]) -> Sequence[str]:
    """Return all that documents say must not be overlooked, of the release or of its groups."""
    return [to_a_reader(notice) for notice in notices_of(releases)]


# The words of a card: values and names that somebody chose, made safe to read, and numbers in sentences.

FURTHER_UNDER_FACTS = (
    "No statement is made on values several secret steps apart beyond these: with known facts steps need not add up."
)
POST_PROCESSING = "Anything computed from these numbers alone costs no further privacy."
METHOD = (
    "Xi He, Ashwin Machanavajjhala, Bolin Ding: Blowfish Privacy: Tuning Privacy-Utility Trade-offs using Policies, "
    "SIGMOD 2014."
)
EXACT = "None: the numbers are the exact ones."
EXACT_GROUPS = "Some groups are published exactly, without noise: they are listed under what is not protected."
MOST_LISTED = 6
_LONGEST = 1200


def what(release: Release) -> str:
    """Say which statistic was asked for."""
    return f"{release.query.says()}{_synopsis(release) if hasattr(release.mechanism, 'whole') else ''}"


def statistic(releases: Sequence[Release]) -> str:
    """Say what was asked, of which records, and how much a reader gets: what was measured for it may be more."""
    main = max(releases, key=lambda release: release.certificate.amount)
    domain = main.policy.domain
    each = "" if len(releases) == 1 else f" in each of {len(releases):,} groups"
    return f"{what(main)}{main.selection.words(domain)} ({main.query.amount(domain)}{each})."


def _synopsis(release: Release) -> str:
    noisy = "noisy " if release.certificate.amount else ""
    if getattr(release.mechanism, "whole", True):
        return f", from a {noisy}synopsis of where the records lie, which also gives any other number of centres"
    return f", from the {noisy}sizes and means of clusters, and nothing else about where the records lie"


def moved(release: Release) -> str:
    """Say by how much a secret change moves what is released, in words that fit the noise."""
    sensitivity, query = release.certificate.sensitivity, release.query
    most = "at worst by" if sensitivity.exact else "by no more than"
    if sensitivity.norm is Norm.L2:
        groups = " in each group; a person may move between two" if release.population.groups else ""
        return f"{query.changed}, squared and added up, {most} {rounded_up(sensitivity.value)}{groups}"
    worst = f"{most} {rounded_up(sensitivity.value)}"
    if not query.counts_records:
        return f"{query.changed} {worst}"
    if release.mechanism.name == "lloyd":
        return f"the clusters' sums of offsets, added up, {worst} positions"
    return f"{query.changed}, added up, {worst} {'record' if sensitivity.value == 1 else 'records'}"


def name_only(sentences: Iterable[str]) -> list[str]:
    """Word what is protected in name only for a line whose heading says that already."""
    said = (sentence.removeprefix(IN_NAME_ONLY) for sentence in sentences)
    return [f"{sentence[0].upper()}{sentence[1:]}" for sentence in said]


def unit(policy: Policy) -> str:
    """Say whose protection it is, and which tables are compared."""
    rows = policy.rows_per_person
    who = "One person, who has one record" if rows == 1 else f"One person, with up to {rows:,} records together"
    if policy.size == "unknown":
        too = "" if presence_only(policy) else " too"
        return f"{who}. Whether somebody is in the table at all is protected{too}."
    if policy.known:
        known = "that must change with it to keep the known facts true; how many records there are is public"
        return f"{who}. Tables are compared that differ in a person's values and in those of others {known}."
    each = "" if rows == 1 else ", and how many of them each person has is not protected"
    return f"{who}. Tables are compared that differ in a person's values; how many records there are is public{each}."


def domain(domain: Domain) -> str:
    """List the attributes and their declared values."""
    shown = [f"{quoted(name)}: {values(domain[name])}" for name in domain.names[:MOST_LISTED]]
    more = len(domain.names) - MOST_LISTED
    return "; ".join(shown) + (f"; and {more:,} more attribute{'s' * (more > 1)}" if more > 0 else "")


def values(attribute: Attribute) -> str:
    """Name the declared values of an attribute, the first few of many."""
    first, last = attribute.show(0), attribute.show(attribute.size - 1)
    if isinstance(attribute, Categorical):
        shown = [worded(name(attribute.show(position))) for position in range(min(attribute.size, MOST_LISTED))]
        more = attribute.size - len(shown)
        return ", ".join(shown) + (f" and {more:,} more" if more else "")
    said = f"{attribute.size:,} bins, {first} to {last}" if isinstance(attribute, Binned) else f"{first} to {last}"
    return f"{said} (values beyond count as the nearest)" if attribute.outside == "clamp" else said


def few(sentences: Sequence[str]) -> Iterator[str]:
    """Keep the first sentences of many, and say how many more there are."""
    yield from sentences[:MOST_LISTED]
    if len(sentences) > MOST_LISTED:
        yield f"And {len(sentences) - MOST_LISTED:,} more, which follow from the policy in the document."


def some(names: Sequence[str]) -> str:
    """List attributes, the first few of many."""
    more = len(names) - MOST_LISTED
    return ", ".join(map(quoted, names[:MOST_LISTED])) + (f" and {more:,} more" if more > 0 else "")


def undecided(policy: Policy) -> str:
    """Say between what somebody may be undecided, and what they may know."""
    if policy.known:
        return "between two tables that must look alike (50 : 50)"
    present = "whether a person is in the table"
    what = present if presence_only(policy) else "between two secret values of a person"
    if policy.size == "unknown" and not presence_only(policy):
        what += f", or {present}"
    return f"{what} (50 : 50), and knows {others(policy)},"


def odds(policy: Policy) -> str:
    """Say which odds are held, where no facts are known."""
    if presence_only(policy):
        return "that a person is in the table"
    present = " and the odds that a person is in the table" if policy.size == "unknown" else ""
    return f"between two secret values of a person{present}"


def disclosed(release: Release) -> bool:
    """Say whether an answer is exact because of the known facts."""
    policy, names = release.policy, release.query.attributes
    return not release.certificate.amount and bool(policy.known) and policy.graph.project(names).has_edges


def why_exact(release: Release) -> str:
    """Say why an answer has no noise."""
    if not disclosed(release):
        return "nothing that the policy keeps secret shows in this answer"
    said = "no secret pair that the known facts leave possible changes this answer"
    if release.policy.compensation == "anywhere":
        return said
    return f"{said}, for anybody who knows each record up to secret values"


def others(policy: Policy) -> str:
    """Say what somebody may know and still not find out."""
    return "every other record" if policy.rows_per_person == 1 else "all other people's records"


def made_with(releases: Sequence[Release]) -> str:
    """Say what noise went where: once where all groups are alike, else for the costliest and the cheapest."""
    alike: dict[str, list[Release]] = {}
    for release in sorted(releases, key=lambda release: release.certificate.amount, reverse=True):
        noise = f"{release.mechanism.name}. {release.mechanism.words()}"
        alike.setdefault(noise if release.certificate.amount else EXACT, []).append(release)
    (words, _), *more = alike.items()
    if not more:
        return words
    ends = [next(iter(alike.items())), more[-1]]
    said = " ".join(f"For {_parts(group)}: {words}" for words, group in ends)
    return said if len(more) == 1 else f"{said} For the other groups: as the document says."


def year(time: str) -> str:
    """Return the year of a document's time."""
    try:
        return str(datetime.fromisoformat(time).year)
    except ValueError:
        return "no date"


def together(costliest: Release, left_out: int) -> str:
    """Say what all groups of a release cost together, and why."""
    secret, cost = costliest.population.groups, lost_by(costliest)
    nothing = f" Nothing was released for {left_out:,} other group{'s' * (left_out > 1)}." if left_out else ""
    if secret:
        changed = " and ".join(map(quoted, secret))
        return (
            f"A secret pair may change {changed}, and take a person from one group to another: the noise of every "
            f"group covers that, and all together cost {cost}.{nothing}"
        )
    shared = " and ".join(map(quoted, costliest.selection.by))
    return (
        f"Each person is in one group, and no secret pair changes {shared}: the groups together cost what "
        f"the costliest does, {cost}, not the sum.{nothing}"
    )


def _parts(group: Sequence[Release]) -> str:
    shared = " and ".join(f"{quoted(each)} {worded(name(str(value)))}" for each, value in group[0].group.items())
    more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
    return f"{shared}{more} ({lost_by(group[0])})"


def lost_by(release: Release) -> str:
    """Write what a release loses, with the name of its measure."""
    return release.certificate.loss.measure.words(release.certificate.amount)


def definition(policy: Policy, measure: Measure) -> str:
    """Say which definition of privacy is met."""
    full = is_differential_privacy(policy)
    said = {EPSILON: "Blowfish privacy, pure epsilon (no delta)", RHO: "Zero-concentrated Blowfish privacy (rho)"}.get(
        measure, "Blowfish privacy with epsilon and delta"
    )
    if policy.size == "unknown":
        both = "of bounded differential privacy (a person's values change) and of" if full else "of"
        return f"{said}; here it meets the definition {both} unbounded differential privacy (a person comes or goes)."
    rows = policy.rows_per_person
    of = "" if rows == 1 else f" of the values of up to {rows:,} records, not of how many a person has"
    return f"{said}; here it is bounded differential privacy{of}." if full else f"{said}."


def flavour(policy: Policy, measure: Measure) -> str:
    """Name the definition of privacy in a few words."""
    full = is_differential_privacy(policy)
    kind = "" if measure is EPSILON else " (zero-concentrated)" if measure is RHO else " (epsilon and delta)"
    if policy.size == "unknown":
        said = "Bounded and unbounded differential privacy" if full else "Unbounded differential privacy"
    else:
        said = "Bounded differential privacy" if full else "Blowfish privacy"
    return f"{said}{kind}"


def name(text: str) -> str:
    """Show a name that somebody chose: on one line, and not longer than a name should be."""
    return tidy(text, LONGEST_NAME)


def tidy(text: str, longest: int | None = _LONGEST) -> str:
    """Keep what a document says on one line: no control characters, none that change the direction of text."""
    return one_line(text, longest)


# What a card says is protected, and how strongly.


def lost(release: Release) -> Strength:
    """Return how strongly a release protects."""
    return Strength(release.certificate.loss.measure, release.certificate.amount)


def protected(release: Release) -> Iterator[Item]:
    """Say whose values are protected, which of them, and how strongly."""
    policy, strength = release.policy, lost(release)
    words = policy.words(attributes_seen(release))
    yield Item("Privacy unit", unit(policy))
    for sentence in [*few([str(rule) for rule in words.protected]), *words.added]:
        yield Item("Protected", sentence)
    if not words.sentences:
        yield Item("Protected", "Nothing: the policy has no secret values.")
    elif strength.amount:
        yield Item("Protected", hidden(policy, "Strength"))
    if not strength.amount:
        yield Item("Strength", f"None: this answer has no noise, since {why_exact(release)}.")
        return
    yield Item("Strength", strength_words(policy, strength))
    if strength.measure is RHO:
        meant = " or ".join(meaning_words(strength.measure, strength.amount))
        yield Item("Strength", f"As (epsilon, delta), for the probabilities of all outputs: {meant}.")
    yield from (Item("Further apart", sentence) for sentence in _further(release))
    if strength.grade:
        large = f"{strength.words[0].upper()}{strength.words[1:]}"
        yield Item(
            "Warning",
            f"{large} is large: one release may change odds {strength.factor()} times, which protects "
            f"{strength.grade}.",
        )


def less_than_full_domain(policy: Policy, strength: Strength) -> Item:
    """Say what differential privacy would hold to the same factor, and this policy does not."""
    bounded = "bounded " if policy.size == "unknown" else ""
    held = "presence" if presence_only(policy) else "its secret pairs"
    return Item(
        f"Less than {bounded}differential privacy",
        f"With the same {strength.measure.unit} it would hold all values of a person to the factor "
        f"{strength.factor()}; this policy holds only {held} to it.",
    )


def strength_words(policy: Policy, strength: Strength) -> str:
    """Say by how much outputs, or odds, may differ."""
    if policy.known:
        likely = f"No output is more than {strength.factor()} times as likely on one table as on another"
        return f"{likely} {neighbouring(policy)}{strength.but}."
    how = " (e to the epsilon)" if strength.measure is EPSILON else f"{strength.but}"
    return (
        f"The odds {odds(policy)} change by at most a factor {strength.factor()}{how}, even for somebody who knows "
        f"{others(policy)}."
    )


def _further(release: Release) -> Iterator[str]:
    alone, together = far_apart(release)
    one_step = lost(release).exponent()
    yield from few([said for each in alone if (said := _apart(each, one_step))])
    if together is not None and (said := _apart(together, one_step)):
        yield said
    if not release.policy.steps_add_up:
        yield FURTHER_UNDER_FACTS


def _apart(values: FarApart, one_step: float) -> str:
    """Say how much less values are protected that are many steps apart; nothing where it is no less than Strength."""
    apart = f"{values.pair} are {values.hops:,} secret steps apart"
    if values.most is not None and values.most <= values.strength.amount:
        return f"{apart} and, by the numbers that were measured, protected no less."
    return f"{apart} and protected less: a factor {values.factor}." if values.exponent > one_step else ""


# What a card says of numbers that are exact, of what is assumed to be known, and of how wrong the others are.

BEYOND_NOISE = (
    "What holds for people in general, whoever is in the table; and what ties people together beyond the facts listed "
    "here, such as a household."
)
WEAKER = "Only attackers who already know each record up to secret values are guarded against (secret-moves)."
NO_FACTS = "No known facts about the data were assumed beyond this."


def records_known(body: Mapping[str, Any], main: Release) -> str | None:
    """Say how far the number of records is public; None where that is not said of a release."""
    if main.policy.size == "unknown":
        return "None but the values a record can have: the number of records is secret too."
    if "groups" in body and main.population.public:
        return f"The number of records of each {' and '.join(map(quoted, main.selection.by))}."
    return None if main.records is None else f"The number of records: {main.records:,}."


def shown_exactly(releases: Sequence[Release]) -> Iterator[str]:
    """Say what a release with noise has without noise: parts of its answer, and totals beside it."""
    if any(each.certificate.amount for each in releases):
        yield from dict.fromkeys(shown for each in releases if (shown := each.mechanism.without_noise()) is not None)
    yield from dict.fromkeys(words(each.query, each.blocks.labels) for each in releases if each.blocks)


def known_facts(policy: Policy) -> Iterator[str]:
    """Name the facts that were assumed to be known, all of them."""
    yield from (f"Known fact: {fact.words(policy.domain, whole=True)}." for fact in policy.known)


def error_of(release: Release) -> Mapping[str, Any]:
    """Return the error of the numbers of a release: that of its document, or of the mean itself once it is released."""
    mechanism = release.mechanism
    if not isinstance(mechanism, MeanOffsets | WeightedOffsets):
        return release.body["error"]
    error = mechanism.error_of(release.noisy)
    return {"of": error.of, "rmse": error.rmse, "within_95_in_100": error.interval("0.95")}


def error_words(releases: Sequence[Release]) -> str:
    """Say how wrong the noise makes an answer: of its least and its most exact group, if there are any.

    The two bounds need not be those of one group: which is the largest depends on the law of the noise.
    """
    errors = [error_of(release) for release in releases if release.certificate.amount]
    worst = max(errors, key=lambda error: error["rmse"])
    within = max(float(error["within_95_in_100"]) for error in errors)
    least = min(float(error["rmse"]) for error in errors)
    alike = len(errors) == 1 or about(least) == about(float(worst["rmse"]))
    spread = "" if alike else f" in the least exact group, {about(least)} in the most exact"
    return (
        f"{about(float(worst['rmse']))} (root mean squared) for {worst['of']}{spread}; "
        f"95 in 100 are within {about(within)}."
    )


def remarks(made: AnyResult) -> list[str]:
    """Return what a result says about the numbers that it shows; that of the least exact group, if there are any."""
    shown: list[Result] = [made] if isinstance(made, Result) else [*made.values()]
    return max(shown, key=lambda result: result.stated_error).remarks()


_NEVER_CUT = ("Unprotected", "Exact or assumed known")


def make_card(text: str, *, publisher: str | None = None, folder: Path | None = None) -> Card:
    """Read the text of a release document and state what it protects; refuse a document that does not verify."""
    problems = verification.problems(text, folder)
    if problems:
        raise SpecError(
            f"the document does not verify, so nothing can be stated about it: {' '.join(problems[:3])}",
            hint="blowfish verify lists all problems; ask the publisher for the document as it was released.",
        )
    body = reading.parse(text)
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
