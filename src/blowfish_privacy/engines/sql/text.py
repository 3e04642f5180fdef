r"""Reading the text of a CSV file as what the declaration says, and as nothing else.

Accepted, after the quotes of the file are taken off:

- whole numbers: ``0``, ``-12``, ``345``, ``5.0``; not ``007``, ``+5``, `` 5``, ``5.5``, ``1e3``, ``-0``;
- numbers for bins and decimals: ``12``, ``-0.5``, ``1.5e-3``, and ``nan`` (missing) and ``inf`` (outside) in any
  case; not ``.5``, ``5.``, ``+5``, ``0x1F``, ``1_000``; such a number means the float nearest to it;
- dates: ``2020-01-31``, with or without a time: ``2020-01-31 23:59:59``; not ``2020-1-31``, ``31.01.2020``;
- truth values: ``true`` or ``false``, ``True``, ``TRUE``...; not ``1``, ``yes``;
- text: every character as it stands, spaces and leading zeros included.

A field with nothing in it is missing; a quoted empty field is the empty text. A cast is only ever applied to
text that one of the patterns has matched as a whole, where it is exact or, for floats, correctly rounded.
"""

from __future__ import annotations

from sqlglot import exp

from blowfish_privacy.domain import Attribute, Binned, Categorical, Date, Decimal
from blowfish_privacy.engines.sql.columns import ColumnType
from blowfish_privacy.engines.sql.dates import WRITTEN, parsed_date
from blowfish_privacy.engines.sql.expressions import number

# 38 digits always fit a 128-bit number. Longer ones stand beyond every bound a declaration can have.
_WHOLE = r"^((0|-?[1-9][0-9]{0,37})(\.0+)?|-0\.0+)$"
_HUGE = r"^[1-9][0-9]{38,}(\.0+)?$"
_HUGE_NEGATIVE = r"^-[1-9][0-9]{38,}(\.0+)?$"
_BEYOND = 10**38
_NUMBER = r"^(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|(?i:nan|[+-]?inf(inity)?))$"
_TRUE, _FALSE = r"^(?i:true)$", r"^(?i:false)$"

WHOLE_NUMBERS = ColumnType.integer(-(2**127), 2**127 - 1)


def needs_parsing(attribute: Attribute) -> bool:
    """Say whether the text stands for something else than text."""
    return not (isinstance(attribute, Categorical) and attribute.kind is str)


def parsed(attribute: Attribute, text: exp.Column) -> tuple[exp.Expr, ColumnType]:
    """Turn text into the attribute's kind of value; text that is not one becomes NULL."""
    if isinstance(attribute, Binned | Decimal):
        value = exp.Case().when(_matches(text, _NUMBER), exp.cast(text.copy(), "DOUBLE"))
        return value, ColumnType("float")
    if isinstance(attribute, Date):
        return parsed_date(text), WRITTEN
    if isinstance(attribute, Categorical) and attribute.kind is bool:
        truth = exp.Case().when(_matches(text, _TRUE), exp.true()).when(_matches(text, _FALSE), exp.false())
        return truth, ColumnType("boolean")
    digits = exp.SplitPart(this=text.copy(), delimiter=exp.Literal.string("."), part_index=number(1))
    whole = exp.Case().when(_matches(text, _WHOLE), exp.cast(digits, "HUGEINT"))
    whole = whole.when(_matches(text, _HUGE), number(_BEYOND)).when(_matches(text, _HUGE_NEGATIVE), number(-_BEYOND))
    return whole, WHOLE_NUMBERS


def _matches(text: exp.Column, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(pattern))
