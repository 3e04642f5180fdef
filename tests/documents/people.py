"""Tables of people that are nobody, the same on every machine: whole numbers only make them."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

COUNTIES = {"Bavaria": ("Munich", "Hof", "Passau"), "Hesse": ("Kassel", "Fulda"), "Saxony": ("Dresden",)}
ROWS = 900


def write_tables(folder: Path) -> None:
    """Write the table, the same with gaps and values beyond the bounds, and the places with their states."""
    rows = [_person(number) for number in range(ROWS)]
    _write(folder / "people.csv", rows)
    _write(folder / "gaps.csv", [{**row, **_gaps(number)} for number, row in enumerate(rows)])
    _write(folder / "places.csv", [{"state": state, "county": each} for state in COUNTIES for each in COUNTIES[state]])


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _person(number: int) -> dict[str, object]:
    first, second, third, fourth = (number * step % 1009 for step in (617, 331, 89, 743))
    age = 17 + first * second // 1009 * 74 // 1009
    wage = max(0, (first + third) * (110 - abs(age - 50)) // 2018)
    day = date(2020, 1, 1) + timedelta(days=(third * 7 + number) % 182)
    counties = [county for each in COUNTIES.values() for county in each]
    return {
        "age": age,
        "sex": "Female" if third % 2 else "Male",
        "region": ("North", "East", "South", "West")[min(first, second) * 4 // 1009],
        "wage": wage,
        "pay": f"{wage // 4}.{(0, 25, 5, 75)[third % 4]}",
        "day": day.isoformat(),
        "place": counties[min(second, fourth) * 6 // 1009],
        "lat": min(11, (first + second) * 12 // 2018),
        "lon": -5 + (first + fourth) * 13 // 2018,
        "w": f"{1 + third % 4}.{fourth % 10}",
        "consent": ("strict", "near", "open")[fourth % 3],
        "trusted": ("false", "true")[first % 2],
        "grade": 1 + second % 3,
    }


def _gaps(number: int) -> dict[str, object]:
    """Spoil some rows: a missing value, and one beyond the bounds."""
    return {0: {"wage": ""}, 1: {"wage": 5000}, 2: {"age": 3}}.get(number % 30, {})
