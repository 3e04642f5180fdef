"""An entry under ``releases`` in a policy file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from blowfish_privacy.errors import BlowfishError, SpecError, brief
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import Measure
from blowfish_privacy.queries import Asked
from blowfish_privacy.queries.query import check_asked, read_asked, split
from blowfish_privacy.release.spending import Spending

_LONGEST_NAME = 200
_NAME = re.compile(r"[\w][\w .-]{0,99}")


@dataclass(frozen=True)
class PlannedRelease:
    """One entry of the file's releases: a query, and either what it may spend or how wrong it may be."""

    name: str
    query: Asked
    spending: Spending
    mechanism: str | None


@dataclass(frozen=True)
class Unplanned:
    """A release of a file that cannot be read or planned, and why not."""

    name: str | None
    error: BlowfishError
    query: Asked | None = None
    """What it asks, as far as that could be read."""


def read_release(entry: dict[str, Any], policy: Policy, ledger: Measure | None) -> PlannedRelease:
    """Read an entry whose form is checked; ``ledger`` is how the file's budget counts, if it states one."""
    name = entry["name"]
    if not is_file_name(name):
        # The name becomes a file name.
        said = "must begin with a letter, digit or underscore and go on with these, spaces, dots and dashes"
        raise SpecError(f"the name {brief(name)} {said}.", hint="it becomes a file name: at most 100 characters.")
    if sum(key in entry for key in ("epsilon", "rho", "error")) != 1:
        raise SpecError(
            "a release states one of epsilon, rho and error.",
            hint="epsilon: 0.1 or rho: 0.005 to spend, or error: 25 to solve for it.",
        )
    query = read_asked(entry, policy.domain)
    check_asked(*split(query), policy.domain)
    stated = {key: entry.get(key) for key in ("epsilon", "rho", "delta", "error", "noise")}
    spending = Spending.of(**stated, ledger=ledger, problem=SpecError)
    return PlannedRelease(name, query, spending, entry.get("mechanism"))


def is_file_name(name: str) -> bool:
    """Say whether a file can be called like a release."""
    return _NAME.fullmatch(name) is not None and len(name.encode()) <= _LONGEST_NAME


def same_names(names: Mapping[int, str]) -> dict[int, int]:
    """Find names that are equal, or that many file systems take for equal: only their case or encoding differs.

    Each that comes later is given the place of the first.
    """
    first: dict[str, int] = {}
    folded = {number: normalize("NFKC", name).casefold() for number, name in names.items()}
    return {number: at for number, name in folded.items() if (at := first.setdefault(name, number)) != number}


def same_name(name: str, earlier: str, line: int | None) -> SpecError:
    """Say that a release is called like an earlier one."""
    above = "an earlier release" if line is None else f"the release of line {line}"
    same = f"it and {earlier!r}, {above}, would be the same file on many computers"
    return SpecError(
        f"{f'{above} has the same name' if name == earlier else same}.",
        hint="give them names that differ in more than upper and lower case.",
    )
