"""What a card says of numbers that are exact, of what is assumed to be known, and of how wrong the others are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blowfish_privacy.domain import quoted
from blowfish_privacy.mechanisms import MeanOffsets, WeightedOffsets
from blowfish_privacy.policies import Policy
from blowfish_privacy.release.document import words
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results import Result
from blowfish_privacy.results.files import AnyResult
from blowfish_privacy.support.exact import about

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
