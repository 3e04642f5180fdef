"""``blowfish plan`` and ``blowfish release``: see what a file will cost and give, then do it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.batch import Batch, open_session, plan_each, refuse_unplanned
from blowfish_privacy.cli.ledger import mention_missing_ledger
from blowfish_privacy.cli.terminal import (
    as_json,
    echo,
    file_argument,
    load_in_part,
    print_json,
    print_table,
    say_error,
    warn,
    warnings_in_words,
)
from blowfish_privacy.engines import Engine, located, open_engine
from blowfish_privacy.errors import DataError, LedgerError, SpecError
from blowfish_privacy.ledger import Ledger, OverBudgetError
from blowfish_privacy.ledger.composition import Quote
from blowfish_privacy.release.plan import CautiousNumbers, Plan, PublicNumbers
from blowfish_privacy.release.spec import PolicyFile, Unplanned, ledger_location
from blowfish_privacy.results.files import EXTRA, ReleaseFiles
from blowfish_privacy.statements.plan import (
    HEADER,
    budget_rows,
    budget_words,
    headings,
    plan_cells,
    plans_view,
    release_view,
    releases_view,
    unplanned_cells,
    unprotected_by,
)


@click.command()
@file_argument
@click.option("--explain", is_flag=True, help="Say for each release why.")
@as_json
def plan(file: str, explain: bool, as_json: bool) -> int:  # noqa: FBT001
    """Show what the releases of FILE will cost and how wrong they will be. Reads no values, spends nothing.

    Where the number of rows is needed, public and not stated in FILE, it is read from the data, and nothing else is.
    A release that cannot be planned says why and does not stop the others; its exit code is that of the command.
    """
    loaded = load_in_part(file)
    outcomes, quote, ledger = _planned(file, loaded)
    plans = [each for each in outcomes if isinstance(each, Plan)]
    unplanned = [each for each in outcomes if isinstance(each, Unplanned)]
    if quote is not None:
        try:
            quote.check("the releases cost")
        except OverBudgetError as error:
            warn(f"{error.shortage} blowfish release will refuse: {error.hint}")
    if as_json:
        print_json(plans_view(outcomes, loaded.budget, quote))
        return _say_unplanned(unplanned)
    if not outcomes:
        echo("The file lists no releases.")
        return 0
    _print_plans(outcomes, quote, ledger)
    mention_missing_ledger(file, loaded)
    if explain:
        for made in plans:
            echo(f"\n{made.explain()}")
    _warn_of_notices(plans)
    return _say_unplanned(unplanned)


@click.command()
@file_argument
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@click.option("--out", type=click.Path(file_okay=False), default=".", help="The folder for JSON, CSV and PNG files.")
@click.option("--parquet", is_flag=True, help="Write the tables as Parquet too.")
@click.option("--svg", is_flag=True, help="Draw the pictures as SVG too.")
@click.option("--pdf", is_flag=True, help="Draw the pictures as PDF too.")
@click.option("--new", is_flag=True, help="Spend again on releases that the ledger already holds, with fresh noise.")
@click.option("--only", metavar="NAME", multiple=True, help="Run this release alone; may be given several times.")
@as_json
def release(file: str, *, yes: bool, out: str, new: bool, only: tuple[str, ...], as_json: bool, **extra: bool) -> None:
    """Run the releases of FILE: asks, charges the ledger, reads the data, writes JSON, CSV and PNG.

    A release that the ledger already holds is written again as it was and costs nothing. Before the charge no value is
    read; the number of rows may be read, where it is public, and not for releases that exceed the budget.

    Where one release cannot be planned, none is run, unless those to be run are named with --only.
    """
    loaded = _chosen(file, only)
    with warnings_in_words():
        session = open_session(loaded, Path(file).parent)
    batch = Batch.of(loaded, session, fresh=new, ask=PublicNumbers(loaded.policy, lambda: session.engine, _remark))
    folder, wanted = Path(out), [ending for ending in EXTRA if extra[ending]]
    reserved, held = [each.name for each in loaded.releases], session.ledger.document
    outputs = {
        planned.name: ReleaseFiles.checked(folder, planned.name, held(planned.key), reserved=reserved, extra=wanted)
        for planned in batch.plans
    }
    if as_json and batch.due and not yes:
        raise SpecError("--json does not ask.", hint="add --yes to spend.")
    _confirm(batch, yes=yes)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"the folder {folder} cannot be made: {error.strerror}.") from None
    written: list[dict[str, Any]] = []
    for planned in batch.plans:
        result, files = batch.release(planned), outputs[planned.name]
        try:
            files.write(result)
        except MemoryError:
            raise DataError(
                f"there is too little memory to write {result.name!r}, which is recorded.",
                hint="free some memory and run the command again: it is written at no cost.",
            ) from None
        paths = [str(path) for path in files.holding(result)]
        written.append(release_view(result, batch.earlier.get(planned.key), paths, kept=files.kept and str(files.kept)))
    if as_json:
        print_json(releases_view(written, spent=batch.cost, remaining=session.remaining))
        return
    for item in written:
        echo(f"{item['name']}: {item['guarantee']}")
        if item["recorded"]:
            echo(f"  paid for before ({item['recorded']}); nothing was spent")
        if item["kept"]:
            echo(f"  {item['kept']} holds another release, and is kept")
        echo(f"  {', '.join(item['files'])}")
    measure = session.ledger.measure
    echo(f"Spent {measure.brief(batch.cost)}; {measure.left(session.remaining)} is left.")
    page = shlex.quote(str(folder / "index.html"))
    echo(f"Summary page for all releases: blowfish card {shlex.quote(file)} -o {page}")


def _chosen(file: str, only: Collection[str]) -> PolicyFile:
    """Load a file with the releases that are to be run: all, which must then be readable, or those that are named."""
    loaded = load_in_part(file)
    if only:
        return loaded.only(only)
    refuse_unplanned([*loaded.wrong.values(), *loaded.releases])
    return loaded


def _planned(file: str, loaded: PolicyFile) -> tuple[Sequence[Plan | Unplanned], Quote | None, Ledger | None]:
    """Plan a file, and ask its ledger what that costs; without one, a new ledger's budget."""

    def engine() -> Engine:
        if loaded.data is None:
            raise DataError("the file names no data.")
        return open_engine(located(loaded.data, Path(file).parent))

    ask = CautiousNumbers(loaded.policy, engine, _remark)
    location = ledger_location(loaded, Path(file).parent)
    if loaded.data is not None and location is not None and (not isinstance(location, Path) or location.exists()):
        try:
            with warnings_in_words():
                session = open_session(loaded, Path(file).parent)
        except LedgerError as error:
            _remark(f"Planned without the ledger: {error.message}")
        else:
            batch = Batch.of(loaded, session, ask=ask, check=False)
            if held := [plan.name for plan in batch.plans if plan.key in batch.earlier]:
                _remark(f"The ledger holds {', '.join(held)} already: released again as before, for nothing.")
            return batch.outcomes, batch.quote, session.ledger
    outcomes = plan_each(loaded, ask)
    losses = [each.certificate.loss for each in outcomes if isinstance(each, Plan)]
    return outcomes, None if loaded.budget is None else Quote.fresh(losses, loaded.budget, loaded.policy), None


