"""Which columns of the data hold the declared attributes, and whether they can."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from blowfish_privacy.domain import Attribute, Domain, Numeric
from blowfish_privacy.domain.numbers import DATES_HINT
from blowfish_privacy.engines.check import near_columns
from blowfish_privacy.engines.sql.columns import MOST_PLACES, ColumnType, accepts, wanted
from blowfish_privacy.errors import DataError


def check_types(domain: Domain, types: Sequence[ColumnType]) -> None:
    """Refuse columns that cannot hold what is declared."""
    for name, attribute, column in zip(domain.names, domain.attributes, types, strict=True):
        if not accepts(attribute, column):
            raise _wrong_type(domain.column(name), attribute, column)


def find_column(name: str, names: Sequence[object], declared: Collection[str]) -> int:
    """Return the number of the column with a name, of which there must be one; others are declared beside it."""
    matches = [index for index, each in enumerate(names) if each == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DataError(f"the data have several columns {name!r}.", hint="rename all but one of them.")
    similar = [each for each in names if isinstance(each, str) and each.strip().casefold() == name.casefold()]
    spelt = f"the data spell it {similar[0]!r}; " if similar else ""
    # Where the header is missing, the names are the values of a row: one that is declared shows that it is there.
    if not similar and any(each in names for each in declared):
        near = near_columns(name, [each for each in names if isinstance(each, str) and each not in declared])
        spelt = f"the nearest names in the data are {', '.join(map(repr, near))}; " if near else ""
    elif not similar:
        spelt = "blowfish data check names the nearest; "
    raise DataError(
        f"the data have no column {name!r}.",
        hint=f"{spelt}names must match exactly, and a CSV file must name its columns in the first line.",
    )


def _wrong_type(name: str, attribute: Attribute, column: ColumnType) -> DataError:
    hint = "columns are never converted implicitly; convert it yourself."
    if column.kind == "decimal" and isinstance(attribute, Numeric):
        return DataError(f"the column {name!r} has decimals of more than {MOST_PLACES} places.", hint=hint)
    if column.kind in ("date", "timestamp", "instant", "other"):
        hint = f"{hint} If it holds dates, {DATES_HINT}"
    return DataError(f"the column {name!r} must hold {wanted(attribute)}, but is of another type.", hint=hint)
