"""Policy files, and tables for them, that the tests open."""

SMALL = """\
version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [0, 20]}      # in years
    sex: {categorical: [Female, Male]}
  secrets:
    per_attribute: {age: {threshold: 5}, sex: full}
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.25}
  - {name: how old, cumulative: age, epsilon: 0.25}
"""


def people(rows: int = 500) -> str:
    """Make a table for :data:`SMALL`, as CSV."""
    lines = [f"{row * 7 % 21},{('Female', 'Male')[row % 2]}" for row in range(rows)]
    return "\n".join(["age,sex", *lines]) + "\n"
