"""The tables that were measured, as a release document writes them, and as an engine counts them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from blowfish_privacy.errors import RefusalError, SpecError
from blowfish_privacy.mechanisms.tables.ranges.strategies import KINDS, row_kind
from blowfish_privacy.queries.tables import Block, Reading, TablesForm

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
