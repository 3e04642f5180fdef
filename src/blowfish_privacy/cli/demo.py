"""``blowfish demo``: the whole tour on a synthetic census table; its table alone; and the averaging attack."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blowfish_privacy.cli.attack import attack
from blowfish_privacy.cli.census import ROWS, SCHOOLS, make_census, synthetic_census
from blowfish_privacy.cli.demonstration import new_folder, say, title
from blowfish_privacy.cli.output import load_file
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import SpecError
from blowfish_privacy.policies.explain import explain_pair
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.support.files import write_atomically

if TYPE_CHECKING:
    from blowfish_privacy.release.plan import Plan


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
    from blowfish_privacy.cli.main import run

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
    plans = _plans(loaded, folder)
    _draw_comparison(plans, folder)
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
    _sum_up(plans, loaded)


def _plans(loaded: PolicyFile, folder: Path) -> Sequence[Plan]:
    from blowfish_privacy.batch import plan_releases
    from blowfish_privacy.engines import open_engine
    from blowfish_privacy.release.plan import PublicNumbers

    return plan_releases(loaded, PublicNumbers(loaded.policy, lambda: open_engine(folder / "census.csv")))


def _draw_comparison(plans: Sequence[Plan], folder: Path) -> None:
    from blowfish_privacy.results.pictures.errors import compare_plans
    from blowfish_privacy.results.pictures.figure import png
    from blowfish_privacy.statements.policy import given_up

    noisy = [plan for plan in plans if plan.amount]
    write_atomically(folder / "accuracy.png", png(compare_plans(noisy, given_up(noisy[0].policy))))


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


def _sum_up(plans: Sequence[Plan], loaded: PolicyFile) -> None:
    from blowfish_privacy.statements.policy import gained, given_up

    say(gained(plans))
    say(given_up(loaded.policy))
