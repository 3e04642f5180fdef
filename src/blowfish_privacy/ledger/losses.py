"""How a loss is written down in the row of an entry, and a class of secret pairs in that of a balance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

from blowfish_privacy.domain import Subset
from blowfish_privacy.errors import LedgerError
from blowfish_privacy.ledger.amounts import read_amount, write_amount
from blowfish_privacy.privacy.loss import EVERYWHERE, Kind, Loss, PairClass, Region
from blowfish_privacy.privacy.measure import Measure

_KINDS = get_args(Kind)


def write_loss(loss: Loss) -> str:
    """Write the classes of secret pairs and what each loses; the measure is written beside it."""
    return _compact([{**_written(pairs), "amount": write_amount(amount)} for pairs, amount in loss])


def read_loss(measure: str, text: str) -> Loss:
    """Read what :func:`write_loss` writes, and nothing else."""
    kind = Measure.named(measure)
    try:
        amounts = dict(_read(**row) for row in json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError):
        amounts = None
    loss = None if amounts is None else Loss.of(amounts, kind)
    if loss is None or write_loss(loss) != text:
        raise LedgerError("the stored loss of an entry is damaged.", hint="the ledger was changed by other software.")
    return loss


def write_class(pairs: PairClass) -> tuple[str, str, str]:
    """Write a class for the row of its balance: its kind, its attribute and its region."""
    return pairs.kind, pairs.attribute, _compact(_runs(pairs.within))


@lru_cache(maxsize=4096)
def read_class(kind: str, attribute: str, within: str) -> PairClass:
    """Read what :func:`write_class` writes, and nothing else."""
    try:
        pairs = _class(kind, attribute, json.loads(within))
    except (ValueError, TypeError, AttributeError, RecursionError):
        pairs = None
    if pairs is None or write_class(pairs) != (kind, attribute, within):
        raise LedgerError("a stored balance is damaged.", hint="the ledger was changed by other software.")
    return pairs


def _written(pairs: PairClass) -> dict[str, Any]:
    attribute = {"attribute": pairs.attribute} if pairs.attribute else {}
    return {"pairs": pairs.kind, **attribute, **({"within": _runs(pairs.within)} if pairs.within else {})}


def _runs(region: Region) -> dict[str, Any]:
    return {name: subset.runs for name, subset in region}


def _read(
    *, pairs: Any, amount: str, attribute: str = "", within: Mapping[str, Any] | None = None
) -> tuple[PairClass, Fraction]:
    return _class(pairs, attribute, within or {}), read_amount(amount)


def _class(kind: Any, attribute: Any, within: Mapping[str, Any]) -> PairClass:
    if kind not in _KINDS or not isinstance(attribute, str) or bool(attribute) != (kind == "attribute"):
        raise ValueError
    region = tuple((name, _subset(within[name])) for name in sorted(within))
    if region and kind == "every":
        raise ValueError
    return PairClass(kind, attribute, region or EVERYWHERE)


def _subset(runs: list[list[int]]) -> Subset:
    read = tuple((start, stop) for start, stop in runs)
    whole = all(type(start) is type(stop) is int and 0 <= start < stop for start, stop in read)
    if not read or not whole or Subset.union(read).runs != read:
        raise ValueError
    return Subset(read)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
