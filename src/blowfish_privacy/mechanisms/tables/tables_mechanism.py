"""What all mechanisms have in common that measure tables, and put those asked for together from them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from math import sqrt
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from blowfish_privacy.aggregates import Aggregates, AttributeSets
from blowfish_privacy.errors import DataError, RefusalError, SpecError
from blowfish_privacy.mechanisms.mechanism import LARGEST_ANSWER, Mechanism
from blowfish_privacy.mechanisms.tables.components import Components, TablesError
from blowfish_privacy.mechanisms.tables.ranges import KINDS, row_kind
from blowfish_privacy.noise import BitSource, SimulationSource
from blowfish_privacy.queries import Query
from blowfish_privacy.queries.tables import Block, Reading, TablesForm
from blowfish_privacy.support.arrays import Integers

# The tables that were measured, as a release document writes them, and as an engine counts them.

_LARGEST_WEIGHT, _LARGEST_CHANGE = 2**40, 2**60
_WRONG_FORM = "the document is damaged: a table that was measured has the wrong form."
_MOST_VALUES = 1_000
_MOST_TABLES = 1_000


def check_ranges(asked: TablesForm) -> None:
    """Refuse ranges where working out their error would take long."""
    for axis in asked.ranges:
        if asked.shape[axis] > _MOST_VALUES:
            raise RefusalError(
                f"ranges inside tables need an attribute of at most {_MOST_VALUES:,} values.",
                hint="declare coarser bins, or ask for its cumulative counts on their own.",
            )
    if len(asked.blocks) > _MOST_TABLES:
        raise RefusalError(
            f"ranges are answered in sets of at most {_MOST_TABLES:,} tables.",
            hint="ask for fewer tables, or for all attributes as they are.",
        )


def counted_once(blocks: Sequence[Block]) -> list[list[Block]]:
    """Put neighbours of the same attributes together: they are counted once."""
    return [list(several) for _, several in groupby(blocks, key=lambda block: block.axes)]


def written_blocks(form: TablesForm) -> list[Any]:
    """Write the tables: what is counted, the signs, the weight, and the rows if some are read."""
    names = form.names
    written: list[Any] = []
    for block in form.blocks:
        entry = [[names[axis] for axis in block.counted], [names[axis] for axis in block.signs], block.weight]
        rows = {names[axis]: [row_kind(reading), reading.spacing] for axis, reading in block.readings}
        written.append([*entry, rows] if rows else entry)
    return written


def read_blocks(asked: TablesForm, written: Any) -> tuple[Block, ...]:
    """Read what :func:`written_blocks` writes."""
    axes = {name: axis for axis, name in enumerate(asked.names)}
    blocks: list[Block] = []
    for counted, signs, weight, *rows in written:
        if type(weight) is not int or not 0 <= weight < _LARGEST_WEIGHT:
            raise SpecError("the document is damaged: the weight of a table is not a whole number.")
        all_axes, sign_axes = tuple(axes[name] for name in (*counted, *signs)), tuple(axes[name] for name in signs)
        readings = tuple(_reading(asked, axes[name], *row) for row_of in rows for name, row in row_of.items())
        block = Block(all_axes, sign_axes, weight, readings)
        if not asked.fits(block) or len(rows) > 1 or (readings and not weight):
            raise SpecError(_WRONG_FORM)
        blocks.append(block)
    form = asked.of(tuple(blocks))
    if sum(form.factor(block) * block.heaviest(form.shape) for block in blocks) >= _LARGEST_CHANGE:
        raise SpecError(_WRONG_FORM)
    return tuple(blocks)


def _reading(asked: TablesForm, axis: int, kind: str, spacing: Any) -> tuple[int, Reading]:
    if kind not in KINDS or type(spacing) is not int or not 1 <= spacing < asked.shape[axis]:
        raise SpecError(_WRONG_FORM)
    return axis, KINDS[kind](spacing, Fraction(0))


# Adding noise to one table after the other, as many at a time as are drawn at once.

_PIECE = 2**20
"""So many values are drawn at once."""


def noisy_pieces(
    noise: Callable[..., Integers], scales: Sequence[Fraction], tables: Iterable[Integers], source: BitSource
) -> Iterator[Integers]:
    """Add noise to tables, and hand them over end to end in pieces; a scale of 0 stands for none.

    Neighbours of one scale are drawn at once: a new scale takes milliseconds to prepare.
    """
    for scale, neighbours in groupby(zip(scales, tables, strict=True), key=lambda table: table[0]):
        for piece in _joined(table for _, table in neighbours):
            if scale:
                piece += noise(scale, len(piece), source=source)
            yield piece


def _joined(tables: Iterable[Integers]) -> Iterator[Integers]:
    held: list[Integers] = []
    size = 0
    for table in tables:
        held.append(table.reshape(-1))
        size += table.size
        if size >= _PIECE:
            yield np.concatenate(held)
            held, size = [], 0
    if held:
        yield np.concatenate(held)


_MANY_CELLS = 1_000_000
_NOTHING = np.zeros(0, dtype=np.int64)
_MOST_NAMED = 10
Measured = TypeVar("Measured", bound=TablesForm, covariant=True)


class TablesMechanism(Mechanism, Generic[Measured]):
    """Measures tables, or parts of tables, from which all tables asked for are estimated."""

    form: Measured
    """What gets noise, each block with its weight; those of weight 0 are exact."""
    asked: TablesForm
    worst: bool
    """Whether the error of the worst table is to be small, and not the mean."""
    secret_size: bool

    gives = ("tables",)
    drawn_in_pieces = True
    proof = "docs/proofs/tables.md"

    @abstractmethod
    def noisy(self, tables: Iterable[Integers], source: BitSource) -> Iterator[Integers]:
        """Add noise to the numbers of all blocks in turn, and hand them over end to end in pieces."""

    @cached_property
    def components(self) -> Components:
        """How precisely the components of the tables asked for are known."""
        return self.told()

    @abstractmethod
    def told(self) -> Components:
        """Work out how precisely the components of the tables asked for are known."""

    @abstractmethod
    def expected_error(self) -> TablesError:
        """Give the error of a cell, or of a range where such are asked for."""

    @cached_property
    def heaviest(self) -> int:
        """The most that a record adds to one number."""
        return self.form.most_added()

    @property
    def rows(self) -> int:
        return self.form.outputs

    def tables(self, query: Query) -> AttributeSets:
        return [self.form.asked_of_data(blocks[0]) for blocks in counted_once(self.form.blocks)]

    def draw(self, aggregates: Aggregates, source: BitSource) -> npt.NDArray[Any]:
        return np.concatenate([_NOTHING, *self.pieces(aggregates, source)])

    def pieces(self, aggregates: Aggregates, source: BitSource) -> Iterator[npt.NDArray[Any]]:
        several = counted_once(self.form.blocks)
        counts = zip(
            several, aggregates.tables([self.form.asked_of_data(blocks[0]) for blocks in several]), strict=True
        )
        answers = (self._of_data(block, table) for blocks, table in counts for block in blocks)
        return self.noisy(answers, source)

    def _of_data(self, block: Block, counts: Integers) -> Integers:
        self._check_size(counts)
        return self.form.of_data(block, counts)

    def _check_size(self, counts: Integers) -> None:
        # Checked against the number of records alone, so that no error depends on anyone's values.
        if int(counts.sum()) * self.heaviest >= LARGEST_ANSWER:
            raise DataError("the answers may be too large for 64-bit arithmetic.")

    def measure(self, counts: Integers, source: BitSource) -> npt.NDArray[Any]:
        self._check_size(counts)
        return np.concatenate([_NOTHING, *self.noisy(self.measured(self.form.answer(counts)), source)])

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each block is among the noisy values."""
        ends = np.cumsum([0, *self.form.sizes]).tolist()
        return tuple(slice(*ends) for ends in pairwise(ends))

    def measured(self, noisy: Integers) -> Iterator[Integers]:
        """Cut the noisy values into tables."""
        for block, place in zip(self.form.blocks, self.places, strict=True):
            yield noisy[place].reshape(self.form.shape_of(block))

    def fits(self, noisy: Integers) -> bool:
        if not super().fits(noisy):
            return False
        exact = [noisy[place] for block, place in zip(self.form.blocks, self.places, strict=True) if not block.weight]
        return all(int(table.min()) >= 0 for table in exact) and len({int(table.sum()) for table in exact}) < 2

    def simulated_noise(self, source: SimulationSource) -> list[npt.NDArray[np.float64]]:
        """Draw what noise alone makes of the tables asked for, axes ascending."""
        empty = self.measured(np.zeros(self.form.outputs, dtype=np.int64))
        noise = np.concatenate([_NOTHING, *self.noisy(empty, source)])
        found = self.components.estimate(list(self.measured(noise)), None if self.secret_size else 0)
        return [self.components.table(found, tuple(sorted(axes))) for axes in self.components.tables]

    def parts(self) -> list[tuple[str, int, float]]:
        names = self.form.names
        titles = (" x ".join(names[axis] for axis in block.axes) for block in self.asked.blocks)
        errors = map(sqrt, self.expected_error().by_table)
        return list(zip(titles, self.asked.sizes, errors, strict=True))

    @property
    def notices(self) -> list[str]:
        return self.notices_for("The number of records")

    def notices_for(self, records: str, be: str = "will be") -> list[str]:
        large = max(self.asked.sizes)
        said = f"A table of {large:,} cells is large: in most cells there {be} nothing but noise."
        return [said] if large > _MANY_CELLS else []

    @property
    def exact_blocks(self) -> list[Block]:
        """The tables without noise."""
        return [block for block in self.form.blocks if not block.weight]

    def without_noise(self) -> str | None:
        exact = self.exact_blocks
        if not exact or len(exact) == len(self.form.blocks):
            return None
        titles = ["the table of " + " by ".join(self.form.title(axis) for axis in block.axes) for block in exact]
        more = f" and {len(titles) - _MOST_NAMED:,} more" if len(titles) > _MOST_NAMED else ""
        return f"{'; '.join(titles[:_MOST_NAMED])}{more}"


def counting(blocks: list[Block]) -> tuple[Block, ...]:
    """Let every table count once."""
    return tuple(Block(block.axes, block.signs) for block in blocks)
