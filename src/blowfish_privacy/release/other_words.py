"""Words that other programs use for queries and kinds of attributes, with what to write here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from blowfish_privacy.domain.numbers import DATES, DECIMALS

_QUANTILES = "write quantiles: {name}, at: [0.25, 0.5, 0.75], or median: {name}."
_COUNTS = "write histogram: [{names}], which counts the records of each value."
_TABLE = "write histogram: [{names}] for one table, tables: [[{names}]] for several that agree."
_EXTREME = "the smallest and the largest value are those of one person; write quantiles: {name}, at: [0.05, 0.95]."


def _each(words: Iterable[str], advice: str) -> dict[str, str]:
    return dict.fromkeys(words, advice)


QUERY_ADVICE: Mapping[str, str] = {
    **_each(("quantile", "percentile", "percentiles", "quartile", "quartiles", "deciles"), _QUANTILES),
    **_each(("average", "avg", "averages"), "write mean: {name}."),
    **_each(("count", "counts", "frequency", "frequencies", "value_counts", "proportion", "share"), _COUNTS),
    **_each(("total", "totals"), "write sum: {name}; to count records, histogram: [{name}]."),
    **_each(("crosstab", "crosstable", "table", "pivot", "contingency", "marginal", "marginals"), _TABLE),
    **_each(
        ("groupby", "group_by", "by_group"), "say what is asked, and add by: [{name}], as in mean: age, by: [{name}]."
    ),
    **_each(("cdf", "distribution", "density", "ecdf"), "write cumulative: {name}."),
    **_each(("clusters", "clustering", "cluster"), "write kmeans: [{names}], k: 4."),
    **_each(("min", "max", "minimum", "maximum"), _EXTREME),
    **_each(("variance", "var", "std", "stddev", "sd"), "for the spread, write quantiles: {name}, at: [0.25, 0.75]."),
}
"""What to write in place of a query that has another name here."""

_DATE = f"dates are declared like {DATES}; the step may be day, week or month.".replace("{", "{{").replace("}", "}}")
_DECIMAL = f"declare {DECIMALS}, or bins: {{binned: [0, 10, 20]}}.".replace("{", "{{").replace("}", "}}")

ATTRIBUTE_ADVICE: Mapping[str, str] = {
    **_each(("date", "dates", "datetime", "timestamp", "time", "day", "month", "year"), _DATE),
    **_each(("decimal", "float", "double", "real", "continuous"), _DECIMAL),
    **_each(("number", "numeric", "range", "whole"), "write {{integer: [17, 90]}} for whole numbers. " + _DECIMAL),
    **_each(("text", "string", "str", "enum", "values", "factor"), "write {{categorical: [Female, Male]}}."),
    **_each(("bool", "boolean"), "write {{categorical: [true, false]}}."),
}
"""What to write in place of a kind of attribute that has another name here."""
