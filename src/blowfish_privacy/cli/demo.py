"""``blowfish demo``: the whole tour on a synthetic census table; ``blowfish demo attack``: the averaging attack."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from blowfish_privacy.cli.attack import attack
from blowfish_privacy.cli.demonstration import new_folder, say, title
from blowfish_privacy.cli.output import load_file
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.release.spec import PolicyFile
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


@click.group(invoke_without_command=True)
@click.option("--out", type=click.Path(file_okay=False), help="The folder to leave behind (demo-output).")
@click.pass_context
def demo(context: click.Context, out: str | None) -> None:
    """Make a synthetic census table, explain its policy, plan, release, draw, and show the ledger."""
    if context.invoked_subcommand is None:
        tour(out or "demo-output")
    elif out is not None:
        # "demo --out FOLDER attack" means the same as "demo attack --out FOLDER".
        context.default_map = {context.invoked_subcommand: {"out": out}}


demo.add_command(attack)


def tour(out: str) -> None:
    """Lead through the census table, from the policy to the ledger."""
    from blowfish_privacy.cli.main import run

    folder = new_folder(out)
    write_atomically(folder / "census.csv", "\n".join(synthetic_census(ROWS)).encode() + b"\n")
    write_atomically(folder / "census.yaml", POLICY.encode())
    file = str(folder / "census.yaml")
    loaded = load_file(file)

    title("1. A table and a policy")
    say(f"{folder}/census.csv has {ROWS:,} synthetic people; {folder}/census.yaml says what is secret about them:")
    echo(textwrap.indent(loaded.policy.explain(), "  "))
    title("2. What does that mean for two values?")
    for pair in (({"age": 30}, {"age": 34}), ({"age": 30}, {"age": 60}), ({"region": "North"}, {"region": "West"})):
        say(explain_pair(loaded.policy, *pair))
    title("3. What will it cost, and how wrong will it be? (nothing is spent yet)")
    run(["plan", file])
    title("4. The releases, from a ledger that holds the budget")
    run(["ledger", "create", file])
    run(["release", file, "--yes", "--out", str(folder)])
    _draw_comparison(loaded, folder)
    title("5. How close is it? (the table is synthetic, so here we may look)")
    _compare_with_truth(folder)
    title("6. What was spent")
    run(["ledger", "show", str(folder / "census.ledger")])
    run(["ledger", "verify", str(folder / "census.ledger")])
    run(["verify", str(folder / "ages.release.json")])
    title("Look around")
    say(f"{folder}/accuracy.png: what the policy gains over plain differential privacy")
    say(f"{folder}/ages.png, {folder}/wages.png, {folder}/tables.png: the releases, with their error")
    say(f"{folder}/ages.release.json: a release with its certificate")
    say(f"edit {folder}/census.yaml, then run: blowfish plan {folder}/census.yaml")
    say("what public sums do to noise that ignores them: blowfish demo attack")


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


def _draw_comparison(loaded: PolicyFile, folder: Path) -> None:
    from blowfish_privacy.batch import plan_releases
    from blowfish_privacy.engines import open_engine
    from blowfish_privacy.release.public_sizes import PublicNumbers
    from blowfish_privacy.results.pictures.errors import compare_plans
    from blowfish_privacy.results.pictures.figure import png

    ask = PublicNumbers(loaded.policy, lambda: open_engine(folder / "census.csv"))
    compared = compare_plans([plan for plan in plan_releases(loaded, ask) if plan.amount])
    write_atomically(folder / "accuracy.png", png(compared))


def _compare_with_truth(folder: Path) -> None:
    from blowfish_privacy.results import load

    records = [line.split(",") for line in (folder / "census.csv").read_text().splitlines()[1:]]
    names = ("ages", "wages", "mean wage", "tables")
    ages, wages, mean, tables = (load(folder / f"{name}.release.json") for name in names)
    for age in (20, 60):
        true = sum(record[:2] == [str(age), "Female"] for record in records)
        say(f"women aged {age}: released {ages.counts[age - 17, 0]:.1f}, true {true}")
    true = sum(int(record[3]) <= 50 for record in records)
    say(f"people who earn at most 50 thousand: released {wages.values[50]:,.0f}, true {true:,}")
    true_mean = sum(int(record[3]) for record in records) / len(records)
    say(f"mean wage: released {mean.value:.2f}, true {true_mean:.2f}")
    women = {f"{table.subtotal(sex='Female')[0]:,.1f}" for table in tables if "sex" in table.names}
    true = sum(record[1] == "Female" for record in records)
    say(f"women, by each of the five tables that show the sex: {', '.join(women)}, true {true:,}")
    whole = tables.whole()["sex", "school"].values[0, SCHOOLS.index("Doctorate")]
    true = sum((record[1], record[4]) == ("Female", "Doctorate") for record in records)
    say(f"women with a doctorate, in tables of whole numbers: {whole:,}, true {true:,}")
