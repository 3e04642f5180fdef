"""How tables are estimated from those measured, and how wrong that is: with ranges, or without."""

from __future__ import annotations

from fractions import Fraction

from blowfish_privacy.errors import QueryError, SpecError
from blowfish_privacy.mechanisms.tables.components import Components
from blowfish_privacy.mechanisms.tables.nesting import nesting, weighed
from blowfish_privacy.mechanisms.tables.ranges.range_components import RangeComponents
from blowfish_privacy.mechanisms.tables.ranges.table_ranges_error import RangesError
from blowfish_privacy.mechanisms.tables.tables_error import TablesError
from blowfish_privacy.noise import variance
from blowfish_privacy.queries.tables import TablesForm

_SMALLEST = 1e-60


def components_of(form: TablesForm, scales: tuple[Fraction, ...], asked: TablesForm, *, counted: bool) -> Components:
    """Say how precisely the components of the tables asked for are known from those measured."""
    # Noise of a tiny scale is almost always 0, but not exact.
    by_scale = {scale: max(variance(scale), _SMALLEST) if scale else 0.0 for scale in set(scales)}
    tables = tuple(block.axes for block in asked.blocks)
    variances = tuple(by_scale[scale] for scale in scales)
    levels = weighed(nesting(form), form.shape, form.blocks, variances)
    known = (form.shape, form.blocks, variances, tables)
    if asked.ranges:
        return RangeComponents.of(*known, asked.ranges, counted=counted, nesting=levels)
    return Components(*known, counted, levels)


def error_of(components: Components, scales: tuple[Fraction, ...], *, worst: bool) -> TablesError:
    """Give the error of a cell, or of a range where such are asked for."""
    if isinstance(components, RangeComponents):
        return RangesError(components, scales, worst)
    return TablesError(components, scales, worst)


def check_told(form: TablesForm, scales: tuple[Fraction, ...], asked: TablesForm, *, counted: bool) -> None:
    """Refuse a document whose rows do not tell the ranges that were asked for."""
    try:
        _ = components_of(form, scales, asked, counted=counted).spread
    except QueryError as error:
        raise SpecError(f"the document is damaged: {error.message}") from None
