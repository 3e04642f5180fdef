"""What a check of the data found, as plain values for JSON and in words. For the custodian: the counts are exact."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from blowfish_privacy.engines import DataCheck
from blowfish_privacy.release.data_check import PolicyCheck

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
    said = [
        *([f"{_values(clamped)} outside will be clamped"] if clamped else []),
        *([f"{_values(missing)} missing will count as declared"] if missing else []),
    ]
    return "; ".join(["All fit", *said]) + "."


def _values(number: int) -> str:
    return f"{number:,} value{'s' if number != 1 else ''}"


def _yes(answer: bool) -> str:  # noqa: FBT001
    return "yes" if answer else "NO"


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
