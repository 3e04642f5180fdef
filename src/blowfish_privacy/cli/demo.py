"""``blowfish demo``: the whole tour on a synthetic census table; its table alone; and the averaging attack."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blowfish_privacy.cli.main import run
from blowfish_privacy.cli.terminal import as_json, echo, load_file, print_json, print_table
from blowfish_privacy.errors import SpecError
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.support.exact import positive, rounded, rounded_up, show
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.progress import task

if TYPE_CHECKING:
    from blowfish_lab.audit.averaging import AttackComparison, Attacked
    from blowfish_privacy.mechanisms import Error
    from blowfish_privacy.noise import BitSource


# A table that looks like people and is nobody, and a policy for it: for the demonstrations.

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


# What the demonstrations share: a folder of their own, titles, and lines of text.


def new_folder(out: str) -> Path:
    """Make a folder that was not there before: ``out``, or ``out-2``, ``out-3``, ..."""
    for number in range(1, 1000):
        folder = Path(out if number == 1 else f"{out}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise SpecError(f"the folder {folder} cannot be made: {error.strerror}.", hint="use --out.") from None
        return folder
    raise SpecError(f"{out} and its numbered successors all exist.", hint="use --out.")


def title(text: str) -> None:
    """Begin a part of the demonstration."""
    echo(f"\n{text}", bold=True, fg="cyan")


def say(text: str) -> None:
    """Print a paragraph, indented and folded."""
    echo(textwrap.fill(text, 110, initial_indent="  ", subsequent_indent="  ", replace_whitespace=False))


# ``blowfish demo attack``: noise that ignores what is public is averaged away.

LENGTHS = (2, 4, 8, 16, 32, 64, 128)
_SHOWN = 8


@click.command()
@click.option("--out", type=click.Path(file_okay=False), default="demo-output-attack", help="The folder to leave.")
@click.option("--epsilon", default="1", show_default=True, help="The privacy loss that each release promises.")
@click.option("--runs", type=click.IntRange(1, 20_000), default=1000, show_default=True, help="Releases to attack.")
@click.option("--seed", type=click.IntRange(0), help="Repeatable noise, to check numbers; without it, real noise.")
@as_json
def attack(out: str, epsilon: str, runs: int, seed: int | None, as_json: bool) -> None:  # noqa: FBT001
    """Average away noise that ignores public sums.

    On synthetic data, where sums of adjacent cells are public: plain differentially private counts are averaged into
    near-exact ones; those of a policy that names the sums are not.
    """
    # Help needs none of these.
    from blowfish_lab.audit.averaging import compare, draw_averaging_attack, first_cell_mechanism
    from blowfish_privacy.noise import SystemSource
    from blowfish_privacy.results.pictures.figure import png
    from blowfish_privacy.testing.seeded import SeededSource

    amount = positive(epsilon, "epsilon", error=SpecError)
    source = SystemSource() if seed is None else SeededSource(seed)
    with task(f"Attacking {2 * runs * len(LENGTHS):,} releases"):
        example = _example(LENGTHS[-1], amount, source)
        comparisons = [compare(cells, amount, runs=runs, source=source) for cells in LENGTHS]
        picture = new_folder(out) / "attack.png"
        write_atomically(picture, png(draw_averaging_attack(comparisons)))
    remedy = first_cell_mechanism(LENGTHS[-1], amount).expected_error()
    if as_json:
        about = {"epsilon": show(amount), "runs": runs, "randomness": source.kind, "picture": str(picture)}
        print_json({**about, **_document(comparisons, example, remedy)})
        return
    _narrate(rounded_up(amount), runs, comparisons, example, remedy)
    echo(f"\n{picture}: the attacker's error against the number of cells")


def _example(cells: int, epsilon: Fraction, source: BitSource) -> list[dict[str, Any]]:
    """Release one chain once in each way, attack both releases, and return the first cells."""
    from blowfish_lab.audit import averaging  # as in the attack

    counts = averaging.synthetic_counts(cells)
    sums = averaging.adjacent_sums(counts)
    columns: dict[str, Any] = {"cell": range(1, cells + 1), "people": counts.tolist(), "with_next": sums.tolist()}
    for name, policy in (("plain", averaging.plain_policy(cells)), ("known", averaging.chain_policy(cells))):
        noisy = averaging.mechanism_for(policy, epsilon).measure(counts, source)
        columns |= {name: noisy.tolist(), f"{name}_guess": averaging.guess(noisy, sums).round(2).tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*(v[:_SHOWN] for v in columns.values()), strict=True)]


def _document(comparisons: list[AttackComparison], example: list[dict[str, Any]], remedy: Error) -> dict[str, Any]:
    def written(one: Attacked) -> dict[str, Any]:
        return {**asdict(one), "scale": show(one.scale), "loss": show(one.loss)}

    return {
        "example": example,
        "sizes": [{"cells": r.cells, "plain": written(r.plain), "known": written(r.known)} for r in comparisons],
        "first_cell_alone": {"error_expected": remedy.rmse},
    }


def _narrate(
    epsilon: str, runs: int, comparisons: list[AttackComparison], example: list[dict[str, Any]], remedy: Error
) -> None:
    last = comparisons[-1]
    plain, known = (rounded(each.scale) for each in (last.plain, last.known))
    lost, kept = (rounded_up(each.loss) for each in (last.plain, last.known))
    title("1. What everybody knows")
    say(
        f"A synthetic table has {last.cells} cells of people, the first {_SHOWN} of them below. How many people a cell "
        "has is secret; how many it has together with the next one is public. Two releases add noise to every cell "
        f"and promise a privacy loss of {epsilon}: plain differential privacy (noise of scale {plain})"
        f", and a Blowfish policy that names the public sums (scale {known}). The attacker works out "
        f"the first cell from every noisy cell through the public sums, averages those {last.cells} estimates, and "
        "works back to each cell."
    )
    echo()
    print_table(
        ["cell", "people", "with the next (public)", "plain", "attacker's guess", "Blowfish", "attacker's guess"],
        [[f"{value:.2f}" if isinstance(value, float) else value for value in row.values()] for row in example],
    )
    title(f"2. How close the attacker comes, over {runs:,} releases of each kind")
    say("Typical (root mean squared) errors in people as measured; in brackets what theory expects.")
    echo()
    print_table(
        ["cells", "plain: one cell", "averaged", "all counts right", "real loss", "Blowfish: averaged", "all right"],
        [
            [
                row.cells,
                _pair(row.plain.one_cell, row.plain.one_cell_expected),
                _pair(row.plain.averaged, row.plain.averaged_expected),
                f"{row.plain.recovered:.0%}",
                rounded_up(row.plain.loss),
                _pair(row.known.averaged, row.known.averaged_expected),
                f"{row.known.recovered:.0%}",
            ]
            for row in comparisons
        ],
    )
    title("3. What it means")
    say(
        "Plain differential privacy hides one person who moves alone. Under the public sums nobody moves alone: if one "
        "cell changes, every cell does. So k noisy cells tell k times about the same number, averaging cuts the error "
        f"by sqrt(k), and the promised privacy loss of {epsilon} is really k/2 times as much: {lost} "
        f"with {last.cells} cells. (With 2 cells the sum is the number of people, which is public anyway.)"
    )
    say(
        f"The policy that names the sums asks for noise of scale k/epsilon, and its loss is {kept}, "
        "whatever the attacker computes. From 4 cells on, the averaged guess is no better than one plain count that "
        "nobody can average, and more cells only make it worse."
    )
    say(
        "If the sums are public, do not release every cell. Release the first one: by itself it needs little noise "
        f"(typical error {remedy.rmse:.2f}), and the sums give everybody all others with the same error, for the same "
        f"privacy loss of {epsilon}."
    )


def _pair(measured: float, expected: float) -> str:
    return f"{measured:.2f} ({expected:.2f})"


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


@demo.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--rows", type=click.IntRange(1, 10_000_000), default=ROWS, show_default=True, help="How many people.")
def table(file: str, rows: int) -> None:
    """Write a table of made-up people to a new CSV file, to try commands on."""
    if Path(file).exists():
        raise SpecError(f"{file} exists already, and is not overwritten.", hint="name a new file.")
    write_atomically(file, (f"{line}\n".encode() for line in synthetic_census(rows)))
    echo(f"{file}: {rows:,} people, all made up.")


def tour(out: str) -> None:
    """Lead through the census table, from the policy to the ledger."""
    # Help, and the command studio, which makes the same table, need none of these.
    from blowfish_privacy.batch import plan_releases
    from blowfish_privacy.engines import open_engine
    from blowfish_privacy.release.plan import PublicNumbers
    from blowfish_privacy.results.pictures.errors import compare_plans
    from blowfish_privacy.results.pictures.figure import png
    from blowfish_privacy.statements.policy import gained, given_up

    folder = new_folder(out)
    file = str(make_census(folder))
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
    plans = plan_releases(loaded, PublicNumbers(loaded.policy, lambda: open_engine(folder / "census.csv")))
    noisy = [plan for plan in plans if plan.amount]
    write_atomically(folder / "accuracy.png", png(compare_plans(noisy, given_up(noisy[0].policy))))
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
    title("In two sentences")
    say(gained(plans))
    say(given_up(loaded.policy))


def _compare_with_truth(folder: Path) -> None:
    from blowfish_privacy.results import load  # as in the tour

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
