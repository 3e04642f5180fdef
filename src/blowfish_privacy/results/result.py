"""What every result offers: values, errors, a table, a picture, a file."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import QueryError, SpecError, brief
from blowfish_privacy.mechanisms import Error
from blowfish_privacy.mechanisms.constraints import Constraints
from blowfish_privacy.privacy.certificate import Certificate
from blowfish_privacy.release import reading
from blowfish_privacy.release.document import KeptValues
from blowfish_privacy.release.reading import Release
from blowfish_privacy.results.pictures.figure import (
    Drawing,
    ending_of,
    fingerprint,
    picture,
    shorten,
    start_figure,
    state_below,
    title_above,
)
from blowfish_privacy.results.pictures.intervals import LabelledInterval
from blowfish_privacy.support.arrays import Columns, Floats, Integers, Labels
from blowfish_privacy.support.csv_tables import csv_table
from blowfish_privacy.support.exact import exact
from blowfish_privacy.support.file_forms import enter
from blowfish_privacy.support.files import IN_THE_LEDGER, write_atomically
from blowfish_privacy.support.on_demand import KindsOnDemand

# Tables as Parquet, which say in their metadata which release document they were written from.

_ORIGIN = "blowfish-privacy release document SHA-256"

Column = npt.NDArray[Any]


def parquet(columns: Mapping[str, Column], *, document: str) -> bytes:
    """Return a table as Parquet; its metadata name the document."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="blowfish-") as folder, duckdb.connect() as connection:
        path = Path(folder) / "table.parquet"
        # Dates are handed over as times, which DuckDB knows from NumPy, and written as dates.
        dated = [name for name, column in columns.items() if column.dtype.kind == "M"]
        held = {name: column.astype("datetime64[s]") if name in dated else column for name, column in columns.items()}
        connection.register("released", held)
        quoted = [name.replace('"', '""') for name in dated]
        cast = ", ".join(f'CAST("{name}" AS DATE) AS "{name}"' for name in quoted)
        chosen = f"(SELECT * REPLACE ({cast}) FROM released)" if dated else "released"  # noqa: S608  # names are quoted
        origin = f"{{'{_ORIGIN}': '{fingerprint(document)}'}}"
        target = str(path).replace("'", "''")
        connection.execute(f"COPY {chosen} TO '{target}' (FORMAT parquet, KV_METADATA {origin})")
        return path.read_bytes()


def written_from(document: str, content: bytes) -> bool:
    """Say whether a Parquet file was written from a release document."""
    return all(part.encode() in content for part in (_ORIGIN, fingerprint(document)))


def distinct(names: Sequence[str]) -> list[str]:
    """Number names that differ in upper and lower case at most, which Parquet readers take for one column."""
    made: dict[str, str] = {}
    for name in names:
        number, chosen = 2, name
        while chosen.casefold() in made:
            number, chosen = number + 1, f"{name}_{number}"
        made[chosen.casefold()] = chosen
    return [*made.values()]


def typed(cells: Sequence[Any]) -> Column:
    """Return cells as an array of whole numbers, of numbers, of truth values, of dates, or else of text."""
    kinds = {type(cell.item() if isinstance(cell, np.generic) else cell) for cell in cells}
    if kinds <= {bool}:
        return np.array(cells, dtype=np.bool_)
    if kinds <= {int} and all(-(2**63) <= int(cell) < 2**63 for cell in cells):
        return np.array(cells, dtype=np.int64)
    if kinds <= {int, float}:
        return np.array(cells, dtype=np.float64)
    if kinds == {date}:
        return np.array(cells, dtype="datetime64[D]")
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [str(cell) for cell in cells]
    return texts


# What has a picture: its figure as PNG, SVG and PDF, and as a file.


class Drawn(ABC):
    """Something that can be drawn. Pictures of a release say which document they were drawn from."""

    @abstractmethod
    def figure(self) -> Any:
        """Return a matplotlib figure."""

    def png(self) -> bytes:
        """Return the figure as PNG."""
        return self._picture("png")

    def svg(self) -> bytes:
        """Return the figure as SVG."""
        return self._picture("svg")

    def pdf(self) -> bytes:
        """Return the figure as PDF."""
        return self._picture("pdf")

    def plot(self, path: str | Path) -> None:
        """Write the figure: as PNG, SVG or PDF, as the path ends."""
        write_atomically(path, self._picture(ending_of(path)), hint=IN_THE_LEDGER)

    def _picture(self, ending: str) -> bytes:
        return picture(self.figure(), ending)


