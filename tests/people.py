"""A small table of people, and the beginning of a policy file about it."""

from __future__ import annotations

from pathlib import Path

POLICY = """version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [0, 9]}
    sex: {categorical: [Female, Male]}
  secrets: {per_attribute: {age: {threshold: 2}, sex: full}}
releases:
"""


def people_file(*releases: str) -> str:
    """Return a policy file with some releases, each as one line of YAML."""
    return POLICY + "".join(f"  - {{{release}}}\n" for release in releases)


FILE = people_file("name: ages, histogram: age, epsilon: 0.5", "name: mean age, mean: age, epsilon: 0.25")


def write_people(folder: Path) -> Path:
    """Write the table of 60 people into a folder."""
    path = folder / "people.csv"
    rows = (f"{i % 10},{'Female' if i % 3 else 'Male'}\n" for i in range(60))
    path.write_text("age,sex\n" + "".join(rows))
    return path