_remark = partial(echo, err=True)


def _warn_of_notices(plans: Sequence[Plan]) -> None:
    for each in plans:
        for notice in each.notices:
            warn(f"{each.name}: {notice}")


def _confirm(batch: Batch, *, yes: bool) -> None:
    _warn_of_notices(batch.due)
    if not batch.due or yes:
        return
    ledger = batch.session.ledger
    _print_plans(batch.due, batch.quote, ledger)
    measure = ledger.measure
    after = measure.left(batch.session.remaining - batch.cost)
    try:
        click.confirm(f"Spend {measure.brief(batch.cost)} (leaving {after}) and read the data?", abort=True, err=True)
    except click.Abort as stopped:
        if not isinstance(stopped.__context__, EOFError):
            raise
    else:
        return
    echo(err=True)
    raise SpecError("nobody answered, so nothing was spent.", hint="add --yes to spend without being asked.")


def _say_unplanned(unplanned: Sequence[Unplanned]) -> int:
    """Say what cannot be planned and what to do, and return the exit code of the first."""
    for each in unplanned:
        say_error(each.error.message, each.error.hint)
    return unplanned[0].error.exit_code if unplanned else 0


def _print_plans(outcomes: Sequence[Plan | Unplanned], quote: Quote | None, ledger: Ledger | None) -> None:
    plans = [each for each in outcomes if isinstance(each, Plan)]
    rows = [plan_cells(each) if isinstance(each, Plan) else unplanned_cells(each) for each in outcomes]
    print_table(headings(plans), rows)
    if not plans:
        return
    echo("The last column compares with plain differential privacy.")
    if quote is not None:
        echo()
        print_table(HEADER, budget_rows(quote, plans[0].policy))
        for sentence in budget_words(quote):
            echo(sentence)
    for sentence in unprotected_by(plans, quote, ledger):
        echo(sentence)
