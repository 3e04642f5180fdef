"""How far synthetic records are from the data, as plain values for JSON and as a table. For the custodian only."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from blowfish_privacy.results.synthetic import NOT_FOR_PUBLICATION, Comparison

HEADER = ("tables of", "mean distance", "worst distance", "compared", "of")


def comparison_view(comparison: Comparison) -> dict[str, Any]:
    """Show the distances by the number of attributes, and of every table."""
    return {
        "not_for_publication": NOT_FOR_PUBLICATION,
        "ways": {str(ways): asdict(each) for ways, each in comparison.ways.items()},
        "tables": [{"attributes": list(names), "distance": comparison.tables[names]} for names in comparison.worst],
    }


def comparison_cells(comparison: Comparison) -> list[list[str]]:
    """Write the rows of a table under :data:`HEADER`."""
    return [
        [
            f"{ways} attribute{'s' * (ways > 1)}",
            f"{each.mean:.3f}",
            f"{each.worst:.3f}",
            f"{each.tables:,}",
            f"{each.of:,}",
        ]
        for ways, each in comparison.ways.items()
    ]
