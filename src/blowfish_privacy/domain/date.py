"""Date attributes: the days, weeks or months between two dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from annotated_types import Len

from blowfish_privacy.domain.attribute import ERROR, MISSING_WANTED, OUTSIDE_FORM, Outside, Positions, Spaced
from blowfish_privacy.errors import DataError, DomainError, brief
from blowfish_privacy.support.exact import show
from blowfish_privacy.support.file_forms import Form, Wanted

Step: TypeAlias = Literal["day", "week", "month"]

_STEPS = ("day", "week", "month")
_WEEK_OF = "week of "
_ISO = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{3}([0-9]{3})?)?)?"
DATE_PATTERN = f"{_ISO}([T ]{_TIME})?"
"""What the text of a date in data looks like: with or without a time, and without a time zone."""
DATE_LENGTHS = (10, 16, 19, 23, 26)
_EPOCH = date(1970, 1, 1).toordinal()
_EXAMPLE = "{date: [2020-01-01, 2020-12-31], step: day}"


@dataclass(frozen=True)
class Date(Spaced):
    """The days from ``first`` to ``last``, both included, or the weeks or months that they lie in.

    >>> day, month = Date("2020-01-01", "2020-12-31"), Date("2020-01-01", "2020-12-31", step="month")
    >>> day.size, month.size, month.show(month.position("2020-03-15"))
    (366, 12, '2020-03')

    Weeks begin on Monday. The first and the last week or month may be cut off: days before ``first`` and after ``last``
    are not declared. Distances are counted in steps: days, weeks or months. Times of day are left out; a time with a
    time zone counts on its day in UTC.
    """

    first: date | str
    last: date | str
    _: KW_ONLY
    step: Step = "day"
    outside: Outside = ERROR
    missing: object = ERROR

    keyword = "date"
    file_form = Form(
        {"date": Annotated[list[str], Len(2, 2), Wanted("two dates, year first", f"write {_EXAMPLE[1:-1]}.")]},
        {
            "step": Annotated[Step, Wanted("'day', 'week' or 'month'")],
            "outside": OUTSIDE_FORM,
            "missing": Annotated[str, MISSING_WANTED],
        },
        example=_EXAMPLE,
    )
    column_type = "dates"
    instead_of_sums = "ask for quantiles: the one at 0.5 is the median date."

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            bound = _date(getattr(self, name))
            if bound is None:
                raise DomainError(
                    f"the bounds of a date must be dates, got {brief(getattr(self, name))}.",
                    hint="write the year first: 2020-01-31.",
                )
            object.__setattr__(self, name, bound)
        if self.start > self.end:
            raise DomainError(f"the first date {self.start} is after the last one {self.end}.")
        if self.end == date.max:
            raise DomainError(f"the last date must lie before {date.max}.")
        if not isinstance(self.step, str) or self.step not in _STEPS:
            raise DomainError(f"step must be 'day', 'week' or 'month', got {brief(self.step)}.")
        self._check_rules()

    @property
    def start(self) -> date:
        """The first date."""
        return cast(date, self.first)

    @property
    def end(self) -> date:
        """The last date."""
        return cast(date, self.last)

    @property
    def spacing(self) -> Fraction:
        return Fraction(1)

    @cached_property
    def _origin(self) -> int:
        return self._number(self.start)

    def _number(self, day: date) -> int:
        """Number all days, weeks or months since the year 1; the first day of that year is a Monday."""
        if self.step == "month":
            return 12 * day.year + day.month - 1
        return (day.toordinal() - 1) // (7 if self.step == "week" else 1)

    @property
    def size(self) -> int:
        return self._number(self.end) - self._origin + 1

    def position(self, value: object) -> int:
        day = _date(value)
        if day is None and isinstance(value, str):
            named = f"{value}-01" if self.step == "month" else value.removeprefix(_WEEK_OF)
            day = None if self.step == "day" else _date(named)
        if day is None:
            raise DomainError(f"{brief(value)} is not a date.", hint="write the year first: 2020-01-31.")
        position = self._number(day) - self._origin
        if not 0 <= position < self.size:
            raise DomainError(f"{day} is outside {self.start} to {self.end}.")
        return position

    def range_start(self, value: object) -> int:
        return self._end_of_range(value, self.example, "begins")

    def range_end(self, value: object) -> int:
        return self._end_of_range(value, self._last_day, "ends")

    def _end_of_range(self, value: object, border: Callable[[int], date], verb: str) -> int:
        position, day = self.position(value), _date(value)
        if day in (None, border(position)):
            return position
        raise self._cut(position, f"a range that {verb} on {day} would cut {self.say(position)} in two")

    def range_starts(self, values: npt.NDArray[Any]) -> Positions | None:
        positions = self._at_once(values)
        if positions is None or self.step == "day":
            return positions
        first = np.maximum(self._first_days(positions), np.datetime64(self.start))
        return positions if (first == values.astype("datetime64[D]")).all() else None

    def range_ends(self, values: npt.NDArray[Any]) -> Positions | None:
        positions = self._at_once(values)
        if positions is None or self.step == "day":
            return positions
        last = np.minimum(self._first_days(positions + 1) - 1, np.datetime64(self.end))
        return positions if (last == values.astype("datetime64[D]")).all() else None

    def _at_once(self, values: npt.NDArray[Any]) -> Positions | None:
        if values.dtype.kind != "M" or np.isnat(values).any():
            return None
        positions = self._encode(values)
        return positions if 0 <= positions.min() <= positions.max() < self.size else None

    def _first_days(self, positions: Positions) -> npt.NDArray[np.datetime64]:
        """Return :meth:`value` of a whole array."""
        numbers = self._origin + positions
        if self.step == "month":
            return (numbers - 12 * 1970).astype("datetime64[M]").astype("datetime64[D]")
        return (numbers * (7 if self.step == "week" else 1) + 1 - _EPOCH).astype("datetime64[D]")

    def exactly(self, value: object) -> int:
        position, day = self.position(value), _date(value)
        if day is None or self.example(position) == self._last_day(position):
            return position
        raise self._cut(position, f"{day} is one day of {self.say(position)}, whose days are counted together")

    def _last_day(self, position: int) -> date:
        return min(self.value(position + 1) - timedelta(days=1), self.end)

    def _cut(self, position: int, problem: str) -> DomainError:
        first, last = self.example(position), self._last_day(position)
        return DomainError(
            f"{problem}.",
            hint=f"write {self.show(position)!r} for all of it, which is {first} to {last}; or declare step: day.",
        )

    def value(self, position: int) -> date:
        number = self._origin + position
        if self.step == "month":
            return date(number // 12, number % 12 + 1, 1)
        return date.fromordinal(number * (7 if self.step == "week" else 1) + 1)

    def example(self, position: int) -> date:
        return max(self.value(position), self.start)

    def show(self, position: int) -> str:
        day = self.value(position).isoformat()
        return {"day": day, "week": f"{_WEEK_OF}{day}", "month": day[:7]}[self.step]

    def say(self, position: int) -> str:
        return f"the {self.show(position)}" if self.step == "week" else self.show(position)

    def distance(self, amount: Fraction) -> str:
        return f"{show(amount)} {self.step}{'' if amount == 1 else 's'}"

    @property
    def plain(self) -> str:
        return "dates written like 2020-01-31"

    def _encode(self, column: npt.NDArray[Any]) -> Positions:
        if column.dtype.kind in "OU":
            column = np.array([_data_date(value) for value in column.tolist()], dtype="datetime64[D]")
        if column.dtype.kind != "M":
            raise _not_dates()
        days = column.astype("datetime64[D]")
        ordinals = np.clip(days.astype(np.int64), self.start.toordinal() - _EPOCH, self.end.toordinal() - _EPOCH)
        inside = ordinals.astype("datetime64[D]")
        if self.step == "month":
            numbers = inside.astype("datetime64[M]").astype(np.int64) + 12 * 1970
        else:
            numbers = (ordinals + _EPOCH - 1) // (7 if self.step == "week" else 1)
        positions = np.where(days > np.datetime64(self.end), self.size, numbers - self._origin)
        return np.where(days < np.datetime64(self.start), -1, positions).astype(np.int64)

    def _value_to_file(self, position: int) -> Any:
        return self.example(position).isoformat()

    def to_file(self) -> dict[str, Any]:
        return {
            "date": [self.start.isoformat(), self.end.isoformat()],
            "step": self.step,
            **self._rules_to_file(),
        }

    @classmethod
    def from_file(cls, body: Mapping[str, Any]) -> Date:
        first, last = body["date"]
        return cls(first, last, step=body.get("step", "day"), **cls._rules_from_file(body))


def _date(value: object) -> date | None:
    """Read a date, or text that is one and nothing more; a time counts on its day, in UTC if it has a time zone."""
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("datetime64[D]").item()
    if isinstance(value, str) and re.fullmatch(_ISO, value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(UTC)).date()
    return value if isinstance(value, date) else None


def _data_date(value: object) -> date:
    timed = isinstance(value, str) and re.fullmatch(DATE_PATTERN, value)
    day = _date(value[:10] if isinstance(value, str) and timed else value)
    if day is None:
        raise _not_dates()
    return day


def _not_dates() -> DataError:
    return DataError("the column must hold dates.", hint="text must have the year first, as in 2020-01-31.")
