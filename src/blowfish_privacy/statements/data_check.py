"""What a check of the data found, as plain values for JSON and in words. For the custodian: the counts are exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from blowfish_privacy.engines import DataCheck
from blowfish_privacy.engines.engine import ColumnCheck
from blowfish_privacy.release.checks import PolicyCheck
from blowfish_privacy.results.synthetic import NOT_FOR_PUBLICATION, Comparison
from blowfish_privacy.support.text import count_of

HEADER = ("column", "there", "type fits", "missing", "outside", "malformed")


def data_check_view(check: PolicyCheck) -> dict[str, Any]:
    """Show the counts of every column, and the facts that the data contradict."""
    return {**asdict(check.domain), "contradicted_facts": list(check.contradicted), "fits": check.fits}


def data_check_cells(check: DataCheck) -> list[list[str]]:
    """Write the rows of a table under :data:`HEADER`."""
    return [
        [c.name, _yes(c.present), _yes(c.type_fits), *(_count(n) for n in (c.missing, c.outside, c.malformed))]
        for c in check.columns
    ]


def fit_in_words(check: DataCheck) -> str:
    """Say whether all rows fit, and what the declaration makes of those that need it."""
    if not check.fits:
        return "Not all fit: see above."
    clamped = sum(column.outside or 0 for column in check.columns)
    missing = sum(column.missing or 0 for column in check.columns)
    counts = [
        *([f"{count_of(clamped, 'value')} outside will be clamped"] if clamped else []),
        *([f"{count_of(missing, 'value')} missing will count as declared"] if missing else []),
    ]
    return "; ".join(["All fit", *counts]) + "."


def data_check_words(check: DataCheck) -> list[str]:
    """Say which values are not declared, which categories do not occur and which columns may be meant."""
    return [sentence for column in check.columns for sentence in _column_words(column)]


def _column_words(column: ColumnCheck) -> Iterator[str]:
    if column.similar:
        nearest = "the nearest is" if len(column.similar) == 1 else "the nearest are"
        yield f"{column.name}: there is no such column; {nearest} {_listed(column.similar)}."
    if column.undeclared:
        values = ", ".join(f"{value!r} in {count_of(rows, 'row')}" for value, rows in column.undeclared)
        wrong = (column.malformed or 0) + (0 if column.smallest is not None else column.outside or 0)
        others = ", and others" if sum(rows for _, rows in column.undeclared) < wrong else ""
        yield f"{column.name}: not declared, the most frequent first: {values}{others}."
        yield from (f"{column.name}: {hint}" for hint in column.hints)
    if column.smallest is not None:
        ends = f"from {column.smallest} to {column.largest}" if column.smallest != column.largest else column.smallest
        yield f"{column.name}: outside the declared range are values {ends}."
    if column.unused:
        yield f"{column.name}: declared, but in no row: {_listed(column.unused)}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _yes(answer: bool) -> str:  # noqa: FBT001
    return "yes" if answer else "NO"


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


# How far synthetic records are from the data, as plain values for JSON and as a table. For the custodian only.

COMPARISON_HEADER = ("tables of", "mean distance", "worst distance", "compared", "of")


def comparison_view(comparison: Comparison) -> dict[str, Any]:
    """Show the distances by the number of attributes, and of every table."""
    return {
        "not_for_publication": NOT_FOR_PUBLICATION,
        "ways": {str(ways): asdict(each) for ways, each in comparison.ways.items()},
        "tables": [{"attributes": list(names), "distance": comparison.tables[names]} for names in comparison.worst],
    }


def comparison_cells(comparison: Comparison) -> list[list[str]]:
    """Write the rows of a table under :data:`COMPARISON_HEADER`."""
    return [
        [
            count_of(ways, "attribute"),
            f"{each.mean:.3f}",
            f"{each.worst:.3f}",
            f"{each.tables:,}",
            f"{each.of:,}",
        ]
        for ways, each in comparison.ways.items()
    ]
