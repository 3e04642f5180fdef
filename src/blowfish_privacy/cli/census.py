"""A table that looks like people and is nobody, and a policy for it: for the demonstrations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blowfish_privacy.support.files import write_atomically

ROWS = 20_000
REGIONS = ("North", "East", "South", "West")
SCHOOLS = ("Primary", "Lower", "Upper", "Trade", "College", "Doctorate")
WORK = ("Farm", "Factory", "Building", "Trade", "Office", "Care", "Teaching", "None")
FAMILY = ("Single", "Married", "Divorced", "Widowed")

POLICY = """\
# A SYNTHETIC census table, made by `blowfish demo`. Change anything here and run the commands again.
version: 1
data: census.csv
ledger: census.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
    region: {categorical: [North, East, South, West]}
    wage: {integer: [0, 200], outside: clamp}      # thousands a year
    school: {categorical: [Primary, Lower, Upper, Trade, College, Doctorate]}
    work: {categorical: [Farm, Factory, Building, Trade, Office, Care, Teaching, None]}
    family: {categorical: [Single, Married, Divorced, Widowed]}
  secrets:
    per_attribute:
      age: {threshold: 5}          # a person's age is hidden within five years
      sex: full                    # never tell
      region: public               # everybody may know where a person lives
      wage: {threshold: 20}        # hidden within twenty thousand
      school: full
      work: full
      family: full
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.3}
  - {name: wages, cumulative: wage, epsilon: 0.3}      # how many earn at most so much
  - {name: mean wage, mean: wage, error: 0.05}         # solves for the epsilon that gives this error
  - {name: tables, tables: {ways: 2, of: [age, sex, region, school, work, family]}, epsilon: 0.5}   # they all agree
  - {name: regions, histogram: region, epsilon: 0.1}
"""


def make_census(folder: Path) -> Path:
    """Write the table and its policy into a folder; return the path of the policy file."""
    write_atomically(folder / "census.csv", "\n".join(synthetic_census(ROWS)).encode() + b"\n")
    write_atomically(folder / "census.yaml", POLICY.encode())
    return folder / "census.yaml"


def synthetic_census(rows: int) -> Iterator[str]:
    """Make a table that looks like people and is nobody: points of a regular sequence, bent into shape."""
    yield "age,sex,region,wage,school,work,family"
    for row in range(rows):
        # Fractional parts of multiples of irrational numbers fill the square evenly, the same on every machine.
        a, b, c, d, e, f = (row * step % 1.0 for step in _STEPS)
        age = 17 + int(73.999 * a**1.2)
        sex = "Female" if b < 0.505 else "Male"
        region = REGIONS[int(4 * c**1.2)]
        working = max(0.0, 1 - ((age - 48) / 40) ** 2)
        wage = int(12 + 60 * working * (0.4 + d) + 90 * working * d**8)
        school = SCHOOLS[int(6 * (0.4 * d + 0.6 * e))]
        work = WORK[-1] if age > 67 else WORK[int(8 * (0.3 * d + 0.7 * f) ** 1.1)]
        family = FAMILY[min(3, int((age - 17) / 30 + 2 * e * f + 0.6 * b))]
        yield f"{age},{sex},{region},{wage},{school},{work},{family}"


_STEPS = (0.6180339887, 0.7548776662, 0.5698402910, 0.8191725134, 0.6710436067, 0.8566748839)
