"""What can be wrong with a value, as a number inside a query and in words that carry no value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Attribute, Categorical, Domain
from blowfish_privacy.errors import DataError

PROBLEMS = MISSING, OUTSIDE, MALFORMED = 1, 2, 3


def raise_problems(domain: Domain, cells: npt.NDArray[np.int64]) -> None:
    """Say what is wrong with rows whose group is marked with a negative number."""
    if not len(cells) or cells.min() >= 0:
        return
    digits = -cells[cells < 0]
    raise data_problem(
        (domain.column(name), attribute, problem)
        for axis, (name, attribute) in enumerate(zip(domain.names, domain.attributes, strict=True))
        for problem in PROBLEMS
        if bool(np.any(digits // 4**axis % 4 == problem))
    )


def data_problem(problems: Iterable[tuple[str, Attribute, int]]) -> DataError:
    """Word the problems of some columns; which rows, which values and how many stay unsaid."""
    listed = list(problems)
    said = "; ".join(
        dict.fromkeys(f"the column {name!r} {_says(attribute, problem)}" for name, attribute, problem in listed)
    )
    hints = dict.fromkeys(_hint(attribute, problem) for _, attribute, problem in listed)
    return DataError(
        f"{said}.", hint=" ".join([*hints, "blowfish data check looks at every column and spends nothing."])
    )


def _says(attribute: Attribute, problem: int) -> str:
    if problem == MISSING:
        return "has missing values"
    if problem == OUTSIDE:
        return "has values outside the declared ones"
    return f"has values that are not {attribute.plain}"


def _hint(attribute: Attribute, problem: int) -> str:
    if problem == MISSING:
        return "declare what missing values stand for (missing: VALUE), or remove them."
    if problem == MALFORMED:
        advice = "text is never converted leniently: no spaces, no leading zeros or plus signs; correct the file."
        return f"{advice} {attribute.instead_of_rounding}".strip()
    return (
        "correct the data, or declare the category too."
        if isinstance(attribute, Categorical)
        else "correct the data, or widen the declaration, or say outside: clamp."
    )
