"""``blowfish ledger``: what was spent, in a file or at an address of PostgreSQL."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

import click

from blowfish_privacy.cli.policy import record
from blowfish_privacy.cli.terminal import (
    as_json,
    echo,
    keep_others,
    load_in_part,
    open_by_name,
    print_json,
    print_problems,
    print_table,
)
from blowfish_privacy.errors import LedgerError, SpecError
from blowfish_privacy.ledger import Ledger, SqliteLedger, create_ledger
from blowfish_privacy.ledger.postgres import PostgresLedger
from blowfish_privacy.privacy.measure import EPSILON, Budget
from blowfish_privacy.release.spec import PolicyFile, ledger_location
from blowfish_privacy.results.pictures.errors import draw_balances
from blowfish_privacy.results.pictures.figure import LEDGER, drawn_from, ending_of, picture
from blowfish_privacy.statements.ledger import (
    counted,
    failures,
    ledger_view,
    loss_view,
    loss_words,
    lost_on,
    lost_on_pair,
    lost_on_whole_record,
    requested_words,
    verification_view,
)
from blowfish_privacy.statements.plan import terms_words
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.files import write_atomically
from blowfish_privacy.support.postgresql import is_address

_PAIR = click.option("--pair", nargs=2, metavar="A B", help="""Two values as JSON: '{"age": 30}' '{"age": 31}'.""")


@click.group()
def ledger() -> None:
    """Make, show and verify a ledger of what was spent."""


def mention_missing_ledger(file: str, loaded: PolicyFile) -> None:
    """Say what comes before the first release."""
    path = ledger_location(loaded, Path(file).parent)
    if isinstance(path, Path) and not path.exists():
        echo(f"There is no ledger yet: before the first release, blowfish ledger create {file} makes {path.name}.")


@ledger.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--budget", help="1.0, '{rho: 0.05}' or '{epsilon: 1, delta: 1e-9}'; FILE is then the ledger itself.")
def create(file: str, budget: str | None) -> None:
    """Make the ledger that the policy file FILE names, with its budget. A ledger that is there stays as it is."""
    if budget is None:
        loaded = load_in_part(file)
        location = ledger_location(loaded, Path(file).parent)
        if location is None or loaded.budget is None:
            raise SpecError("the file names no ledger, or no budget.", hint="add ledger: table.ledger and budget: 1.0.")
        created = create_ledger(location, budget=loaded.budget)
    else:
        stated = yaml_text.parse(budget) if budget.lstrip().startswith("{") else budget
        created = create_ledger(file, budget=Budget.read(stated, error=LedgerError))
    echo(f"Made the ledger {created.name} with a budget of {created.terms.kept}. Nothing is spent yet.")


@ledger.command()
@click.argument("file", type=click.Path(dir_okay=False))
def moved(file: str) -> None:
    """Record that the ledger FILE was moved here. First make sure that no other copy or name of it is in use."""
    if is_address(file):
        raise LedgerError("only a file has a place that is recorded.", hint="a ledger in PostgreSQL needs nothing.")
    opened = SqliteLedger.moved(file)
    brief = opened.measure.brief
    echo(
        f"{opened.name} is in its place: budget {opened.terms.kept}, spent {brief(opened.spent)}. Use no other copy "
        "of it: two would spend the budget twice."
    )


@ledger.command("show")
@click.argument("file", type=click.Path(dir_okay=False))
@_PAIR
@click.option("--picture", metavar="FILE", help="Where to draw the balances: .png, .svg or .pdf.")
@as_json
def show_entries(file: str, pair: tuple[str, str] | None, picture: str | None, as_json: bool) -> None:  # noqa: FBT001
    """List what was spent, under which policy, on which secret pairs; with --pair, what was lost on two values."""
    opened = open_by_name(file)
    if pair is not None:
        first, second = map(record, pair)
        if as_json:
            print_json(loss_view(opened, first, second))
        else:
            echo(f"Lost so far on this pair: {loss_words(lost_on_pair(opened, first, second))}.")
        return
    if picture is not None:
        _draw(opened, picture)
    if as_json:
        print_json(ledger_view(opened))
        return
    unit, mixed = opened.measure.unit, opened.measure is not EPSILON
    header = ["entry", "time (UTC)", "release", "mechanism", "policy", "asked" if mixed else unit, "charged", "on"]
    print_table(
        header,
        [
            [
                *(e.number, e.made[:19], e.label, e.mechanism, e.policy.hash[:12]),
                *(
                    requested_words(e) if mixed else e.loss.measure.number(e.epsilon),
                    e.loss.measure.number(e.charged),
                    lost_on(e.loss),
                ),
            ]
            for e in opened.entries()
        ],
    )
    for number, time in failures(opened).items():
        echo(f"Entry {number}: the data contradicted the facts that its policy states ({time[:19]}).")
    measure, balances = opened.measure, opened.balances
    if len(balances) > 1:
        lost = [[name, measure.number(amount), _bar(amount / opened.budget)] for name, amount in balances.items()]
        print_table(["secret pairs", "lost", "of the budget"], lost)
    spent, left = measure.brief(opened.spent), measure.left(opened.remaining)
    echo(f"Budget {opened.terms.kept}, spent {spent}, left {left}.")
    for sentence in terms_words(opened.terms):
        echo(sentence)
    if mixed and (record_loss := lost_on_whole_record(opened)) is not None:
        lost = loss_words(*record_loss.lost)
        echo(f"A whole record, which others are up to {record_loss.steps} steps from, has lost {lost}.")


def _bar(share: Fraction) -> str:
    return ("#" * int(min(share, Fraction(1)) * _BAR)).ljust(_BAR, ".")


_BAR = 40


def _draw(opened: Ledger, path: str) -> None:
    balances, ending = opened.balances, ending_of(path)
    if not balances:
        raise LedgerError("nothing was charged yet, so there are no balances to draw.")
    is_own = partial(drawn_from, opened.name, origin=LEDGER)
    keep_others(path, "picture of this ledger", is_own, option="--picture")
    drawn = draw_balances(balances, opened.budget, opened.terms.kept)
    write_atomically(path, picture(drawn, ending, document=opened.name, origin=LEDGER))


@ledger.command()
@click.argument("file", type=click.Path(dir_okay=False))
@as_json
def verify(file: str, as_json: bool) -> int:  # noqa: FBT001
    """Recompute the balance and all hashes from the rows."""
    report = open_by_name(file).verify()
    if as_json:
        print_json(verification_view(report))
    elif report.ok:
        echo(f"The ledger is sound: {counted(report)} add up.")
    else:
        print_problems(report.problems)
    return 0 if report.ok else 5


@ledger.command()
@click.argument("address")
@click.argument("role")
def admit(address: str, role: str) -> None:
    """Let a ROLE of the database spend from the ledger at ADDRESS: it can add rows, and change none."""
    opened = open_by_name(address)
    if not isinstance(opened, PostgresLedger):
        raise LedgerError("only a ledger in PostgreSQL has roles.", hint="a file's permissions say who may use it.")
    opened.admit(role)
    echo(f"{role} can now spend from the ledger {opened.name}.")
