"""``blowfish plan`` and ``blowfish release``: see what a file will cost and give, then do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from blowfish_privacy import results
from blowfish_privacy.cli.ledger import ledger_of, mention_missing_ledger
from blowfish_privacy.cli.output import as_json, file_argument, load_file, print_json, print_table, warnings_in_words
from blowfish_privacy.cli.outputs import Outputs
from blowfish_privacy.cli.terminal import echo, warn
from blowfish_privacy.engines import located, open_engine
from blowfish_privacy.errors import BudgetError, DataError, SpecError
from blowfish_privacy.ledger import Entry
from blowfish_privacy.release import spec
from blowfish_privacy.release.explain import compare, number
from blowfish_privacy.release.plan import Plan, costs, make_plan
from blowfish_privacy.release.run import describe
from blowfish_privacy.session import Session
from blowfish_privacy.support.exact import rounded, show


@click.command()
@file_argument
@click.option("--explain", is_flag=True, help="Say for each release why.")
@as_json
def plan(file: str, explain: bool, as_json: bool) -> None:  # noqa: FBT001
    """Show what the releases of FILE will cost and how wrong they will be. Reads no values, spends nothing.

    Where the number of rows is needed, public and not stated in FILE, the data are asked for it, and for nothing else.
    """
    loaded = load_file(file)
    plans = _plans(file, loaded, needed=False)
    _warn_of_budget(loaded, plans)
    if as_json:
        print_json({"budget": _text(loaded.budget), "releases": [_row(plan) for plan in plans]})
        return
    if not plans:
        echo("The file lists no releases.")
        return
    _print_plans(loaded, plans)
    mention_missing_ledger(file, loaded)
    if explain:
        for made in plans:
            echo(f"\n{made.explain()}")
    for made in plans:
        for notice in made.notices():
            warn(f"{made.name}: {notice}")


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
    session = open_session(file, loaded)
    factor = session.ledger.price(loaded.policy).factor
    held = {entry.key: entry for entry in session.ledger.entries()}
    _check_early(session, loaded, factor, [] if new else [*held.values()])
    plans = [_keyed(made, loaded, new=new) for made in _plans(file, loaded, needed=True)]
    due = [made for made in plans if made.key not in held]
    total = factor * sum((made.epsilon for made in due), Fraction(0))
    _check_budget(session, total)
    folder = Path(out)
    places = {planned.name: Outputs.checked(folder, planned, loaded.policy) for planned in loaded.releases}
    if as_json and due and not yes:
        raise SpecError("--json does not ask.", hint="add --yes to spend.")
    _confirm(loaded, due, session, total, yes=yes)
    _make(folder)
    written = [_write(_released(session, made), places[made.name], held.get(made.key)) for made in plans]
    if as_json:
        print_json({"releases": written, "spent": str(total), "remaining": str(session.remaining)})
        return
    for item in written:
        echo(f"{item['name']}: {item['guarantee']}")
        if item["recorded"]:
            echo(f"  paid for before ({item['recorded']}); nothing was spent")
        echo(f"  {', '.join(item['files'])}")
    echo(f"Spent {show(total)}; {show(session.remaining)} is left.")


def _check_early(session: Session, loaded: spec.PolicyFile, factor: int, held: list[Entry]) -> None:
    """Refuse what is sure to exceed the budget before the data are asked for anything."""
    due = [
        (each.query, each.epsilon)
        for each in loaded.releases
        # One of this name that the ledger holds may be the same, and then costs nothing.
        if each.epsilon and not any(entry.description.startswith(f"{each.name}: ") for entry in held)
    ]
    if factor * sum(epsilon for _, epsilon in due) > session.remaining:
        sure = [epsilon for query, epsilon in due if costs(query, loaded.policy)]
        _check_budget(session, factor * sum(sure, Fraction(0)))


def _check_budget(session: Session, total: Fraction) -> None:
    if total > session.remaining:
        raise BudgetError(
            f"the releases cost {show(total)}, but only {show(session.remaining)} is left: "
            f"{show(total - session.remaining)} too much. Nothing was charged, and no value was read.",
            hint="ask for less epsilon, or for fewer releases.",
        )


def _released(session: Session, made: Plan) -> results.Result:
    """Release; where the data do not fit, say what that cost."""
    try:
        return session.release(made)
    except DataError as error:
        charged = any(entry.key == made.key for entry in session.ledger.entries())
        if not charged or session.ledger.document(made.key) is not None:
            raise
        said = "Its cost was charged; once the data are corrected, the same release costs nothing more."
        raise DataError(f"{error.message} {said}", hint=error.hint) from None


def open_session(file: str, loaded: spec.PolicyFile) -> Session:
    """Open the data and the ledger that a file names; paths are relative to the file."""
    if loaded.data is None:
        raise SpecError("the file names no data.", hint="add data: table.csv.")
    if loaded.ledger is None:
        raise SpecError("the file names no ledger.", hint="add ledger: table.ledger and budget: 1.0.")
    ledger = ledger_of(file, loaded.ledger)
    with warnings_in_words():
        return Session(located(loaded.data, Path(file).parent), loaded.policy, budget=loaded.budget, ledger=ledger)


def _plans(file: str, loaded: spec.PolicyFile, *, needed: bool) -> list[Plan]:
    records = loaded.policy.records
    asked = any(planned.query.needs_records for planned in loaded.releases)
    if asked and records is None and loaded.policy.size == "known" and loaded.data is not None:
        records = _rows(located(loaded.data, Path(file).parent), needed=needed)
    return [
        make_plan(
            planned.query,
            loaded.policy,
            epsilon=planned.epsilon,
            error=planned.error,
            mechanism=planned.mechanism,
            records=records,
            name=planned.name,
        )
        for planned in loaded.releases
    ]


def _warn_of_budget(loaded: spec.PolicyFile, plans: list[Plan]) -> None:
    total = sum((made.epsilon for made in plans), Fraction(0))
    if loaded.budget is not None and total > loaded.budget:
        over = show(total - loaded.budget)
        warn(
            f"together the releases cost {show(total)}, which is {over} above the budget of {show(loaded.budget)}: "
            "blowfish release will refuse. Ask for less epsilon, or for fewer releases."
        )


def _rows(data: str, *, needed: bool) -> int | None:
    try:
        records = open_engine(data).rows()
    except DataError as error:
        if needed:
            raise
        echo(f"Planned without the number of records: {error.message}", err=True)
        return None
    echo(f"Asked the data for the number of records alone, which is public here: {records:,}.", err=True)
    return records


def _keyed(made: Plan, loaded: spec.PolicyFile, *, new: bool) -> Plan:
    """Name a release by its content and data, so that running a file again finds what it released before."""
    if new:
        return made
    digest = sha256(f"{loaded.data} {made.policy.hash} {describe(made)}".encode()).hexdigest()[:32]
    return replace(made, key=f"file-{digest}")


def _confirm(loaded: spec.PolicyFile, due: list[Plan], session: Session, total: Fraction, *, yes: bool) -> None:
    for made in due:
        for notice in made.notices():
            warn(f"{made.name}: {notice}")
    if not due or yes:
        return
    _print_plans(loaded, due)
    after = show(session.remaining - total)
    try:
        click.confirm(f"Spend {show(total)} (leaving {after}) and read the data?", abort=True, err=True)
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


def _write(result: results.Result, outputs: Outputs, held: Entry | None) -> dict[str, Any]:
    try:
        outputs.write(result)
    except MemoryError:
        hint = "free some memory and run the command again: it is written at no cost."
        raise DataError(f"there is too little memory to write {result.name!r}, which is recorded.", hint=hint) from None
    return {
        "name": result.name,
        "guarantee": result.statement,
        "recorded": None if held is None else f"entry {held.number} of {held.made[:19]}",
        "files": [str(path) for path in outputs.paths],
    }


def _print_plans(loaded: spec.PolicyFile, plans: list[Plan]) -> None:
    rows = [{**_row(made), "scale": _scales(made, rounded)} for made in plans]
    print_table(list(_COLUMNS.values()), [[_brief(row[key]) for key in _COLUMNS] for row in rows])
    total = sum((made.epsilon for made in plans), Fraction(0))
    budget = "" if loaded.budget is None else f" of a budget of {show(loaded.budget)}"
    echo(f"Together epsilon {show(total)}{budget}. The last column compares with plain differential privacy.")


_COLUMNS = {
    "name": "release",
    "query": "query",
    "mechanism": "mechanism",
    "epsilon": "epsilon",
    "scale": "noise scale",
    "rmse": "typical error",
    "within_95_in_100": "within (95 %)",
    "comparison": "this policy is",
}


def _row(made: Plan) -> dict[str, Any]:
    error, plain = made.expected_error(), made.plain_error()
    return {
        "name": made.name,
        "query": f"{made.query.keyword} of {', '.join(made.query.attributes)}",
        "mechanism": made.certificate.mechanism if made.epsilon else "none (exact)",
        "epsilon": show(made.epsilon),
        "scale": _scales(made, show),
        "sensitivity": show(made.certificate.sensitivity.value),
        "theorem": made.certificate.sensitivity.theorem,
        "rmse": error.rmse,
        "within_95_in_100": error.interval("0.95"),
        "plain_differential_privacy_rmse": None if plain is None else plain.rmse,
        "comparison": compare(made),
        "guarantee": made.certificate.statement,
    }


def _scales(made: Plan, write: Callable[[Fraction], str]) -> str:
    return ", ".join(write(scale) for scale in made.certificate.scales[:3])


def _brief(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)
