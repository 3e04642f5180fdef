"""What every result offers: values, errors, a table, a picture, a file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import Error
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.release import reading
from blowfish_privacy.release.document import KeptValues
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results.drawn import Drawn
from blowfish_privacy.results.parquet import columns_of, parquet
from blowfish_privacy.results.pictures.figure import shorten, start_figure, state_below, title_above
from blowfish_privacy.results.pictures.intervals import Interval
from blowfish_privacy.support.file_forms import enter
from blowfish_privacy.support.files import IN_THE_LEDGER, csv_table, write_atomically
from blowfish_privacy.support.on_demand import KindsOnDemand

_HOMES = {
    "clusters": "clusters",
    "cumulative": "cumulative",
    "quantiles": "cumulative_answers",
    "ranges": "cumulative_answers",
    "grid": "grid",
    "histogram": "histogram",
    "number": "number",
    "synthetic": "synthetic",
    "tables": "tables",
    "vector": "vector",
}
"""The modules of our kinds of results."""

HEADLINE = 200
"""Letters that have room above a figure, in two lines or three."""


class Result(Drawn):
    """The noisy answers of one release. Everything here is post-processing: free, as often as one likes."""

    kind: ClassVar[str]
    """How queries ask for it."""
    kinds: ClassVar[KindsOnDemand[type[Result]]] = KindsOnDemand("blowfish_privacy.results", _HOMES)
    """Every kind of result that is defined."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a kind of result known."""
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            enter(Result.kinds, cls.kind, cls)

    @classmethod
    def reads(cls, release: Release) -> bool:
        """Say whether it can show what the release's mechanism returned."""
        return True

    def __init__(self, release: Release, text: str) -> None:
        self.release = release
        self.text = text
        """The release document, byte for byte as it was recorded in the ledger."""

    @property
    def name(self) -> str:
        """What the plan, or the policy file, calls the release."""
        return self.release.name

    @property
    def certificate(self) -> Certificate:
        """What was proved, derived again from the document."""
        return self.release.certificate

    @property
    def statement(self) -> str:
        """The guarantee in one line, as the document states it."""
        return str(self.release.body["guarantee"]["statement"])

    @property
    def notices(self) -> list[str]:
        """What must not be overlooked, such as an answer without noise."""
        return list(self.release.body["notices"])

    @property
    def noisy(self) -> npt.NDArray[Any]:
        """The answers with their noise, as they were released: whole numbers where the unit is one."""
        unit = self.release.mechanism.expected_error().unit
        up, down = unit.as_integer_ratio()
        # Divided once: 251 tenths are 25.1, to the last digit.
        return self.release.noisy.copy() if unit == 1 else self.release.noisy * float(up) / float(down)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The unbiased answers that are shown: the noisy ones, unless public totals improve them."""
        return self.noisy

    @property
    def kept(self) -> KeptValues | None:
        """The file of the values, where they are too many for the document; then also for a CSV file or a picture."""
        return None if self.release.folder is None else KeptValues.from_document(self.release.body["values"])

    def error(self) -> Error:
        """Say how wrong an answer is."""
        return self.release.mechanism.expected_error()

    @property
    def stated_error(self) -> float:
        """The typical error that the document states, which holds for any data."""
        try:
            return float(self.release.body["error"]["rmse"])
        except reading.DAMAGE:
            raise SpecError("the document is damaged: it states no error.") from None

    def remarks(self) -> list[str]:
        """Say what a reader should know about the numbers shown: how wrong they are, and which are biased."""
        return []

    @property
    @abstractmethod
    def header(self) -> list[str]:
        """The names of the table's columns."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title()!r}: {self.in_short()}{self.statement}>"

    def in_short(self) -> str:
        """Write the answer, worded to be followed by the guarantee, where it is short enough."""
        return ""

    @abstractmethod
    def rows(self) -> Iterator[list[Any]]:
        """Go through the table row by row."""

    @abstractmethod
    def draw(self, axes: Any) -> None:
        """Draw the answers on matplotlib axes, which may be part of another figure."""

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return frame(self.header, self.rows())

    def csv(self) -> bytes:
        """Return the table as CSV."""
        return csv_table(self.header, self.rows())

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV; a text like a formula of a spreadsheet gets an apostrophe in front."""
        write_atomically(path, self.csv(), hint=IN_THE_LEDGER)

    def parquet(self) -> bytes:
        """Return the table as Parquet; its metadata say which document it was written from."""
        return parquet(self.columns(), document=self.text)

    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the table as columns."""
        return columns_of(self.header, list(self.rows()))

    def to_parquet(self, path: str | Path) -> None:
        """Write the table as Parquet."""
        write_atomically(path, self.parquet(), hint=IN_THE_LEDGER)

    def save(self, path: str | Path) -> None:
        """Write the release document, and beside it the file of its values, if they have one of their own."""
        if self.kept is not None and self.release.folder is not None:
            self.kept.copy(self.release.folder, Path(path).parent)
        write_atomically(path, self.text.encode(), hint=IN_THE_LEDGER)

    def intervals_shown(self) -> Sequence[Interval]:
        """Return the few numbers that are the answer, where it is that short; groups of them make one picture."""
        return ()

    def figure(self) -> Any:
        """Draw the answers with their error; returns a matplotlib figure."""
        return self._inscribed(self._figure())

    def _figure(self) -> Any:
        """Draw the answers, without the headline and the guarantee."""
        figure, axes = start_figure(8, 4.5)
        self.draw(axes)
        return figure

    def _inscribed(self, figure: Any) -> Any:
        """Write the headline above a figure and the guarantee below it."""
        title_above(figure, self.headline())
        state_below(figure, self.statement)
        return figure

    def _drawn_from(self) -> str:
        return self.text

    def headline(self) -> str:
        """Return what a figure is called: the release and its group, what was asked, and of which records."""
        return shorten(f"{self.title()}: {self.asked()}{self.condition()}", HEADLINE)

    def condition(self) -> str:
        """Say of which records it is, worded to follow what was asked; nothing where it is of all."""
        return replace(self.release.selection, by=()).words(self.release.policy.domain)

    def asked(self) -> str:
        """Say in a few words what was asked."""
        return f"{self.release.query.noun} of {self.release.query.subject}"

    def title(self) -> str:
        """Return the headline of the figure: the release's name, and the group that it shows."""
        return ", ".join([self.name, *(f"{name} {value}" for name, value in self.release.group.items())])


def frame(header: list[str], rows: Iterator[list[Any]]) -> Any:
    """Return a table as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError:
        hint = "pip install pandas. Without it there are to_csv() and rows(), and the release is in its ledger."
        raise SpecError("a table needs the pandas package.", hint=hint) from None
    return pd.DataFrame(list(rows), columns=header)


def as_float(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Turn noisy answers into floats, for pictures and projections."""
    return np.asarray(values, dtype=np.float64)
