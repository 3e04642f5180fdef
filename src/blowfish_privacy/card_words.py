"""The words of a card: values and names that somebody chose, made safe to read, and numbers in sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, exp, log

from blowfish_privacy.document import Release
from blowfish_privacy.domain import Attribute, Binned, Categorical, Domain

MOST_LISTED = 6
_LONGEST = 1200


def what(release: Release) -> str:
    """Say what was asked."""
    names = release.query.attributes
    one, every = names[0], " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    words = {
        "histogram": f"How many records have each {every}",
        "cumulative": f"How many records are at or below each {one}: its ranges, quantiles and shares",
        "quantiles": f"Quantiles of {one}",
        "ranges": f"How many records fall into ranges of {one}",
        "range_grid": f"How many records fall into rectangles of {every}",
        "sum": f"The sum of {one}",
        "mean": f"The mean of {one}",
        "linear": f"Weighted counts over {every}",
        "kmeans": f"Cluster centres of {every}, from a noisy synopsis of where the records lie",
    }
    return words.get(release.query.keyword, f"The {release.query.keyword} of {every}")


def unit(release: Release) -> str:
    """Say whose protection it is, and which tables are compared."""
    rows = release.policy.rows_per_person
    who = "One person, who has one record" if rows == 1 else f"One person, with up to {rows:,} records together"
    if release.policy.size == "unknown":
        return f"{who}. Whether somebody is in the table at all is protected too."
    return f"{who}. Tables are compared that differ in a person's values; how many records there are is public."


def domain(domain: Domain) -> str:
    """List the attributes and their declared values."""
    shown = [f"{name}: {values(domain[name])}" for name in domain.names[:MOST_LISTED]]
    more = len(domain.names) - MOST_LISTED
    return "; ".join(shown) + (f"; and {more:,} more attributes" if more > 0 else "")


def values(attribute: Attribute) -> str:
    """Name the declared values of an attribute, the first few of many."""
    first, last = attribute.show(0), attribute.show(attribute.size - 1)
    if isinstance(attribute, Categorical):
        shown = [name(attribute.show(place)) for place in range(min(attribute.size, MOST_LISTED))]
        more = attribute.size - len(shown)
        return ", ".join(shown) + (f" and {more:,} more" if more else "")
    said = f"{attribute.size:,} bins, {first} to {last}" if isinstance(attribute, Binned) else f"{first} to {last}"
    return f"{said} (values beyond count as the nearest)" if attribute.outside == "clamp" else said


def few(sentences: Sequence[str]) -> Iterator[str]:
    """Keep the first sentences of many, and say how many more the document has."""
    yield from sentences[:MOST_LISTED]
    if len(sentences) > MOST_LISTED:
        yield f"And {len(sentences) - MOST_LISTED:,} more, in the document."


def factor(hops: float, epsilon: Fraction) -> str:
    """Write the largest change of odds over some steps, never less than it is."""
    exponent = hops * float(epsilon)
    if exponent > 20:
        return f"10^{ceil(exponent / log(10))}"
    value = exp(exponent)
    return f"{ceil(100 * value) / 100:.2f}" if value < 10 else f"{ceil(value):,}"


def certainty(epsilon: Fraction) -> str:
    """Write how sure, in hundredths, somebody undecided between two values can become, never less than it is."""
    return str(ceil(100 / (1 + exp(-float(epsilon)))))


def name(text: str) -> str:
    """Show a name that somebody chose: on one line, and not longer than a name should be."""
    return tidy(text, 80)


def tidy(text: str, longest: int = _LONGEST) -> str:
    """Keep what a document says on one line: no control characters, none that change the direction of text."""
    kept = "".join(c if c in "\u200c\u200d" or unicodedata.category(c)[0] not in "CZ" else " " for c in text)
    line = " ".join(kept.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
