"""A release for each of several groups of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.release.reading import notices_of
from blowfish_privacy.results.pictures.figure import shorten, state_below, title_above
from blowfish_privacy.results.pictures.intervals import MOST_IN_A_ROW, MOST_ROWS, IntervalsDrawing
from blowfish_privacy.results.pictures.tables import MOST_PANELS, draw_panels
from blowfish_privacy.results.result import HEADLINE, Documented, Result


class GroupsResult(Mapping[Any, Result], Documented):
    """The results of all groups, by the value that their records share; by several values, where there are several."""

    def __init__(self, results: Sequence[Result], body: Mapping[str, Any], text: str) -> None:
        self.by: tuple[str, ...] = results[0].release.selection.by
        self.text = text
        self._body = body
        keys = [_key(result) for result in results]
        self._results = dict(zip([key[0] if len(key) == 1 else key for key in keys], results, strict=True))

    def __getitem__(self, value: Any) -> Result:
        return self._results[value]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the costliest group."""
        return max((result.certificate for result in self.values()), key=lambda certificate: certificate.amount)

    def __repr__(self) -> str:
        groups = f"{len(self)} {'group' if len(self) == 1 else 'groups'} by {', '.join(self.by)}"
        return f"<{type(self).__name__} {self.name!r}: {groups}; {self.statement}>"

    @property
    def notices(self) -> list[str]:
        """What must not be overlooked in any group."""
        return [notice.as_planned for notice in notices_of([result.release for result in self.values()])]

    def remarks(self) -> list[str]:
        """What is to be said of the numbers shown, of any group."""
        return sorted({remark for result in self.values() for remark in result.remarks()})

    @property
    def header(self) -> list[str]:
        return [*self.by, *next(iter(self.values())).header]

    def rows(self) -> Iterator[list[Any]]:
        return ([*_key(result), *row] for result in self.values() for row in result.rows())

    def drawing(self) -> IntervalsDrawing:
        """Return the numbers of all groups below each other, which is the picture where every group has a few."""
        rows = {_named(result): result.intervals_shown() for result in self.values()}
        return IntervalsDrawing(rows, next(iter(self.values())).asked(), f"By {' and '.join(self.by)}")

    def figure(self) -> Any:
        every = list(self.values())
        numbers = self.drawing()
        rows = numbers.rows
        if all(0 < len(row) <= MOST_IN_A_ROW for row in rows.values()):
            figure, shown = numbers.figure(), min(len(rows), MOST_ROWS)
        else:
            drawn = every[:MOST_PANELS]
            figure = draw_panels([_named(result) for result in drawn], [result.draw for result in drawn])
            shown = min(len(rows), MOST_PANELS)
        left_out = f": the first {shown} of {len(self):,} groups" if shown < len(self) else ""
        headline = f"{self.name}: {every[0].asked()} by {', '.join(self.by)}{every[0].condition()}"
        title_above(figure, f"{shorten(headline, HEADLINE)}{left_out}")
        state_below(figure, self.statement)
        return figure


def _named(result: Result) -> str:
    return ", ".join(str(value) for value in _key(result))


def _key(result: Result) -> tuple[Any, ...]:
    return tuple(result.release.group.values())
