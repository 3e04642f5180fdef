"""``blowfish plan`` and ``blowfish release``: see what a file will cost and give, then do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from blowfish_privacy.batch import Batch, needs_rows, open_session, plan_releases, total_epsilon
from blowfish_privacy.cli.ledger import mention_missing_ledger
from blowfish_privacy.cli.output import as_json, file_argument, load_file, print_json, print_table, warnings_in_words
from blowfish_privacy.cli.release_files import ReleaseFiles
from blowfish_privacy.cli.terminal import echo, warn
from blowfish_privacy.engines import located, open_engine
from blowfish_privacy.errors import DataError, SpecError
from blowfish_privacy.release.plan import Plan
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.results import Result
from blowfish_privacy.statements.plan import COLUMNS, plan_cells, plans_view
from blowfish_privacy.statements.release import release_view, releases_view
from blowfish_privacy.support.exact import show


@click.command()
@file_argument
@click.option("--explain", is_flag=True, help="Say for each release why.")
@as_json
def plan(file: str, explain: bool, as_json: bool) -> None:  # noqa: FBT001
    """Show what the releases of FILE will cost and how wrong they will be. Reads no values, spends nothing.

    Where the number of rows is needed, public and not stated in FILE, the data are asked for it, and for nothing else.
    """
    loaded = load_file(file)
    plans = plan_releases(loaded, _records(file, loaded))
    _warn_of_budget(loaded, plans)
    if as_json:
        print_json(plans_view(plans, loaded.budget))
        return
    if not plans:
        echo("The file lists no releases.")
        return
    _print_plans(loaded, plans)
    mention_missing_ledger(file, loaded)
    if explain:
        for made in plans:
            echo(f"\n{made.explain()}")
    _warn_of_notices(plans)


@click.command()
@file_argument
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@click.option("--out", type=click.Path(file_okay=False), default=".", help="The folder for JSON, CSV and PNG files.")
@click.option("--new", is_flag=True, help="Spend again on releases that the ledger already holds, with fresh noise.")
@as_json
def release(file: str, yes: bool, out: str, new: bool, as_json: bool) -> None:  # noqa: FBT001
    """Run the releases of FILE: asks, charges the ledger, reads the data, writes JSON, CSV and PNG.

    A release that the ledger already holds is written again as it was and costs nothing. Before the charge no value is
    read; the number of rows may be asked for, where it is public, and not for releases that exceed the budget.
    """
    loaded = load_file(file)
    with warnings_in_words():
        session = open_session(loaded, Path(file).parent)
    batch = Batch.of(loaded, session, fresh=new, rows=lambda: _told(session.engine.rows))
    folder = Path(out)
    outputs = {planned.name: ReleaseFiles.checked(folder, planned, loaded.policy) for planned in loaded.releases}
    if as_json and batch.due and not yes:
        raise SpecError("--json does not ask.", hint="add --yes to spend.")
    _confirm(loaded, batch, yes=yes)
    _make(folder)
    written: list[dict[str, Any]] = []
    for made in batch.plans:
        result, files = batch.release(made), outputs[made.name]
        _write(result, files)
        written.append(release_view(result, batch.earlier.get(made.key), [str(path) for path in files.paths]))
    if as_json:
        print_json(releases_view(written, spent=batch.cost, remaining=session.remaining))
        return
    for item in written:
        echo(f"{item['name']}: {item['guarantee']}")
        if item["recorded"]:
            echo(f"  paid for before ({item['recorded']}); nothing was spent")
        echo(f"  {', '.join(item['files'])}")
    echo(f"Spent {show(batch.cost)}; {show(session.remaining)} is left.")


def _records(file: str, loaded: PolicyFile) -> int | None:
    """Ask the data for the public number of rows, if a plan needs it; plan without it where they cannot be asked."""
    if loaded.data is None or not needs_rows(loaded):
        return loaded.policy.records
    data = located(loaded.data, Path(file).parent)
    try:
        return _told(lambda: open_engine(data).rows())
    except DataError as error:
        echo(f"Planned without the number of records: {error.message}", err=True)
        return None


def _told(rows: Callable[[], int]) -> int:
    """Ask for the number of rows, and say so."""
    records = rows()
    echo(f"Asked the data for the number of records alone, which is public here: {records:,}.", err=True)
    return records


def _warn_of_budget(loaded: PolicyFile, plans: Sequence[Plan]) -> None:
    total = total_epsilon(plans)
    if loaded.budget is not None and total > loaded.budget:
        over = show(total - loaded.budget)
        warn(
            f"together the releases cost {show(total)}, which is {over} above the budget of {show(loaded.budget)}: "
            "blowfish release will refuse. Ask for less epsilon, or for fewer releases."
        )


def _warn_of_notices(plans: Sequence[Plan]) -> None:
    for made in plans:
        for notice in made.notices():
            warn(f"{made.name}: {notice}")


def _confirm(loaded: PolicyFile, batch: Batch, *, yes: bool) -> None:
    _warn_of_notices(batch.due)
    if not batch.due or yes:
        return
    _print_plans(loaded, batch.due)
    after = show(batch.session.remaining - batch.cost)
    try:
        click.confirm(f"Spend {show(batch.cost)} (leaving {after}) and read the data?", abort=True, err=True)
    except click.Abort as stopped:
        if not isinstance(stopped.__context__, EOFError):
            raise
    else:
        return
    echo(err=True)
    raise SpecError("nobody answered, so nothing was spent.", hint="add --yes to spend without being asked.")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"the folder {folder} cannot be made: {error.strerror}.") from None


def _write(result: Result, outputs: ReleaseFiles) -> None:
    try:
        outputs.write(result)
    except MemoryError:
        hint = "free some memory and run the command again: it is written at no cost."
        raise DataError(f"there is too little memory to write {result.name!r}, which is recorded.", hint=hint) from None


def _print_plans(loaded: PolicyFile, plans: Sequence[Plan]) -> None:
    print_table(list(COLUMNS.values()), [plan_cells(made) for made in plans])
    budget = "" if loaded.budget is None else f" of a budget of {show(loaded.budget)}"
    echo(
        f"Together epsilon {show(total_epsilon(plans))}{budget}. "
        "The last column compares with plain differential privacy."
    )
