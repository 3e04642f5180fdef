"""All releases of a policy file or of a ledger, as commands take them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from blowfish_privacy.cli.output import load_in_part, open_by_name
from blowfish_privacy.cli.terminal import echo
from blowfish_privacy.errors import LedgerError, SpecError
from blowfish_privacy.ledger import Ledger
from blowfish_privacy.queries.query import asked_to_file, split
from blowfish_privacy.release.spec import PolicyFile
from blowfish_privacy.release.verification import Released
from blowfish_privacy.support.postgresql import is_address

_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, eq=False)
class NamedLedger:
    """A ledger, what it is called, and the policy file that named it, if one did."""

    ledger: Ledger
    title: str
    file: PolicyFile | None = None


def names_product(argument: str) -> bool:
    """Say whether an argument names a policy file or a ledger, rather than the document of one release."""
    path = Path(argument)
    return is_address(argument) or path.suffix.lower() in (".yaml", ".yml", ".ledger") or _is_sqlite(path)


def open_named(argument: str) -> NamedLedger:
    """Open the ledger that an argument names, or the one that a policy file names."""
    if is_address(argument) or Path(argument).suffix.lower() not in (".yaml", ".yml"):
        ledger = open_by_name(argument)
        return NamedLedger(ledger, ledger.name.removesuffix(".ledger"))
    loaded = load_in_part(argument)
    return NamedLedger(_ledger(argument, loaded), Path(argument).stem, loaded)


def _ledger(argument: str, loaded: PolicyFile) -> Ledger:
    from blowfish_privacy.batch import ledger_location

    location = ledger_location(loaded, Path(argument).parent)
    if location is None:
        raise SpecError(
            "the file names no ledger, which holds its releases.", hint="add ledger: table.ledger, or name a release."
        )
    if isinstance(location, Path) and not os.path.lexists(location):
        raise LedgerError(
            f"there is no ledger {location.name} yet, so nothing was released.",
            hint=f"blowfish ledger create {argument} makes it, and blowfish release {argument} the releases.",
        )
    return open_by_name(location if isinstance(location, str) else str(location))


def mention_others(file: PolicyFile | None, released: Sequence[Released]) -> None:
    """Say which releases of the file are not made yet, and that others of the ledger are counted."""
    if file is None:
        return
    made = [(each.name, each.plan.policy.hash, each.plan.asked()) for each in released]
    policy = file.policy
    asked = {
        each.name: (each.name, policy.hash, asked_to_file(*split(each.query), policy.domain)) for each in file.releases
    }
    waiting = [name for name, release in asked.items() if release not in made]
    if waiting:
        echo(f"Not released yet, so not in this: {', '.join(waiting)}.", err=True)
    # What the file asks was perhaps released several times, with other losses: the file has one of these.
    others = len(made) - (len(asked) - len(waiting))
    if others:
        many = "one more release" if others == 1 else f"{others:,} more releases"
        echo(f"The ledger holds {many} than the file as it is now; all of them count.", err=True)


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False
