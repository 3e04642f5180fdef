"""The words of a card: values and names that somebody chose, made safe to read, and numbers in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain, one_line, quoted, worded
from blowfish_privacy.policies import Policy
from blowfish_privacy.policies.distances import IN_NAME_ONLY
from blowfish_privacy.policies.explain import presence_only
from blowfish_privacy.privacy.certificate import is_differential_privacy
from blowfish_privacy.privacy.measure import EPSILON, RHO, Measure
from blowfish_privacy.privacy.sensitivity import Norm
from blowfish_privacy.release.reading import Release
from blowfish_privacy.support.exact import rounded_up
from blowfish_privacy.support.text import LONGEST_NAME

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
