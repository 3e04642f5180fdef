"""A statement for publication: what a release protects, how strongly, what it does not, and how wrong it is.

Everything comes from the release document, which is public, and a document that does not verify gets no card. The
fields follow the public registry of differential privacy deployments [nanayakkara2025] where they fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from blowfish_privacy.domain import Attribute, Binned, Categorical, one_line, quoted, worded
from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import MeanOffsets, WeightedOffsets
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.explain import hidden, neighbouring, presence_only, unprotected, what_facts_disclose
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure, Strength, meaning_words, meanings, short
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.release import verification
from blowfish_privacy.release.document import words
from blowfish_privacy.release.losses import FarApart, FarLosses, attributes_seen
from blowfish_privacy.release.reading import Release, notices_of
from blowfish_privacy.release.verification import VerifiedRelease
from blowfish_privacy.results import Result, from_text
from blowfish_privacy.results.files import AnyResult
from blowfish_privacy.statements.card_page import Card, CardTable, Item, Label, Section
from blowfish_privacy.support.exact import about, rounded_up
from blowfish_privacy.support.text import LONGEST_NAME, count_of

# The words of a card: values and names that somebody chose, made safe to read, and numbers in sentences.

METHOD = (
    "Xi He, Ashwin Machanavajjhala, Bolin Ding: Blowfish Privacy: Tuning Privacy-Utility Trade-offs using Policies, "
    "SIGMOD 2014."
)
MOST_LISTED = 6
_LONGEST = 1200
_NEVER_CUT = (Label.UNPROTECTED, Label.KNOWN)


def statistic(releases: Sequence[Release]) -> str:
    """Say what was asked, of which records, and how much a reader gets: what was measured for it may be more."""
    main = max(releases, key=lambda release: release.certificate.amount)
    domain = main.policy.domain
    each = "" if len(releases) == 1 else f" in each of {len(releases):,} groups"
    noisy = "noisy " if main.certificate.amount else ""
    gives = {
        None: "",
        True: f", from a {noisy}synopsis of where the records lie, which also gives any other number of centres",
        False: f", from the {noisy}sizes and means of clusters, and nothing else about where the records lie",
    }[getattr(main.mechanism, "whole", None)]
    return f"{main.query.says()}{gives}{main.selection.words(domain)} ({main.query.amount(domain)}{each})."


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
    if release.mechanism.moves is not None:
        return f"{release.mechanism.moves}, added up, {worst} positions"
    return f"{query.changed}, added up, {worst} {'record' if sensitivity.value == 1 else 'records'}"


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


def values(attribute: Attribute) -> str:
    """Name the declared values of an attribute, the first few of many."""
    first, last = attribute.show(0), attribute.show(attribute.size - 1)
    if isinstance(attribute, Categorical):
        shown = [worded(name(attribute.show(position))) for position in range(min(attribute.size, MOST_LISTED))]
        more = attribute.size - len(shown)
        return ", ".join(shown) + (f" and {more:,} more" if more else "")
    bins = f"{attribute.size:,} bins, " if isinstance(attribute, Binned) else ""
    beyond = " (values beyond count as the nearest)" if attribute.outside == "clamp" else ""
    return f"{bins}{first} to {last}{beyond}"


def few(sentences: Sequence[str]) -> Iterator[str]:
    """Keep the first sentences of many, and say how many more there are."""
    yield from sentences[:MOST_LISTED]
    if len(sentences) > MOST_LISTED:
        yield f"And {len(sentences) - MOST_LISTED:,} more, which follow from the policy in the document."


def undecided(policy: Policy) -> str:
    """Say between what somebody may be undecided, and what they may know."""
    if policy.known:
        return "between two tables that must look alike (50 : 50)"
    present = "whether a person is in the table"
    what = present if presence_only(policy) else "between two secret values of a person"
    if policy.size == "unknown" and not presence_only(policy):
        what += f", or {present}"
    return f"{what} (50 : 50), and knows {others(policy)},"


def disclosed(release: Release) -> bool:
    """Say whether an answer is exact because of the known facts."""
    policy, names = release.policy, release.query.attributes
    return not release.certificate.amount and bool(policy.known) and policy.graph.project(names).has_edges


def why_exact(release: Release) -> str:
    """Say why an answer has no noise."""
    if not disclosed(release):
        return "nothing that the policy keeps secret shows in this answer"
    reason = "no secret pair that the known facts leave possible changes this answer"
    if release.policy.compensation == "anywhere":
        return reason
    return f"{reason}, for anybody who knows each record up to secret values"


def others(policy: Policy) -> str:
    """Say what somebody may know and still not find out."""
    return "every other record" if policy.rows_per_person == 1 else "all other people's records"


def made_with(releases: Sequence[Release]) -> str:
    """Say what noise went where: once where all groups are alike, else for the costliest and the cheapest."""
    alike: dict[str, list[Release]] = {}
    for release in sorted(releases, key=lambda release: release.certificate.amount, reverse=True):
        noise = f"{release.mechanism.name}. {release.mechanism.words()}"
        noise = noise if release.certificate.amount else "None: the numbers are the exact ones."
        alike.setdefault(noise, []).append(release)
    if len(alike) == 1:
        return next(iter(alike))
    sentences: list[str] = []
    kinds = [*alike.items()]
    for noise, (first, *others) in (kinds[0], kinds[-1]):
        shared = " and ".join(f"{quoted(each)} {worded(name(str(value)))}" for each, value in first.group.items())
        more = f" and {len(others):,} more" if others else ""
        sentences.append(f"For {shared}{more} ({lost_by(first)}): {noise}")
    return " ".join([*sentences, *(["For the other groups: as the document says."] if len(alike) > 2 else [])])


def together(costliest: Release, left_out: int) -> str:
    """Say what all groups of a release cost together, and why."""
    secret, cost = costliest.population.groups, lost_by(costliest)
    nothing = f" Nothing was released for {count_of(left_out, 'other group')}." if left_out else ""
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


def lost_by(release: Release) -> str:
    """Write what a release loses, with the name of its measure."""
    return release.certificate.loss.measure.words(release.certificate.amount)


def definition(policy: Policy, measure: Measure) -> str:
    """Say which definition of privacy is met."""
    full = is_differential_privacy(policy)
    kind = {EPSILON: "Blowfish privacy, pure epsilon (no delta)", RHO: "Zero-concentrated Blowfish privacy (rho)"}.get(
        measure, "Blowfish privacy with epsilon and delta"
    )
    if policy.size == "unknown":
        both = "of bounded differential privacy (a person's values change) and of" if full else "of"
        return f"{kind}; here it meets the definition {both} unbounded differential privacy (a person comes or goes)."
    rows = policy.rows_per_person
    of = "" if rows == 1 else f" of the values of up to {rows:,} records, not of how many a person has"
    return f"{kind}; here it is bounded differential privacy{of}." if full else f"{kind}."


def flavour(policy: Policy, measure: Measure) -> str:
    """Name the definition of privacy in a few words."""
    full = is_differential_privacy(policy)
    kind = "" if measure is EPSILON else " (zero-concentrated)" if measure is RHO else " (epsilon and delta)"
    if policy.size == "unknown":
        kind_words = "Bounded and unbounded differential privacy" if full else "Unbounded differential privacy"
    else:
        kind_words = "Bounded differential privacy" if full else "Blowfish privacy"
    return f"{kind_words}{kind}"


def name(text: str) -> str:
    """Show a name that somebody chose: on one line, and not longer than a name should be."""
    return one_line(text, LONGEST_NAME)


# What a card says is protected, and how strongly.


def strength_words(policy: Policy, strength: Strength) -> str:
    """Say by how much outputs, or odds, may differ."""
    if policy.known:
        likely = f"No output is more than {strength.factor()} times as likely on one table as on another"
        return f"{likely} {neighbouring(policy)}{strength.but}."
    how = " (e to the epsilon)" if strength.measure is EPSILON else f"{strength.but}"
    present = "that a person is in the table"
    odds = present if presence_only(policy) else "between two secret values of a person"
    if policy.size == "unknown" and not presence_only(policy):
        odds += f" and the odds {present}"
    return (
        f"The odds {odds} change by at most a factor {strength.factor()}{how}, even for somebody who knows "
        f"{others(policy)}."
    )


def _apart(values: FarApart, one_step: float) -> str:
    """Say how much less values are protected that are many steps apart, if they are."""
    apart = f"{values.pair} are {values.hops:,} secret steps apart"
    if values.factor is None:
        return f"{apart}, and some release protects them not at all."
    if values.exponent <= one_step:
        return f"{apart}, but no less protected than Strength says."
    return f"{apart} and protected less: a factor {values.factor}."


# What a card says of numbers that are exact, of what is assumed to be known, and of how wrong the others are.


def records_known(body: Mapping[str, Any], main: Release) -> str | None:
    """Say how far the number of records is public; None where that is not said of a release."""
    if main.policy.size == "unknown":
        return "None but the values a record can have: the number of records is secret too."
    if "groups" in body and main.population.public:
        return f"The number of records of each {' and '.join(map(quoted, main.selection.by))}."
    return None if main.records is None else f"The number of records: {main.records:,}."


def error_of(release: Release) -> Mapping[str, Any]:
    """Return the error of the numbers of a release: that of its document, or of the mean itself once it is released."""
    mechanism = release.mechanism
    if not isinstance(mechanism, MeanOffsets | WeightedOffsets):
        return release.body["error"]
    error = mechanism.error_of(release.noisy)
    return {"of": error.of, "rmse": error.rmse, "within_95_in_100": error.interval("0.95")}


def error_words(releases: Sequence[Release]) -> str:
    """Say how wrong the noise makes an answer: of its least and its most accurate group, if there are any.

    The two bounds need not be those of one group: which is the largest depends on the law of the noise.
    """
    errors = [error_of(release) for release in releases if release.certificate.amount]
    worst = max(errors, key=lambda error: error["rmse"])
    within = max(float(error["within_95_in_100"]) for error in errors)
    least = min(float(error["rmse"]) for error in errors)
    alike = len(errors) == 1 or about(least) == about(float(worst["rmse"]))
    spread = "" if alike else f" in the least accurate group, {about(least)} in the most accurate"
    return (
        f"{about(float(worst['rmse']))} (root mean squared) for {worst['of']}{spread}; "
        f"95 in 100 are within {about(within)}."
    )


def remarks(result: AnyResult) -> list[str]:
    """Return what a result says about the numbers that it shows; that of the least accurate group, if there are any."""
    groups: list[Result] = [result] if isinstance(result, Result) else [*result.values()]
    return max(groups, key=lambda group: group.stated_error).remarks()


def parameters(lost: Strength) -> dict[str, str]:
    """Write the measure and the amount, and what they mean as epsilon at some deltas."""
    bounds = meanings(lost.measure, lost.amount)
    meant = {f"epsilon at delta {short(delta)}": rounded_up(epsilon) for epsilon, delta in bounds}
    return {lost.measure.unit: rounded_up(lost.amount), **meant}


def _capitalised(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Writer(ABC):
    """Writes the card of a release, or of all releases of a ledger together."""

    called: str
    policy: Policy
    strength: Strength
    """What the secret pair that lost the most has lost."""
    releases: Sequence[VerifiedRelease]
    publisher: str | None
    folder: Path | None
    """Where values lie that are too many for a document."""
    far: FarLosses
    """What was lost between values several secret steps apart."""
    why_none: str
    """Why there is no strength, where nothing has noise."""
    sums: str
    """What adds up with what."""
    check: str
    """How to check it."""
    promise: str
    """What it promises, as it is cited."""

    seen: tuple[str, ...] | None = None
    """The attributes that it is about; None if these are all."""
    names: Mapping[int, str] = field(default_factory=dict[int, str])
    """What each release is called, by the entry that paid for it; empty for a statement about one."""
    together: ClassVar[bool]
    """Whether it is about all releases of a ledger."""

    def card(self) -> Card:
        """Write all sections."""
        sections: list[Section] = []
        for section in self.sections():
            # Each line stays on one line, and what is too long is cut, but for what must not be cut.
            items = [
                replace(item, text=one_line(item.text, None if item.label in _NEVER_CUT else _LONGEST))
                for item in section.items
            ]
            if items or section.pictures:
                sections.append(replace(section, items=tuple(items)))
        return Card(
            name(self.called),
            self.summary(),
            tuple(sections),
            parameters=parameters(self.strength),
            time=name(self.time),
            publisher=None if self.publisher is None else name(self.publisher),
            differential_privacy=self.full,
            flavour=flavour(self.policy, self.strength.measure),
            releases=len(self.releases) if self.together else None,
        )

    def sections(self) -> Iterator[Section]:
        """Go through the sections of the card."""
        yield Section("What was released", (*self.released(), *self.records()))
        yield Section("What is protected, and how strongly", tuple(self.protected()), self.table())
        yield Section("What is not protected", tuple(self.unprotected()))
        yield self.values()
        yield Section("How it was made", tuple(self.made()))
        yield Section("Other releases", tuple(self.composition()))
        yield Section("How to check and cite it", tuple(self.cite()))

    @abstractmethod
    def summary(self) -> str:
        """Say in a few sentences what was published, and how strongly it is protected."""

    @abstractmethod
    def released(self) -> Iterator[Item]:
        """Say what was released."""

    @abstractmethod
    def values(self) -> Section:
        """Say or show what the values are worth."""

    def table(self) -> CardTable | None:
        """Write what was lost on each class of secret pairs, where that is not one amount."""
        return None

    def whole_record(self) -> Iterable[Item]:
        """Say what is lost on a whole record, where that is not what a release loses."""
        return ()

    @property
    def time(self) -> str:
        """When the last of it was made; empty if nothing was handed out."""
        return str(self.releases[-1].body["time"]) if self.releases else ""

    @property
    def full(self) -> bool:
        """Whether the promise is (bounded) differential privacy."""
        return is_differential_privacy(self.policy)

    @cached_property
    def results(self) -> list[AnyResult]:
        """The result of each release."""
        return [from_text(each.text, self.folder) for each in self.releases]

    def about(self, each: VerifiedRelease, sentence: str) -> str:
        """Say something about one of the releases."""
        return f"{self.names[each.number]}: {sentence}" if self.names else sentence

    def notes(self, each: VerifiedRelease, *, exact: bool) -> Iterator[Item]:
        """Say what must not be overlooked: which numbers no noise hides, or how wrong the others are."""
        notices = (notice.as_published for notice in notices_of(each.parts) if notice.exact == exact)
        return (Item("Note", self.about(each, notice)) for notice in notices)

    def assured(self, total: str, read: str) -> str:
        """Say how strongly noise protects, and what that means to somebody who reads all of it."""
        strength = self.strength
        how = f" {strength.grade}," if strength.grade else ""
        sure = f"can become at most {strength.certainty} % sure by reading {read}{strength.but}"
        who = f"whoever is undecided {undecided(self.policy)} {sure}"
        return f"Noise protects each person{how} with {strength.words}{total}: {who}."

    def policies(self) -> list[Policy]:
        """Return its policy and those of the releases, each once."""
        policies = [self.policy, *(each.plan.policy for each in self.releases)]
        return [*{policy.hash: policy for policy in policies}.values()]

    def records(self) -> Iterator[Item]:
        """Say what the records are, which values they can have, and when and by whom this was published."""
        yield Item("Data", "One record for each person." if self.policy.rows_per_person == 1 else "Records of people.")
        every = self.policy.domain
        domain = every if self.seen is None else every.project(self.seen)
        shown = [f"{quoted(name)}: {values(domain[name])}" for name in domain.names[:MOST_LISTED]]
        more = len(domain.names) - MOST_LISTED
        shown += [f"and {count_of(more, 'more attribute')}"] if more > 0 else []
        yield Item(Label.VALUES, f"{'; '.join(shown)}.")
        if self.seen is not None:
            others = [quoted(each) for each in every if each not in self.seen]
            more_others = f" and {len(others) - MOST_LISTED:,} more" if len(others) > MOST_LISTED else ""
            shown = f"{', '.join(others[:MOST_LISTED])}{more_others}"
            yield Item("Not looked at", f"Nothing in this answer depends on {shown}.")
        if self.releases:
            by = f", by {name(self.publisher)}" if self.publisher else ""
            yield Item("Published", f"{name(self.time)}{by}.")

    def protected(self) -> Iterator[Item]:
        """Say whose values are protected, which of them, and how strongly."""
        policy, strength = self.policy, self.strength
        words = policy.words(self.seen)
        yield Item(Label.UNIT, unit(policy))
        for sentence in [*few([str(rule) for rule in words.protected]), *words.added]:
            yield Item(Label.PROTECTED, sentence)
        if not words.sentences:
            yield Item(Label.PROTECTED, "Nothing: the policy has no secret values.")
        if not strength.amount:
            yield Item(Label.STRENGTH, f"None: {self.why_none}.")
            return
        if words.sentences:
            yield Item(Label.PROTECTED, hidden(policy, "Strength"), alone=hidden(policy, strength.measure.unit))
        odds = strength_words(policy, strength)
        yield Item(Label.STRENGTH, f"All releases together: {odds[0].lower()}{odds[1:]}" if self.together else odds)
        yield from self.further()
        if not policy.steps_add_up:
            beyond = "No statement is made on values several secret steps apart beyond these"
            yield Item(Label.APART, f"{beyond}: with known facts steps need not add up.")
        if strength.grade:
            read = "all releases" if self.together else "one release"
            large = f"{_capitalised(strength.words)} is large: {read} may change odds {strength.factor()} times"
            yield Item(Label.WARNING, f"{large}, which protects {strength.grade}.")

    def unprotected(self) -> Iterator[Item]:
        """List what no noise of these releases hides; nothing is left out."""
        policies = self.policies()
        for each in self.releases:
            if each.plan.amount:
                yield from self.notes(each, exact=True)
            else:
                exactly = self.about(each, f"{why_exact(each.main)}, so it is as it is.")
                yield Item(Label.NO_NOISE, _capitalised(exactly))
        sentences = (sentence for policy in policies for sentence in unprotected(policy, self.seen))
        yield from (Item(Label.UNPROTECTED, sentence) for sentence in dict.fromkeys(sentences))
        weak = self.far.unprotected("all releases" if self.together else "this release")
        yield from (Item("Effectively unprotected", _capitalised(sentence)) for sentence in weak)
        if any(disclosed(part) for each in self.releases for part in each.parts):
            everything = (what_facts_disclose(policy) for policy in policies)
            yield from (Item(Label.UNPROTECTED, words) for words in dict.fromkeys(everything) if words is not None)
        yield from (Item(Label.KNOWN, each) for each in dict.fromkeys(self._quantities(policies)))
        if any(policy.known and policy.compensation == "secret-moves" for policy in policies):
            only = "Only attackers who already know each record up to secret values are guarded against (secret-moves)."
            yield Item("Weaker than usual", only)
        if self.strength.amount and not self.policy.known and not self.full:
            bounded = "bounded " if self.policy.size == "unknown" else ""
            held = "presence" if presence_only(self.policy) else "its secret pairs"
            yield Item(
                f"Less than {bounded}differential privacy",
                f"With the same {self.strength.measure.unit} it would hold all values of a person to the factor "
                f"{self.strength.factor()}; this policy holds only {held} to it.",
            )
        yield Item(
            "Beyond any noise",
            "What holds for people in general, whoever is in the table; and what ties people together beyond the facts "
            "listed here, such as a household.",
        )

    def _quantities(self, policies: Sequence[Policy]) -> Iterator[str]:
        for each in self.releases:
            public = records_known(each.body, each.main)
            # Secret in this release, and public by the ledger's policy: then it is not said.
            if public is not None and not each.main.policy.size == "unknown" != self.policy.size:
                inside = f"In {self.names[each.number]}: " if self.names and each.main.selection.where else ""
                yield f"{inside}{public[0].lower()}{public[1:]}" if inside else public
            # What a release with noise has without noise: parts of its answer, and totals beside it.
            noisy = any(part.certificate.amount for part in each.parts)
            exact = [part.mechanism.without_noise() for part in each.parts] if noisy else []
            exact += [words(part.query, part.blocks.labels) for part in each.parts if part.blocks]
            called = self.names.get(each.number, "this release")
            yield from (f"In {called}, exactly: {shown}." for shown in dict.fromkeys(exact) if shown is not None)
        known = [(policy.domain, fact) for policy in policies for fact in policy.known]
        yield from (f"Known fact: {fact.words(domain, whole=True)}." for domain, fact in known)
        if not known:
            yield "No known facts about the data were assumed beyond this."

    def further(self) -> Iterator[Item]:
        """Say what the strength means where it is not counted in epsilon, and for values several secret steps apart."""
        if meant := " or ".join(meaning_words(self.strength.measure, self.strength.amount)):
            yield Item(Label.STRENGTH, f"As (epsilon, delta), for the probabilities of all outputs: {meant}.")
        yield from self.whole_record()
        one_step = self.strength.exponent()
        alone, together = (
            [_apart(each, one_step) for each in pairs if each.lost]
            for pairs in (self.far.of_attributes(), self.far.of_all())
        )
        yield from (Item(Label.APART, sentence) for sentence in (*few(alone), *together))

    def made(self) -> Iterator[Item]:
        """Say how the releases were made, with which software, and where the proofs are."""
        yield Item("Definition", definition(self.policy, self.strength.measure))
        if not self.releases:
            return
        if not self.together:
            yield from (Item(_capitalised(unit), amount) for unit, amount in parameters(self.strength).items())
        yield from (Item(Label.MECHANISM, self.about(each, made_with(each.parts))) for each in self.releases)
        if not self.together:
            most = max(self.releases[0].parts, key=lambda part: part.certificate.sensitivity.value)
            yield Item(
                Label.SENSITIVITY, f"A secret change moves {moved(most)} ({most.certificate.sensitivity.theorem})."
            )
        noisy = [each for each in self.releases if each.plan.amount]
        versions = dict.fromkeys(worded(name(str(each.body["package"]["version"]))) for each in self.releases)
        software = f"blowfish-privacy {', '.join(versions)}"
        proofs = dict.fromkeys(each.plan.certificate.proof for each in noisy or self.releases)
        every = [*(["docs/proofs/classes.md"] if self.together else []), *proofs]
        yield Item("Proof", f"In the documentation of {software}: {', '.join(every)}")
        sources = dict.fromkeys(str(each.body["randomness"]) for each in noisy)
        bits = f"{', '.join(sources)}; exact integer noise" if sources else "None: without noise."
        yield Item(Label.RANDOMNESS, bits)
        yield Item("Software", software)

    def composition(self) -> Iterator[Item]:
        """Say what adds up with what, in this release or these, and in others."""
        for each in self.releases:
            if "groups" in each.body:
                yield Item(Label.GROUPS, self.about(each, together(each.main, each.body["groups"]["left_out"])))
        yield Item(Label.COMPOSITION, self.sums)
        free = "Anything computed from these numbers alone costs no further privacy."
        yield Item(Label.POST_PROCESSING, free)

    def cite(self) -> Iterator[Item]:
        """Say how to check it, and how to cite it: who published when what, what it promises, and its documents."""
        yield Item("Check", self.check)
        document = "document" if not self.together else "documents"
        hashes = [str(each.body["sha256"]) for each in self.releases]
        for each, sha256 in zip(self.releases, hashes, strict=True):
            yield Item(document.capitalize(), self.about(each, f"sha256 {sha256}"))
        yield from (Item("Policy", f"sha256 {policy.hash}") for policy in self.policies())
        if self.releases:
            try:
                year = str(datetime.fromisoformat(self.time).year)
            except ValueError:
                year = "no date"
            who = f"{name(self.publisher)} ({year})" if self.publisher else f"({year})"
            short_hashes = ", ".join(sha256[:12] for sha256 in hashes)
            cited = f"{who}. {quoted(self.called)}. {self.promise}, blowfish-privacy; {document} {short_hashes}."
            yield Item("Cite as", cited)
        yield Item("Method", METHOD)


@dataclass(frozen=True, eq=False, kw_only=True)
class _ReleaseWriter(Writer):
    """Writes the card of one release."""

    together = False

    def summary(self) -> str:
        (release,) = self.releases
        if not self.strength.amount:
            return f"Published exactly: {why_exact(release.main)}, so the numbers are the exact ones, without noise."
        text = self.assured("", "this release alone")
        if all(part.certificate.amount for part in release.parts):
            return text
        return f"{text} Some groups are published exactly, without noise: they are listed under what is not protected."

    def released(self) -> Iterator[Item]:
        (release,) = self.releases
        yield Item(Label.STATISTIC, statistic(release.parts))
        yield from (Item(heading, sentence) for heading, sentence in release.main.query.cautions().items())

    def values(self) -> Section:
        items = [Item("Error", "None.")]
        if self.strength.amount:
            (release,), (result,) = self.releases, self.results
            remarked = " ".join(remarks(result)) or "It comes from the noise alone."
            items = [Item("Expected error", f"{error_words(release.parts)} {remarked}")]
            items += self.notes(release, exact=False)
        return Section("How accurate it is", tuple(items))


def make_card(text: str, *, publisher: str | None = None, folder: Path | None = None) -> Card:
    """Read the text of a release document and state what it protects; refuse a document that does not verify."""
    release = verification.examined(text, folder)
    if not isinstance(release, VerifiedRelease):
        raise SpecError(
            f"the document does not verify, so nothing can be stated about it: {' '.join(release[:3])}",
            hint="blowfish verify lists all problems; ask the publisher for the document as it was released.",
        )
    main = release.main
    return _ReleaseWriter(
        called=main.name,
        policy=main.policy,
        strength=Strength(main.certificate.loss.measure, main.certificate.amount),
        releases=(release,),
        publisher=publisher,
        folder=folder,
        far=FarLosses.of(main),
        seen=attributes_seen(main),
        why_none=f"this answer has no noise, since {why_exact(main)}",
        sums=f"This statement is about one release, entry {release.number} of the publisher's ledger. Losses of "
        "further releases that tell about the same secrets add up: the publisher's statement about all releases "
        "together has the sums, and what they mean.",
        check="blowfish verify derives guarantee and error anew from the document.",
        # Why there is no loss is said above, where known facts may be the reason.
        promise=release.plan.certificate.promise,
    ).card()