class Tabular(ABC):
    """Something that has rows under a header."""

    @property
    @abstractmethod
    def header(self) -> list[str]:
        """The names of the table's columns."""

    @abstractmethod
    def rows(self) -> Iterator[list[Any]]:
        """Go through the table row by row."""

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return frame(self.header, self.rows())

    def csv(self) -> bytes:
        """Return the table as CSV."""
        return csv_table(self.header, self.rows())

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV; a text like a formula of a spreadsheet gets an apostrophe in front."""
        write_atomically(path, self.csv(), hint=IN_THE_LEDGER)


class Documented(Drawn, Tabular):
    """What a release document holds: a result, or those of several groups."""

    text: str
    """The release document, byte for byte as it was recorded in the ledger."""
    _body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the plan, or the policy file, calls the release."""
        return str(self._body["name"])

    @property
    def statement(self) -> str:
        """The guarantee in one line, as the document states it: of all groups together, if there are any."""
        return str(self._body["guarantee"]["statement"])

    def save(self, path: str | Path) -> None:
        """Write the release document."""
        write_atomically(path, self.text.encode(), hint=IN_THE_LEDGER)

    def _picture(self, ending: str) -> bytes:
        return picture(self.figure(), ending, document=self.text)

    def parquet(self) -> bytes:
        """Return the table as Parquet; its metadata say which document it was written from."""
        return parquet(self.columns(), document=self.text)

    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the table as columns: of numbers where all cells are, else of text."""
        rows = list(self.rows())
        return {name: typed([row[at] for row in rows]) for at, name in enumerate(distinct(self.header))}

    def to_parquet(self, path: str | Path) -> None:
        """Write the table as Parquet."""
        write_atomically(path, self.parquet(), hint=IN_THE_LEDGER)


def rows_of_cells(domain: Domain, *numbers: npt.NDArray[Any], cells: Integers | None = None) -> Columns:
    """Go through the cells of a table, or some of them: the values that each stands for, and its numbers."""
    places = np.unravel_index(np.arange(domain.size) if cells is None else cells, domain.shape)
    labels = (Labels(each.texts(), at) for each, at in zip(domain.attributes, places, strict=True))
    return Columns(*labels, *numbers)


_HOMES = {
    "clusters": "clusters",
    "cumulative": "cumulative",
    "quantiles": "cumulative",
    "ranges": "cumulative",
    "grid": "grid",
    "histogram": "counts",
    "number": "counts",
    "synthetic": "synthetic",
    "tables": "tables",
    "vector": "counts",
}
"""The modules of our kinds of results."""

HEADLINE = 200
"""Letters that have room above a figure, in two lines or three."""


class Result(Documented):
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

    _shows: ClassVar[type[Any]] = object
    """The mechanisms whose answers it can show."""

    @classmethod
    def reads(cls, release: Release) -> bool:
        """Say whether it can show what the release's mechanism returned."""
        return isinstance(release.mechanism, cls._shows)

    def __init__(self, release: Release, text: str) -> None:
        self.release = release
        self.text = text
        self._body = release.body

    @property
    def certificate(self) -> Certificate:
        """What was proved, derived again from the document."""
        return self.release.certificate

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
        return self._remarks() if self.certificate.amount else []

    def _remarks(self) -> list[str]:
        """Say it of numbers with noise; of exact ones there is nothing to say."""
        return []

    @property
    def _constraints(self) -> Constraints | None:
        """The public totals, where there is noise to take away."""
        return self.release.constraints if self.certificate.amount else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title()!r}: {self.in_short()}{self.statement}>"

    def in_short(self) -> str:
        """Write the answer, worded to be followed by the guarantee, where it is short enough."""
        return ""

    def drawings(self) -> Sequence[Drawing]:
        """Return what its picture shows, described once: for files, and for the page in the browser.

        A kind of result that has none draws itself: with ``draw``.
        """
        return ()

    def draw(self, axes: Any) -> None:
        """Draw the answers on matplotlib axes, which may be part of another figure."""
        self.drawings()[0].draw(axes)

    def save(self, path: str | Path) -> None:
        """Write the release document, and beside it the file of its values, if they have one of their own."""
        if self.kept is not None and self.release.folder is not None:
            self.kept.copy(self.release.folder, Path(path).parent)
        super().save(path)

    def intervals_shown(self) -> Sequence[LabelledInterval]:
        """Return the few numbers that are the answer, where it is that short; groups of them make one picture."""
        return ()

    def figure(self) -> Any:
        figure = self._figure()
        title_above(figure, self.headline())
        state_below(figure, self.statement)
        return figure

    def _figure(self) -> Any:
        """Draw the answers, without the headline and the guarantee."""
        drawings = self.drawings()
        if drawings:
            return drawings[0].figure()
        figure, axes = start_figure(8, 4.5)
        self.draw(axes)
        return figure

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


def checked_share(share: Any) -> float:
    """Read the share of the records that a quantile is to reach."""
    wanted = exact(share, "a quantile", error=QueryError)
    if not 0 <= wanted <= 1:
        raise QueryError(f"a quantile lies between 0 and 1, got {brief(share)}.", hint="0.5 is the median.")
    return float(wanted)


def as_float(values: npt.NDArray[Any]) -> Floats:
    """Turn noisy answers into floats, for pictures and projections."""
    return np.asarray(values, dtype=np.float64)


def whole_number(given: Any, what: str, least: int, most: int | None = None) -> int:
    """Read a whole number that somebody asks for, within bounds."""
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):
        raise QueryError(f"{what} must be a whole number from {least} up, got {brief(given)}.")
    return int(given)


def counted(positions: Integers, axes: Sequence[int], shape: Sequence[int]) -> Integers:
    """Count the records of every cell of the table of some attributes."""
    sizes = [shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(positions[:, axis] for axis in axes), tuple(sizes))
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.int64)
